#include <planaria/runtime/detail/supervisor_core.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace planaria::detail {
namespace {

// How long a killed child may take to be down: longer, and something in it never returns.
constexpr std::chrono::milliseconds kill_grace{1000};

bool active(child_state state) {
  return state == child_state::starting || state == child_state::running || state == child_state::stopping;
}

}  // namespace

const supervisor_core::child* supervisor_core::find(const std::string& id) const {
  const auto found = ids_.find(id);
  return found == ids_.end() ? nullptr : &*found->second;
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

supervisor_core::child& supervisor_core::append(child_rules rules) {
  auto& c = children_.emplace_back();
  c.rules = std::move(rules);
  c.order = next_order_++;
  ids_.emplace(c.rules.id, std::prev(children_.end()));
  return c;
}

// The only place where a state changes, with all that is ordered by it.
void supervisor_core::enter(child& c, child_state state) {
  if (c.state == child_state::starting) --starting_;
  if (c.state == child_state::waiting) {
    waiting_.erase(&c);
    pauses_.erase({c.not_before, c.order, &c});
  }
  c.state = state;
  if (state == child_state::starting) ++starting_;
  if (state == child_state::waiting) {
    waiting_.insert(&c);
    pauses_.insert({c.not_before, c.order, &c});
  }
}

void supervisor_core::wait_until(child& c, instant not_before) {
  enter(c, child_state::stopped);
  c.not_before = not_before;
  enter(c, child_state::waiting);
}

void supervisor_core::set_deadline(child& c, std::optional<instant> at) {
  if (c.deadline) deadlines_.erase({*c.deadline, c.order, &c});
  c.deadline = at;
  if (at) deadlines_.insert({*at, c.order, &c});
}

void supervisor_core::begin(std::vector<child_rules> first, instant now) {
  beginning_ = true;
  for (auto& rules : first) wait_until(append(std::move(rules)), now);
  advance(now);
}

void supervisor_core::add(child_rules rules, instant now) {
  require_open();
  if (find(rules.id) != nullptr) throw error(errc::already_exists, "there is a child \"" + rules.id + "\" already");
  auto& c = append(std::move(rules));
  c.start_asked = true;
  c.added = true;
  wait_until(c, now);
  advance(now);
}

void supervisor_core::stop(const std::string& id, instant now) {
  require_open();
  auto& c = require(id);
  if (!active(c.state)) {
    end_for_good(c, {});
  } else {
    c.stop_asked = true;
    c.again = false;
    // One that waits for its turn to be stopped with its siblings keeps it.
    if (c.state != child_state::stopping && !stops_.contains(&c)) begin_stop(c, now);
  }
  advance(now);
}

void supervisor_core::restart(const std::string& id, instant now) {
  require_open();
  auto& c = require(id);
  if (c.state != child_state::stopped) throw error(errc::invalid_input, "the child \"" + id + "\" is not stopped");
  c.start_asked = true;
  c.added = false;
  c.set_aside = false;
  c.attempts = 0;
  c.failures = 0;
  wait_until(c, now);
  advance(now);
}

void supervisor_core::remove(const std::string& id) {
  auto& c = require(id);
  if (c.state != child_state::stopped)
    throw error(errc::invalid_input, "the child \"" + id + "\" is not stopped: stop it first");
  forget(c);
}

void supervisor_core::shut_down(instant now) {
  if (!ending_) end_with({}, now);
  advance(now);
}

void supervisor_core::started(const std::string& id, instant now) {
  auto* c = get(id);
  if (c == nullptr || c->state != child_state::starting) return;
  enter(*c, child_state::running);
  set_deadline(*c, std::nullopt);
  c->started_at = now;
  c->start_asked = false;
  c->added = false;
  actions_.push_back({core_action::kind::started, id});
  advance(now);
}

void supervisor_core::down(const std::string& id, const ending& how, instant now) {
  auto* c = get(id);
  if (c == nullptr || !active(c->state)) return;
  set_deadline(*c, std::nullopt);
  // One that dies before its turn to be stopped was only quicker: neither a restart nor a reason to give up.
  if (c->state == child_state::stopping || stops_.contains(c))
    stopped(*c, how, now);
  else if (c->state == child_state::running)
    died(*c, how, now);
  else if (how.code == errc::ignored)
    start_ignored(*c, how);
  else
    start_failed(*c, how, now);
  advance(now);
}

void supervisor_core::tick(instant now) {
  while (!deadlines_.empty() && deadlines_.begin()->at <= now) {
    auto& c = *deadlines_.begin()->whose;
    const auto id = c.rules.id;
    if (c.state == child_state::stopping && !c.killed) {
      c.killed = true;
      set_deadline(c, now + kill_grace);
      actions_.push_back({core_action::kind::kill, id});
      continue;
    }
    const bool starting = c.state == child_state::starting;
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
  if (!deadlines_.empty()) next = deadlines_.begin()->at;
  if (ending_) return next;
  // One whose time has come waits for its turn, not for a tick.
  const auto pause = pauses_.upper_bound({advanced_at_, next_order_, nullptr});
  if (pause != pauses_.end() && (!next || pause->at < *next)) next = std::max(pause->at, now);
  return next;
}

// Restarts of single children do not wait for each other; everything else goes in order.
bool supervisor_core::one_by_one() const {
  return (beginning_ && !dynamic()) || options_.strategy == strategy::one_for_all ||
         options_.strategy == strategy::rest_for_one;
}

void supervisor_core::advance(instant now) {
  if (ended_) return;
  advanced_at_ = now;
  advance_stops(now);
  if (!stops_.empty()) return;
  if (ending_) {
    ended_ = true;
    actions_.push_back({core_action::kind::end, {}, *ending_});
    return;
  }
  advance_starts(now);
}

// The last started child goes first, and the one before it waits until it is down. Dynamic children go all at once.
void supervisor_core::advance_stops(instant now) {
  while (!stops_.empty() && !dynamic()) {
    auto& c = **stops_.rbegin();
    if (c.state == child_state::starting || c.state == child_state::running) begin_stop(c, now);
    if (c.state == child_state::stopping) return;
    stops_.erase(&c);
  }
}

void supervisor_core::begin_stop(child& c, instant now) {
  enter(c, child_state::stopping);
  c.killed = c.rules.shutdown.how == shutdown::kind::brutal;
  set_deadline(c, std::nullopt);
  if (c.killed) set_deadline(c, now + kill_grace);
  if (c.rules.shutdown.how == shutdown::kind::timeout) set_deadline(c, now + c.rules.shutdown.after);
  actions_.push_back({c.killed ? core_action::kind::kill : core_action::kind::request_stop, c.rules.id});
}

void supervisor_core::advance_starts(instant now) {
  const bool in_order = one_by_one();
  if (in_order && starting_ != 0) return;
  while (auto* c = next_waiting(in_order, now)) {
    enter(*c, child_state::starting);
    set_deadline(*c, now + c->rules.start_deadline);
    actions_.push_back({core_action::kind::start, c->rules.id});
    if (in_order) return;
  }
  if (!beginning_ || starting_ != 0 || !waiting_.empty()) return;
  beginning_ = false;
  actions_.push_back({core_action::kind::ready, {}});
}

// In order, one in its pause holds up those after it.
supervisor_core::child* supervisor_core::next_waiting(bool in_order, instant now) const {
  if (waiting_.empty()) return nullptr;
  auto* next = in_order ? *waiting_.begin() : pauses_.begin()->whose;
  return next->not_before <= now ? next : nullptr;
}

void supervisor_core::stopped(child& c, const ending& how, instant now) {
  stops_.erase(&c);
  c.killed = false;
  if (!std::exchange(c.again, false) || ending_ || c.rules.restart == restart::temporary) {
    end_for_good(c, how);
    return;
  }
  // Whoever asked for its start is answered by the next one; whoever asked for its stop has it.
  if (std::exchange(c.stop_asked, false)) actions_.push_back({core_action::kind::ended, c.rules.id, how});
  wait_until(c, now);
}

// It is down and is not started again by itself.
void supervisor_core::end_for_good(child& c, const ending& how) {
  refuse_start(c);
  enter(c, child_state::stopped);
  c.stop_asked = false;
  actions_.push_back({core_action::kind::ended, c.rules.id, how});
  if ((c.rules.restart == restart::temporary || dynamic()) && !ending_) forget(c);
}

void supervisor_core::refuse_start(child& c) {
  if (!std::exchange(c.start_asked, false)) return;
  actions_.push_back(
      {core_action::kind::start_failed, c.rules.id, {false, errc::stopped, "stopped before it had started"}});
}

void supervisor_core::start_ignored(child& c, const ending& how) {
  c.start_asked = false;
  c.added = false;
  actions_.push_back({core_action::kind::ignored, c.rules.id, how});
  end_for_good(c, how);
}

void supervisor_core::start_failed(child& c, const ending& how, instant now) {
  const bool asked = std::exchange(c.start_asked, false);
  actions_.push_back({core_action::kind::start_failed, c.rules.id, how});
  if (!asked && beginning_ && !dynamic()) {
    enter(c, child_state::stopped);
    // That a child has given up is no reason to give up: whoever started this one starts it again.
    const auto code = how.code == errc::limit_reached ? errc::user_error : how.code;
    end_with({false, code, "the child \"" + c.rules.id + "\" could not be started: " + how.text}, now);
  } else if (!asked) {
    if (note_failure(c, how)) restart_after(c, how, now);
  } else if (c.added) {
    enter(c, child_state::stopped);
    actions_.push_back({core_action::kind::ended, c.rules.id, how});
    forget(c);
  } else {
    end_for_good(c, how);
  }
}

void supervisor_core::died(child& c, const ending& how, instant now) {
  const auto rule = c.rules.restart;
  if (rule == restart::permanent || (rule == restart::transient && !how.orderly)) {
    if (now - c.started_at >= options_.backoff.reset_after) c.attempts = 0;
    if (how.orderly || note_failure(c, how)) restart_after(c, how, now);
    return;
  }
  const bool significant = c.rules.significant;
  end_for_good(c, how);
  if (significant) check_auto_shutdown(now);
}

// Counts failures in a row on one input. False when the child itself is set aside: its input was in quarantine already.
bool supervisor_core::note_failure(child& c, const ending& how) {
  if (c.rules.quarantine_after == 0 || how.input.empty()) return true;
  if (std::exchange(c.input, how.input) != how.input) c.failures = 0;
  ++c.failures;
  if (c.failures == c.rules.quarantine_after) actions_.push_back({core_action::kind::quarantine, c.rules.id, how});
  if (c.failures <= c.rules.quarantine_after) return true;
  c.set_aside = true;
  end_for_good(c, how);
  return false;
}

void supervisor_core::restart_after(child& c, const ending& how, instant now) {
  enter(c, child_state::stopped);
  if (!within_intensity(now)) {
    end_with({false, errc::limit_reached,
              "more than " + std::to_string(options_.intensity) + " restarts within " +
                  std::to_string(options_.period.count()) + " ms; the last for \"" + c.rules.id + "\": " + how.text},
             now);
    return;
  }
  ++c.restarts;
  wait_until(c, now + pause(c.attempts++));
  if (options_.strategy == strategy::one_for_all || options_.strategy == strategy::rest_for_one) restart_group(c, now);
}

// Those that run are stopped in reverse order, and then all are started, also those that had ended or were stopped.
void supervisor_core::restart_group(child& cause, instant now) {
  for (auto& c : children_) {
    if (&c == &cause || (options_.strategy == strategy::rest_for_one && c.order < cause.order)) continue;
    if (active(c.state)) {
      c.again = true;
      stops_.insert(&c);
    } else if (c.state == child_state::stopped && !c.set_aside) {
      wait_until(c, now);
    }
  }
}

void supervisor_core::end_with(ending how, instant now) {
  ending_ = std::move(how);
  for (auto& c : children_) {
    c.again = false;
    if (active(c.state))
      stops_.insert(&c);
    else if (c.state == child_state::waiting)
      end_for_good(c, {});
    if (dynamic() && (c.state == child_state::starting || c.state == child_state::running)) begin_stop(c, now);
  }
}

void supervisor_core::check_auto_shutdown(instant now) {
  if (ending_ || options_.auto_shutdown == auto_shutdown::never) return;
  const bool others = std::any_of(children_.begin(), children_.end(), [](const child& c) {
    return c.rules.significant && c.state != child_state::stopped;
  });
  if (options_.auto_shutdown == auto_shutdown::any_significant || !others)
    end_with({true, errc::stopped, "a significant child ended"}, now);
}

void supervisor_core::forget(child& c) {
  const auto id = c.rules.id;
  const auto where = ids_.find(id)->second;
  enter(c, child_state::stopped);
  set_deadline(c, std::nullopt);
  stops_.erase(&c);
  ids_.erase(id);
  children_.erase(where);
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
