#include <planaria/runtime/detail/supervisor_actor.hpp>
#include <planaria/storage/error.hpp>

#include <planaria/v1/event.pb.h>

#include <caf/actor_ostream.hpp>
#include <caf/all.hpp>

#include <algorithm>
#include <random>

namespace planaria::detail {
namespace {

using std::chrono::steady_clock;

std::function<double()> jitter_source(const std::string& path, std::uint64_t incarnation) {
  auto engine =
      std::make_shared<std::minstd_rand>(static_cast<std::uint32_t>(std::hash<std::string>{}(path) ^ incarnation));
  return [engine] { return std::uniform_real_distribution<double>(0.0, 1.0)(*engine); };
}

child_status status_of(child_state state) {
  switch (state) {
    case child_state::stopped: return child_status::stopped;
    case child_state::waiting: return child_status::restarting;
    case child_state::starting: return child_status::starting;
    case child_state::running: return child_status::running;
    case child_state::stopping: return child_status::stopping;
  }
  return child_status::stopped;
}

}  // namespace

std::string tree_key(const std::string& path) { return "tree/" + path; }

supervisor_actor::supervisor_actor(caf::actor_config& config, child_context context, supervisor_options options,
                                   children_function children)
    : caf::event_based_actor(config),
      context_(std::move(context)),
      first_children_(std::move(children)),
      core_(options, jitter_source(context_.path(), context_.incarnation())) {}

caf::behavior supervisor_actor::make_behavior() {
  context_.record()->announces_ready = true;
  keep_exceptions(this);
  set_down_handler([this](caf::down_msg& message) { down(message); });
  set_exit_handler([this](caf::exit_msg&) {
    core_.shut_down(steady_clock::now());
    pump();
  });
  begin();
  return {
      [this](supervisor_command& command) {
        command.run(*this);
        pump();
      },
      [this](tick_atom) { tick(); },
  };
}

void supervisor_actor::begin() {
  auto specs = first_children_();
  std::vector<child_rules> rules;
  for (auto& spec : specs) {
    check_spec(spec);
    if (entries_.contains(spec.id))
      throw error(errc::already_exists, context_.path() + ": two children are called \"" + spec.id + "\"");
    rules.push_back(child_rules::of(spec));
    adopt(std::move(spec));
  }
  core_.begin(std::move(rules), steady_clock::now());
  pump();
}

std::string supervisor_actor::path_of(const std::string& id) const {
  return context_.path().empty() ? id : context_.path() + "/" + id;
}

void supervisor_actor::adopt(child_spec spec) {
  entry e;
  e.path = path_of(spec.id);
  e.incarnation = last_incarnation(e.path);
  const auto id = spec.id;
  e.spec = std::move(spec);
  entries_.insert_or_assign(id, std::move(e));
  last_words_.erase(id);
}

std::uint64_t supervisor_actor::last_incarnation(const std::string& path) const {
  auto& p = parts();
  std::optional<std::string> bytes;
  if (p.store) {
    bytes = p.store->get(tree_key(path));
  } else {
    std::lock_guard lock(p.memory_mutex);
    if (const auto found = p.memory.find(tree_key(path)); found != p.memory.end()) bytes = found->second;
  }
  v1::Child record;
  if (!bytes) return 0;
  if (!record.ParseFromString(*bytes))
    throw error(errc::corrupt, path + ": the record of its incarnations cannot be read");
  return record.incarnation();
}

// What is worth knowing, but not worth dying for: a full disk must not end the children that need none.
void supervisor_actor::try_keep(const entry& e) {
  try {
    keep(e);
  } catch (const error& refused) {
    parts().events.record(event_kind::note, e.path, e.incarnation,
                          std::string("its status was not recorded: ") + refused.what());
  }
}

// Without an fsync: incarnations must outlive kill -9, where zombies could be, not a power cut, where none are.
void supervisor_actor::keep(const entry& e) {
  const auto held = context_.record()->hold_fence();
  if (context_.fenced())
    throw error(errc::fenced, e.path + ": its supervisor has been replaced, so nothing is recorded of it");
  const auto* c = core_.find(e.spec.id);
  auto& p = parts();
  v1::Child record;
  record.set_incarnation(e.incarnation);
  record.set_restarts(c == nullptr ? 0 : c->restarts);
  record.set_type(static_cast<std::uint32_t>(e.spec.type) + 1);
  record.set_status(static_cast<std::uint32_t>(c == nullptr ? child_status::stopped : status_of(c->state)) + 1);
  record.set_position(c == nullptr ? 0 : static_cast<std::uint32_t>(c - core_.children().data()));
  record.set_boot(p.store ? p.store->boot() : 0);
  auto bytes = record.SerializeAsString();
  if (p.store) {
    p.store->put(tree_key(e.path), bytes, sync_policy::none);
    return;
  }
  std::lock_guard lock(p.memory_mutex);
  p.memory[tree_key(e.path)] = std::move(bytes);
}

supervisor_actor::entry* supervisor_actor::find(const std::string& id) {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second;
}

// Performing an action can lead to events that lead to further actions: taken in order, never nested.
void supervisor_actor::pump() {
  if (pumping_ || closed_) return;
  pumping_ = true;
  for (auto actions = core_.take_actions(); !actions.empty(); actions = core_.take_actions())
    for (const auto& action : actions) {
      perform(action);
      if (closed_) return;
    }
  pumping_ = false;
  arm();
}

void supervisor_actor::perform(const core_action& action) {
  using kind = core_action::kind;
  if (action.what == kind::ready) {
    if (const auto& announce = context_.record()->on_ready) announce();
    return;
  }
  if (action.what == kind::end) {
    end(action.how);
    return;
  }
  auto* e = find(action.id);
  if (e == nullptr) return;
  switch (action.what) {
    case kind::start: start(*e); break;
    case kind::request_stop:
      end_actor(e->handle, caf::make_error(caf::exit_reason::user_shutdown));
      try_keep(*e);
      break;
    case kind::kill:
      end_actor(e->handle, kill_reason("killed"));
      try_keep(*e);
      break;
    case kind::abandon: abandon(*e, false); break;
    case kind::started: started(*e); break;
    case kind::start_failed:
      parts().events.record(event_kind::start_failed, e->path, e->incarnation, action.how.text);
      answer_all(e->starting, action.how);
      break;
    case kind::ended: ended(*e, action.how); break;
    case kind::removed:
      answer_all(e->waiting, action.how);
      entries_.erase(action.id);
      if (const auto& tell = context_.record()->on_forgotten) tell(action.id);
      break;
    case kind::ready:
    case kind::end: break;
  }
}

void supervisor_actor::start(entry& e) {
  e.record = std::make_shared<child_record>(e.path, ++e.incarnation, context_.record()->parts, context_.record());
  e.answered_info = false;
  const auto id = e.spec.id;
  e.record->on_ready = [address = this->address(), id, life = e.incarnation] {
    if (const auto self = caf::actor_cast<caf::actor>(address))
      caf::anon_send(self, supervisor_command{[id, life](supervisor_actor& s) { s.child_ready(id, life, false); }});
  };
  auto failed = run_guarded([&] {
    // An incarnation that is not on record could be given out twice.
    keep(e);
    e.handle = e.spec.start(system(), child_context(e.record));
  });
  if (!failed && !e.handle) failed = make_reason(errc::invalid_input, "the start function returned no actor");
  if (failed) {
    release(e);
    core_.down(id, to_ending(failed), steady_clock::now());
    return;
  }
  by_address_[e.handle.address()] = id;
  monitor<caf::message_priority::high>(e.handle);
  e.record->bind(e.handle.address());
  request_info(e);
}

// Any initialised actor answers this, so an answer says that init has succeeded.
void supervisor_actor::request_info(entry& e) {
  request(e.handle, caf::infinite, caf::sys_atom::value, caf::get_atom::value, std::string("info"))
      .then([this, id = e.spec.id, life = e.incarnation](caf::ok_atom, const std::string&, const caf::strong_actor_ptr&,
                                                         const std::string&) { child_ready(id, life, true); },
            [](const caf::error&) {
              // It died in its init: the down message says why.
            });
}

void supervisor_actor::child_ready(const std::string& id, std::uint64_t incarnation, bool by_info) {
  auto* e = find(id);
  if (e == nullptr || e->incarnation != incarnation || !e->handle) return;
  if (by_info && e->record->announces_ready) return;
  core_.started(id, steady_clock::now());
  pump();
}

void supervisor_actor::started(entry& e) {
  e.record->progress();
  parts().registry.bind(e.path, e.handle, e.incarnation);
  parts().events.record(std::exchange(e.died, false) ? event_kind::respawned : event_kind::started, e.path,
                        e.incarnation);
  try_keep(e);
  answer_all(e.starting, {true, errc::stopped, e.path});
  const auto record = e.record;
  const auto begin = std::exchange(record->on_started, nullptr);
  if (!begin) return;
  if (auto failed = run_guarded([&] { begin(child_context(record)); })) record->end(std::move(failed));
}

void supervisor_actor::down(const caf::down_msg& message) {
  const auto found = by_address_.find(message.source);
  if (found == by_address_.end()) return;
  const auto id = found->second;
  const auto how = to_ending(message.reason);
  // One that has done its work before it was asked whether it lives had started all the same.
  if (auto* e = find(id); e != nullptr && how.orderly) child_ready(id, e->incarnation, false);
  if (auto* e = find(id)) {
    report_death(*e, how);
    release(*e);
  }
  core_.down(id, how, steady_clock::now());
  pump();
}

void supervisor_actor::report_death(entry& e, const ending& how) {
  const auto* c = core_.find(e.spec.id);
  if (c == nullptr || c->state == child_state::starting) return;
  const bool stopping = c->state == child_state::stopping;
  if (stopping || how.orderly) {
    parts().events.record(event_kind::stopped, e.path, e.incarnation, how.text);
    return;
  }
  e.died = true;
  parts().events.record(event_kind::detected, e.path, e.incarnation, how.text);
}

// Everything of a life that is over; nothing of a corpse stays behind.
void supervisor_actor::release(entry& e) {
  if (e.record) e.record->fence();
  parts().registry.unbind(e.path, e.incarnation);
  if (e.handle) {
    demonitor(e.handle);
    by_address_.erase(e.handle.address());
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
    parts().events.record(event_kind::slot_abandoned, e.path, e.incarnation,
                          "it did not end in time and is left alone");
  release(e);
}

void supervisor_actor::ended(entry& e, const ending& how) {
  try_keep(e);
  last_words_[e.spec.id] = how.orderly ? std::string() : how.text;
  for (auto* waiting : {&e.stopping, &e.waiting})
    for (const auto& to : std::exchange(*waiting, {})) to->set_value(last_words_[e.spec.id]);
}

void supervisor_actor::answer_all(std::vector<answer>& to, const ending& how) {
  for (const auto& one : std::exchange(to, {})) {
    if (how.orderly)
      one->set_value(how.text);
    else
      one->set_exception(std::make_exception_ptr(error(how.code, how.text)));
  }
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
  const auto now = steady_clock::now();
  // An earlier alarm than the one that counts, superseded while it was under way, changes nothing.
  if (armed_ && now >= *armed_) armed_.reset();
  std::vector<std::string> hung;
  for (const auto& c : core_.children()) {
    auto* e = find(c.rules.id);
    if (c.state != child_state::running || e == nullptr || e->spec.progress_deadline.count() == 0) continue;
    if (now - e->record->last_progress() > e->spec.progress_deadline) hung.push_back(c.rules.id);
  }
  for (const auto& id : hung) {
    auto* e = find(id);
    const ending how{false, errc::hung,
                     "hung: no progress for " + std::to_string(e->spec.progress_deadline.count()) + " ms"};
    report_death(*e, how);
    abandon(*e, true);
    core_.down(id, how, now);
  }
  core_.tick(now);
  pump();
}

// One alarm for whatever comes first: a deadline of the core's, or a child's silence.
void supervisor_actor::arm() {
  if (closed_) return;
  auto next = core_.next_tick(steady_clock::now());
  for (const auto& [id, e] : entries_) {
    const auto* c = core_.find(id);
    if (e.spec.progress_deadline.count() == 0 || c == nullptr || c->state != child_state::running) continue;
    const auto at = e.record->last_progress() + e.spec.progress_deadline + std::chrono::milliseconds(1);
    if (!next || at < *next) next = at;
  }
  if (!next || (armed_ && *armed_ <= *next)) return;
  armed_ = next;
  parts().alarms.at(*next, address());
}

// Killed or ended: no child outlives its supervisor. The parent builds the tree anew.
void supervisor_actor::on_exit() {
  closed_ = true;
  for (auto& [id, e] : entries_) {
    end_actor(e.handle, kill_reason("its supervisor ended"));
    if (e.record) e.record->fence();
    parts().registry.unbind(e.path, e.incarnation);
    for (auto* waiting : {&e.starting, &e.stopping, &e.waiting})
      answer_all(*waiting, {false, errc::stopped, context_.path() + ": the supervisor ended"});
  }
  entries_.clear();
  by_address_.clear();
  first_children_ = nullptr;
}

void supervisor_actor::add(child_spec spec, const answer& to) {
  check_spec(spec);
  const auto id = spec.id;
  auto rules = child_rules::of(spec);
  if (find(id) != nullptr) throw error(errc::already_exists, "there is a child \"" + path_of(id) + "\" already");
  adopt(std::move(spec));
  find(id)->starting.push_back(to);
  try {
    core_.add(std::move(rules), steady_clock::now());
  } catch (const error&) {
    entries_.erase(id);
    throw;
  }
}

void supervisor_actor::stop(const std::string& id, const answer& to) {
  core_.stop(id, steady_clock::now());
  find(id)->stopping.push_back(to);
}

void supervisor_actor::restart(const std::string& id, const answer& to) {
  core_.restart(id, steady_clock::now());
  find(id)->starting.push_back(to);
}

void supervisor_actor::remove(const std::string& id, const answer& to) {
  core_.remove(id);
  to->set_value(path_of(id));
}

void supervisor_actor::wait(const std::string& id, const answer& to) {
  const auto* c = core_.find(id);
  const auto said = last_words_.find(id);
  if (said != last_words_.end() && (c == nullptr || c->state == child_state::stopped)) {
    to->set_value(said->second);
    return;
  }
  if (c == nullptr) throw error(errc::not_found, "there is no child \"" + path_of(id) + "\"");
  find(id)->waiting.push_back(to);
}

std::vector<child_view> supervisor_actor::view() const {
  std::vector<child_view> all;
  for (const auto& c : core_.children()) {
    const auto& e = entries_.at(c.rules.id);
    all.push_back({.path = e.path,
                   .type = e.spec.type,
                   .status = status_of(c.state),
                   .incarnation = e.incarnation,
                   .restarts = c.restarts});
  }
  return all;
}

caf::actor spawn_supervisor(caf::actor_system& system, child_context context, supervisor_options options,
                            supervisor_actor::children_function children) {
  return system.spawn<supervisor_actor>(std::move(context), options, std::move(children));
}

}  // namespace planaria::detail
