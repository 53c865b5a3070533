#include <planaria/runtime/detail/supervisor_actor.hpp>
#include <planaria/storage/error.hpp>

#include <caf/actor_ostream.hpp>
#include <caf/all.hpp>

#include <random>

namespace planaria::detail {
namespace {

// Of how many forgotten children it is still known how they ended.
constexpr std::size_t remembered = 1000;

std::function<double()> jitter_source(const std::string& path, std::uint64_t incarnation) {
  auto engine =
      std::make_shared<std::minstd_rand>(static_cast<std::uint32_t>(std::hash<std::string>{}(path) ^ incarnation));
  return [engine] { return std::uniform_real_distribution<double>(0.0, 1.0)(*engine); };
}

void answer_all(std::vector<answer>& to, const ending& how, const std::string& text) {
  for (const auto& one : std::exchange(to, {})) {
    if (how.orderly)
      one->say(text);
    else
      one->refuse(error(how.code, how.text));
  }
}

}  // namespace

supervisor_actor::supervisor_actor(caf::actor_config& config, child_context context,
                                   std::shared_ptr<const supervisor_plan> plan)
    : caf::event_based_actor(config),
      context_(std::move(context)),
      plan_(std::move(plan)),
      records_(parts(), context_.path()),
      core_(plan_->options, jitter_source(context_.path(), context_.incarnation())) {}

caf::behavior supervisor_actor::make_behavior() {
  keep_exceptions(this);
  set_down_handler([this](caf::down_msg& message) { down(message); });
  set_exit_handler([this](caf::exit_msg&) {
    core_.shut_down(now());
    pump();
  });
  begin();
  return {
      [this](ready_atom, caf::actor_id whose) { child_ready(whose); },
      [this](supervisor_command& command) {
        if (replaced()) return;
        command.run(*this);
        pump();
      },
      [this](tick_atom) { tick(); },
  };
}

void supervisor_actor::begin() {
  // Whoever starts this has checked the whole tree already.
  auto planned = std::exchange(context_.record()->planned, nullptr);
  if (!planned) planned = std::make_shared<const std::vector<planned_child>>(plan_children(*plan_));
  std::vector<child_rules> rules;
  rules.reserve(planned->size());
  entries_.reserve(planned->size());
  for (const auto& one : *planned) {
    rules.push_back(child_rules::of(*one.spec));
    adopt(one);
  }
  planned.reset();
  if (plan_->keep == dynamic_children::kept) begin_dynamic(rules);
  core_.begin(std::move(rules), now());
  pump();
}

// One that cannot be made any more is left out and told, but stays on record for a program that can.
void supervisor_actor::begin_dynamic(std::vector<child_rules>& first) {
  records_.each_dynamic([&](const std::string& id, const std::string& argument) {
    try {
      auto what = make_dynamic(argument, id);
      first.push_back(child_rules::of(*what.spec));
      adopt(std::move(what));
    } catch (const error& refused) {
      parts().events.record(event_kind::start_failed, path_of(id), 0, refused.what());
    }
  });
}

planned_child supervisor_actor::make_dynamic(const std::string& argument, std::string id) const {
  child_spec spec;
  if (const auto failed = run_guarded([&] { spec = plan_->dynamic(argument); })) {
    const auto how = to_ending(failed);
    throw error(how.code, path_of(id) + ": its spec could not be made: " + how.text);
  }
  spec.id = std::move(id);
  return plan_child(std::make_shared<const child_spec>(std::move(spec)), plan_->options);
}

std::string supervisor_actor::path_of(const std::string& id) const {
  return context_.path().empty() ? id : context_.path() + "/" + id;
}

supervisor_actor::entry& supervisor_actor::adopt(planned_child what, bool numbered) {
  const auto path = path_of(what.spec->id);
  auto e = std::unique_ptr<entry>(new entry{.what = std::move(what), .name = parts().registry.find(path)});
  e->numbered = numbered;
  e->stored = records_.incarnation(path);
  if (!last_words_.empty()) last_words_.erase(e->id());
  const std::string_view id = e->id();
  return *entries_.emplace(id, std::move(e)).first->second;
}

// What is worth knowing, but not worth dying for: a full disk must not end the children that need none.
void supervisor_actor::try_recording(const entry& e, const std::function<void()>& what) {
  try {
    what();
  } catch (const error& refused) {
    parts().events.record(event_kind::note, e.name.path(), e.incarnation,
                          std::string("this was not recorded: ") + refused.what());
  }
}

void supervisor_actor::try_keep(const entry& e) {
  if (!parts().store) return;
  try_recording(e, [&] { keep(e); });
}

void supervisor_actor::keep(const entry& e) {
  if (!parts().store) return;
  const auto held = context_.record()->hold_fence();
  if (context_.fenced())
    throw error(errc::fenced, e.name.path() + ": its supervisor has been replaced, so nothing is recorded of it");
  const auto* c = core_.find(e.id());
  records_.put(view_of(e), c == nullptr ? 0 : c->order);
}

supervisor_actor::entry* supervisor_actor::find(const std::string& id) {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : found->second.get();
}

// Performing an action can lead to events that lead to further actions: taken in order, never nested.
void supervisor_actor::pump() {
  if (pumping_ || closed_) return;
  pumping_ = true;
  for (auto actions = core_.take_actions(); !actions.empty(); actions = core_.take_actions())
    for (const auto& action : actions) {
      if (replaced()) return;
      perform(action);
      if (closed_) return;
    }
  pumping_ = false;
  arm();
}

// The one above it is dead: it will be told to end, and until then must not act beside its successor.
bool supervisor_actor::replaced() {
  if (closed_ || !context_.fenced()) return closed_;
  end({false, errc::fenced, context_.path() + ": it has been replaced"});
  return true;
}

void supervisor_actor::perform(const core_action& action) {
  if (action.what == core_action::kind::ready)
    context_.record()->announce(id());
  else if (action.what == core_action::kind::end)
    end(action.how);
  else if (auto* e = find(action.id))
    perform(action, *e);
}

void supervisor_actor::perform(const core_action& action, entry& e) {
  using kind = core_action::kind;
  switch (action.what) {
    case kind::start: start(e); break;
    case kind::request_stop:
      end_actor(e.handle, caf::make_error(caf::exit_reason::user_shutdown));
      try_keep(e);
      break;
    case kind::kill:
      end_actor(e.handle, kill_reason("killed"));
      try_keep(e);
      break;
    case kind::abandon: abandon(e, false); break;
    case kind::started: started(e); break;
    case kind::start_failed:
      parts().events.record(event_kind::start_failed, e.name.path(), e.incarnation, action.how.text);
      if (e.asking) answer_all(e.asking->starting, action.how, {});
      break;
    case kind::ignored:
      parts().events.record(event_kind::ignored, e.name.path(), e.incarnation, action.how.text);
      if (e.asking) answer_all(e.asking->starting, {}, e.name.path());
      break;
    case kind::quarantine: quarantine(e, action.how); break;
    case kind::ended: ended(e, action.how); break;
    case kind::removed: removed(e); break;
    case kind::ready:
    case kind::end: break;
  }
}

void supervisor_actor::start(entry& e) {
  auto& p = parts();
  e.incarnation = p.registry.next_incarnation(e.name, e.stored);
  e.record = std::make_shared<child_record>(e.name, e.incarnation, context_.record()->parts, context_.record());
  e.record->listener = address();
  auto failed = run_guarded([&] { spawn(e); });
  if (!failed && !e.handle) failed = make_reason(errc::invalid_input, "the start function returned no actor");
  if (failed) {
    release(e);
    core_.down(e.id(), to_ending(failed), now());
    return;
  }
  by_actor_.emplace(e.handle.id(), &e);
  monitor<caf::message_priority::high>(e.handle);
  e.record->bind(e.handle.address());
  p.world->named(e.handle.id(), e.name.path(), e.incarnation);
  if (!e.record->announces_ready) request_info(e);
}

void supervisor_actor::spawn(entry& e) {
  if (e.what.spec->plan) {
    if (!std::exchange(e.planned, false)) e.what = plan_child(e.what.spec, plan_->options);
    if (const auto failed = std::exchange(e.what.failed, std::nullopt)) throw error(*failed);
    e.record->planned = std::exchange(e.what.below, nullptr);
  }
  // An incarnation that is not on record could be given out twice.
  keep(e);
  e.handle = e.what.spec->start(system(), child_context(e.record));
}

// Any initialised actor answers this, so an answer says that init has succeeded.
void supervisor_actor::request_info(entry& e) {
  request<caf::message_priority::high>(e.handle, caf::infinite, caf::sys_atom::value, caf::get_atom::value,
                                       std::string("info"))
      .then([this, whose = e.handle.id()](caf::ok_atom, const std::string&, const caf::strong_actor_ptr&,
                                          const std::string&) { child_ready(whose); },
            [](const caf::error&) {
              // It died in its init: the down message says why.
            });
}

void supervisor_actor::child_ready(caf::actor_id whose) {
  if (replaced()) return;
  const auto found = by_actor_.find(whose);
  if (found == by_actor_.end()) return;
  core_.started(found->second->id(), now());
  pump();
}

void supervisor_actor::started(entry& e) {
  // It can have died, or been told to end, by what was done since.
  if (!e.record) return;
  e.record->progress();
  {
    const auto held = e.record->hold_fence();
    if (e.record->fenced()) return;
    parts().registry.bind(e.name, e.handle, e.incarnation);
  }
  parts().events.record(std::exchange(e.died, false) ? event_kind::respawned : event_kind::started, e.name.path(),
                        e.incarnation);
  try_keep(e);
  if (e.asking) answer_all(e.asking->starting, {}, e.name.path());
  if (e.what.spec->progress_deadline.count() != 0) listen(e);
  const auto record = e.record;
  const auto begin = std::exchange(record->on_started, nullptr);
  if (!begin) return;
  if (auto failed = run_guarded([&] { begin(child_context(record)); })) record->end(std::move(failed));
}

void supervisor_actor::down(const caf::down_msg& message) {
  if (replaced()) return;
  const auto found = by_actor_.find(message.source.id());
  if (found == by_actor_.end()) return;
  auto& e = *found->second;
  const auto id = e.id();
  auto how = to_ending(message.reason);
  // One that has done its work before it was asked whether it lives had started all the same.
  if (how.orderly) child_ready(message.source.id());
  if (find(id) != &e || !e.record) return;
  how.input = e.record->input();
  report_death(e, how);
  release(e);
  core_.down(id, how, now());
  pump();
}

void supervisor_actor::report_death(entry& e, const ending& how) {
  const auto* c = core_.find(e.id());
  if (c == nullptr || c->state == child_state::starting) return;
  const bool stopping = c->state == child_state::stopping;
  if (stopping || how.orderly) {
    parts().events.record(event_kind::stopped, e.name.path(), e.incarnation, how.text);
    return;
  }
  e.died = true;
  parts().events.record(event_kind::detected, e.name.path(), e.incarnation, how.text);
}

// Everything of a life that is over; nothing of a corpse stays behind.
void supervisor_actor::release(entry& e) {
  if (e.silence) silences_.erase({*e.silence, e.handle.id(), &e});
  e.silence.reset();
  if (e.record) e.record->fence();
  parts().registry.unbind(e.name, e.incarnation);
  if (e.handle) {
    demonitor(e.handle);
    by_actor_.erase(e.handle.id());
  }
  e.handle = nullptr;
  e.record.reset();
}

// Takes a child that does not answer for dead. Its actor may never end: it is fenced, told to, and forgotten.
void supervisor_actor::abandon(entry& e, bool hung) {
  if (!e.record) return;
  e.record->hung = hung;
  end_actor(e.handle, kill_reason(hung ? "hung" : "abandoned"));
  if (!hung)
    parts().events.record(event_kind::slot_abandoned, e.name.path(), e.incarnation,
                          "it did not end in time and is left alone");
  release(e);
}

void supervisor_actor::quarantine(const entry& e, const ending& how) {
  parts().events.record(event_kind::quarantined, e.name.path(), e.incarnation,
                        "the input \"" + how.input + "\": " + how.text);
  try_recording(e, [&] { parts().control.put(quarantine_key(e.name.path(), how.input), how.text); });
}

void supervisor_actor::ended(entry& e, const ending& how) {
  try_keep(e);
  e.last_words = how.orderly ? std::string() : how.text;
  if (!e.asking) return;
  answer_all(e.asking->stopping, {}, e.last_words);
  answer_all(e.asking->waiting, {}, e.last_words);
}

void supervisor_actor::removed(entry& e) {
  const auto id = e.id();
  if (e.asking) answer_all(e.asking->waiting, {}, e.last_words);
  if (plan_->keep == dynamic_children::kept) try_recording(e, [&] { records_.forget_dynamic(id); });
  if (e.numbered) {
    try_recording(e, [&] { records_.erase(e.name.path()); });
    parts().registry.forget(e.name);
  }
  if (last_words_.insert_or_assign(id, std::move(e.last_words)).second) forgotten_.push_back(id);
  if (forgotten_.size() > remembered) {
    last_words_.erase(forgotten_.front());
    forgotten_.pop_front();
  }
  const auto held = std::move(entries_.find(id)->second);
  entries_.erase(id);
  if (const auto& tell = context_.record()->on_forgotten) tell(id);
}

void supervisor_actor::end(const ending& how) {
  closed_ = true;
  if (how.code == errc::limit_reached)
    parts().events.record(event_kind::escalated, context_.path(), context_.incarnation(), how.text);
  if (how.orderly)
    quit(caf::exit_reason::user_shutdown);
  else
    quit(make_reason(how.code, how.text));
}

void supervisor_actor::tick() {
  if (replaced()) return;
  const auto at = now();
  // An earlier alarm than the one that counts, superseded while it was under way, changes nothing.
  if (armed_ && at >= *armed_) armed_.reset();
  end_silent(at);
  core_.tick(at);
  pump();
}

void supervisor_actor::end_silent(instant now) {
  while (!silences_.empty() && silences_.begin()->at <= now) {
    auto& e = *silences_.begin()->whose;
    silences_.erase(silences_.begin());
    e.silence.reset();
    const auto deadline = e.what.spec->progress_deadline;
    if (now - e.record->last_progress() <= deadline) {
      listen(e);
      continue;
    }
    const ending how{false, errc::hung, "hung: no progress for " + std::to_string(deadline.count()) + " ms",
                     e.record->input()};
    const auto id = e.id();
    report_death(e, how);
    abandon(e, true);
    core_.down(id, how, now);
  }
}

// Until it is stopped or dead.
void supervisor_actor::listen(entry& e) {
  const auto* c = core_.find(e.id());
  if (c == nullptr || c->state != child_state::running) return;
  e.silence = e.record->last_progress() + e.what.spec->progress_deadline + std::chrono::milliseconds(1);
  silences_.insert({*e.silence, e.handle.id(), &e});
}

// One alarm for whatever comes first: a deadline of the core's, or a child's silence.
void supervisor_actor::arm() {
  if (closed_) return;
  auto next = core_.next_tick(now());
  if (!silences_.empty() && (!next || silences_.begin()->at < *next)) next = silences_.begin()->at;
  if (!next || (armed_ && *armed_ <= *next)) return;
  armed_ = next;
  parts().world->at(*next, address());
}

// Killed or ended: no child outlives its supervisor. The parent builds the tree anew.
void supervisor_actor::on_exit() {
  closed_ = true;
  const ending gone{false, errc::stopped, context_.path() + ": the supervisor ended"};
  for (auto& [id, e] : entries_) {
    end_actor(e->handle, kill_reason("its supervisor ended"));
    if (e->record) e->record->fence();
    parts().registry.unbind(e->name, e->incarnation);
    if (!e->asking) continue;
    for (auto* waiting : {&e->asking->starting, &e->asking->stopping, &e->asking->waiting})
      answer_all(*waiting, gone, {});
  }
  silences_.clear();
  by_actor_.clear();
  entries_.clear();
}

caf::actor spawn_supervisor(caf::actor_system& system, child_context context,
                            std::shared_ptr<const supervisor_plan> plan) {
  context.record()->announces_ready = true;
  return system.spawn<supervisor_actor>(std::move(context), std::move(plan));
}

}  // namespace planaria::detail
