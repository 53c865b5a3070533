#include <planaria/runtime/detail/supervisor_core.hpp>

#include <algorithm>
#include <cmath>

namespace planaria::detail {
namespace {

// How long a killed child may take to be down: longer, and something in it never returns.
constexpr std::chrono::milliseconds kill_grace{1000};

bool active(child_state state) {
  return state == child_state::starting || state == child_state::running || state == child_state::stopping;
}

}  // namespace

const supervisor_core::child* supervisor_core::find(const std::string& id) const {
  const auto found = std::find_if(children_.begin(), children_.end(), [&](const child& c) { return c.rules.id == id; });
  return found == children_.end() ? nullptr : &*found;
}

supervisor_core::child* supervisor_core::get(const std::string& id) { return const_cast<child*>(find(id)); }

supervisor_core::child& supervisor_core::require(const std::string& id) {
  auto* c = get(id);
  if (c == nullptr) throw error(errc::not_found, "there is no child \"" + id + "\"");
  return *c;
}

void supervisor_core::require_open() const {
  if (ending_) throw error(errc::stopped, "the supervisor is shutting down");
}

void supervisor_core::begin(std::vector<child_rules> first, instant now) {
  beginning_ = true;
  for (auto& rules : first)
    children_.push_back({.rules = std::move(rules), .state = child_state::waiting, .not_before = now});
  advance(now);
}

void supervisor_core::add(child_rules rules, instant now) {
  require_open();
  if (find(rules.id) != nullptr) throw error(errc::already_exists, "there is a child \"" + rules.id + "\" already");
  children_.push_back(
      {.rules = std::move(rules), .state = child_state::waiting, .asked = true, .added = true, .not_before = now});
  advance(now);
}

void supervisor_core::stop(const std::string& id, instant now) {
  require_open();
  auto& c = require(id);
  if (c.state == child_state::stopped) {
    actions_.push_back({core_action::kind::ended, id});
    return;
  }
  if (c.state == child_state::waiting) {
    c.state = child_state::stopped;
    refuse_start(c);
    actions_.push_back({core_action::kind::ended, id});
  } else {
    c.to_stop = true;
    c.again_after_stop = false;
  }
  advance(now);
}

void supervisor_core::restart(const std::string& id, instant now) {
  require_open();
  auto& c = require(id);
  if (c.state != child_state::stopped) throw error(errc::invalid_input, "the child \"" + id + "\" is not stopped");
  c.state = child_state::waiting;
  c.asked = true;
  c.added = false;
  c.attempts = 0;
  c.not_before = now;
  advance(now);
}

void supervisor_core::remove(const std::string& id) {
  if (require(id).state != child_state::stopped)
    throw error(errc::invalid_input, "the child \"" + id + "\" is not stopped: stop it first");
  forget(id);
}

void supervisor_core::shut_down(instant now) {
  if (!ending_) end_with({});
  advance(now);
}

void supervisor_core::started(const std::string& id, instant now) {
  auto* c = get(id);
  if (c == nullptr || c->state != child_state::starting) return;
  c->state = child_state::running;
  c->started_at = now;
  c->deadline.reset();
  c->asked = false;
  c->added = false;
  actions_.push_back({core_action::kind::started, id});
  advance(now);
}

void supervisor_core::down(const std::string& id, const ending& how, instant now) {
  auto* c = get(id);
  if (c == nullptr) return;
  c->deadline.reset();
  if (!active(c->state)) return;
  // One that dies before its turn to be stopped was only quicker: neither a restart nor a reason to give up.
  if (c->to_stop)
    stopped(*c, how);
  else if (c->state == child_state::starting)
    start_failed(*c, how, now);
  else
    died(*c, how, now);
  advance(now);
}

void supervisor_core::tick(instant now) {
  std::vector<std::string> due;
  for (const auto& c : children_)
    if (c.deadline && *c.deadline <= now) due.push_back(c.rules.id);
  for (const auto& id : due) {
    auto* c = get(id);
    if (c == nullptr || !c->deadline) continue;
    if (c->state == child_state::stopping && !c->killed) {
      c->killed = true;
      c->deadline = now + kill_grace;
      actions_.push_back({core_action::kind::kill, id});
      continue;
    }
    const bool starting = c->state == child_state::starting;
    actions_.push_back({core_action::kind::abandon, id});
    down(id,
         {false, starting ? errc::timeout : errc::hung,
          starting ? "init missed its deadline" : "did not end when it was killed"},
         now);
  }
  advance(now);
}

std::optional<instant> supervisor_core::next_tick(instant now) const {
  std::optional<instant> next;
  const auto consider = [&](instant at) {
    if (!next || at < *next) next = at;
  };
  for (const auto& c : children_) {
    if (c.deadline) consider(*c.deadline);
    // One whose time has come waits for its turn, not for a tick.
    if (c.state == child_state::waiting && !ending_ && c.not_before > advanced_at_)
      consider(std::max(c.not_before, now));
  }
  return next;
}

// Restarts of single children do not wait for each other; everything else goes in order.
bool supervisor_core::one_by_one() const {
  return beginning_ || options_.strategy == strategy::one_for_all || options_.strategy == strategy::rest_for_one;
}

void supervisor_core::advance(instant now) {
  if (ended_) return;
  advanced_at_ = now;
  advance_stops(now);
  const bool stopping = std::any_of(children_.begin(), children_.end(), [](const child& c) { return c.to_stop; });
  if (stopping && (ending_ || one_by_one())) return;
  if (ending_) {
    ended_ = true;
    actions_.push_back({core_action::kind::end, {}, *ending_});
    return;
  }
  advance_starts(now);
}

// The last started child goes first, and the one before it waits until it is down.
void supervisor_core::advance_stops(instant now) {
  for (auto c = children_.rbegin(); c != children_.rend(); ++c) {
    if (!c->to_stop) continue;
    if (c->state == child_state::starting || c->state == child_state::running) begin_stop(*c, now);
    if (c->state == child_state::stopping) return;
    c->to_stop = false;
  }
}

void supervisor_core::begin_stop(child& c, instant now) {
  c.state = child_state::stopping;
  c.killed = c.rules.shutdown.how == shutdown::kind::brutal;
  c.deadline.reset();
  if (c.killed) c.deadline = now + kill_grace;
  if (c.rules.shutdown.how == shutdown::kind::timeout) c.deadline = now + c.rules.shutdown.after;
  actions_.push_back({c.killed ? core_action::kind::kill : core_action::kind::request_stop, c.rules.id});
}

void supervisor_core::advance_starts(instant now) {
  const bool in_order = one_by_one();
  if (in_order &&
      std::any_of(children_.begin(), children_.end(), [](const child& c) { return c.state == child_state::starting; }))
    return;
  for (auto& c : children_) {
    if (c.state != child_state::waiting) continue;
    if (c.not_before > now) {
      if (in_order) return;
      continue;
    }
    c.state = child_state::starting;
    c.deadline = now + c.rules.start_deadline;
    actions_.push_back({core_action::kind::start, c.rules.id});
    if (in_order) return;
  }
  const bool pending = std::any_of(children_.begin(), children_.end(), [](const child& c) {
    return c.state == child_state::starting || c.state == child_state::waiting;
  });
  if (!beginning_ || pending) return;
  beginning_ = false;
  actions_.push_back({core_action::kind::ready, {}});
}

void supervisor_core::stopped(child& c, const ending& how) {
  c.to_stop = false;
  c.killed = false;
  if (std::exchange(c.again_after_stop, false) && !ending_) {
    if (c.rules.restart != restart::temporary) {
      // Whoever asked for its start is answered by the next one.
      c.state = child_state::waiting;
      return;
    }
    refuse_start(c);
    const auto id = c.rules.id;
    actions_.push_back({core_action::kind::ended, id, how});
    forget(id);
    return;
  }
  refuse_start(c);
  c.state = child_state::stopped;
  actions_.push_back({core_action::kind::ended, c.rules.id, how});
}

void supervisor_core::refuse_start(child& c) {
  if (!std::exchange(c.asked, false)) return;
  actions_.push_back(
      {core_action::kind::start_failed, c.rules.id, {false, errc::stopped, "stopped before it had started"}});
}

void supervisor_core::start_failed(child& c, const ending& how, instant now) {
  const auto id = c.rules.id;
  const bool asked = std::exchange(c.asked, false);
  actions_.push_back({core_action::kind::start_failed, id, how});
  if (beginning_ && !asked) {
    c.state = child_state::stopped;
    end_with({false, how.code, "the child \"" + id + "\" could not be started: " + how.text});
    return;
  }
  if (!asked) {
    restart_after(c, how, now);
    return;
  }
  c.state = child_state::stopped;
  actions_.push_back({core_action::kind::ended, id, how});
  if (c.added) forget(id);
}

void supervisor_core::died(child& c, const ending& how, instant now) {
  const auto rule = c.rules.restart;
  if (rule == restart::permanent || (rule == restart::transient && !how.orderly)) {
    if (now - c.started_at >= options_.backoff.reset_after) c.attempts = 0;
    restart_after(c, how, now);
    return;
  }
  const auto id = c.rules.id;
  const bool significant = c.rules.significant;
  c.state = child_state::stopped;
  actions_.push_back({core_action::kind::ended, id, how});
  if (significant) check_auto_shutdown();
  if (rule == restart::temporary) forget(id);
}

void supervisor_core::restart_after(child& c, const ending& how, instant now) {
  c.state = child_state::stopped;
  if (!within_intensity(now)) {
    end_with({false, errc::limit_reached,
              "more than " + std::to_string(options_.intensity) + " restarts within " +
                  std::to_string(options_.period.count()) + " ms; the last for \"" + c.rules.id + "\": " + how.text});
    return;
  }
  ++c.restarts;
  c.state = child_state::waiting;
  c.not_before = now + pause(c.attempts++);
  const auto position = static_cast<std::size_t>(&c - children_.data());
  if (options_.strategy == strategy::one_for_all) stop_siblings(0, c);
  if (options_.strategy == strategy::rest_for_one) stop_siblings(position + 1, c);
}

void supervisor_core::stop_siblings(std::size_t first, const child& cause) {
  for (std::size_t i = first; i < children_.size(); ++i) {
    auto& sibling = children_[i];
    // One that was being stopped by request stays stopped.
    if (&sibling == &cause || !active(sibling.state) || (sibling.to_stop && !sibling.again_after_stop)) continue;
    sibling.to_stop = true;
    sibling.again_after_stop = true;
  }
}

void supervisor_core::end_with(ending how) {
  ending_ = std::move(how);
  for (auto& c : children_) {
    c.again_after_stop = false;
    c.to_stop = active(c.state);
    if (c.state == child_state::waiting) c.state = child_state::stopped;
  }
}

void supervisor_core::check_auto_shutdown() {
  if (ending_ || options_.auto_shutdown == auto_shutdown::never) return;
  const bool others = std::any_of(children_.begin(), children_.end(), [](const child& c) {
    return c.rules.significant && c.state != child_state::stopped;
  });
  if (options_.auto_shutdown == auto_shutdown::any_significant || !others)
    end_with({true, errc::stopped, "a significant child ended"});
}

void supervisor_core::forget(const std::string& id) {
  std::erase_if(children_, [&](const child& c) { return c.rules.id == id; });
  actions_.push_back({core_action::kind::removed, id});
}

bool supervisor_core::within_intensity(instant now) {
  restarts_.push_back(now);
  while (!restarts_.empty() && now - restarts_.front() > options_.period) restarts_.pop_front();
  return restarts_.size() <= options_.intensity;
}

std::chrono::nanoseconds supervisor_core::pause(std::uint32_t attempt) {
  const auto& b = options_.backoff;
  if (attempt == 0) return b.initial;
  const auto grown = static_cast<double>(b.step.count()) * std::pow(b.factor, std::min<std::uint32_t>(attempt - 1, 64));
  const auto capped = std::min(grown, static_cast<double>(b.maximum.count()));
  const auto jittered = capped * (1.0 + b.jitter * (2.0 * random_() - 1.0));
  return std::chrono::nanoseconds(static_cast<std::int64_t>(jittered * 1e6));
}

}  // namespace planaria::detail
