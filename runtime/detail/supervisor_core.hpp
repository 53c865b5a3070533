#pragma once

#include <planaria/runtime/child_spec.hpp>
#include <planaria/runtime/detail/down_reason.hpp>
#include <planaria/runtime/detail/environment.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace planaria::detail {

/// The part of a child spec that decides what happens to the child.
struct child_rules {
  std::string id;
  planaria::restart restart = planaria::restart::permanent;
  planaria::shutdown shutdown = {};
  bool significant = false;
  std::chrono::milliseconds start_deadline{30'000};
  std::uint32_t quarantine_after = 0;

  [[nodiscard]] static child_rules of(const child_spec& spec) {
    return {spec.id, spec.restart, spec.shutdown, spec.significant, spec.start_deadline, spec.quarantine_after};
  }
};

/// Where a child is.
///
///   stopped --1--> waiting --2--> starting --3--> running --4--> stopping --5--> stopped
///                     ^              |6              |7
///                     +--------------+---------------+
///   1 added, or started again by request   2 its turn and its time have come   3 its init succeeded
///   4 to be stopped   5 it is down   6 its start failed and is tried again   7 it died and is restarted
///   From starting and running it also comes to stopped: it ignores its start, or has ended for good.
enum class child_state : std::uint8_t { stopped, waiting, starting, running, stopping };

/// What the shell has to do, in order.
struct core_action {
  enum class kind : std::uint8_t {
    start,         ///< make a new incarnation, then call started() or down()
    request_stop,  ///< ask the child to shut down
    kill,          ///< end it unconditionally
    abandon,       ///< it does not die: fence it and take it for dead
    started,       ///< tell who asked: the start succeeded
    start_failed,  ///< tell who asked, if anybody did: it failed with the ending
    ignored,       ///< tell who asked: it does not want to run now
    quarantine,    ///< its input, named in the ending, is set aside: it failed on it too often in a row
    ended,         ///< it will not be started again by itself; ending says how it ended
    removed,       ///< its spec is forgotten (after `ended`)
    ready,         ///< every first child is started
    end,           ///< the supervisor itself ends with the ending, all its children being down
  };
  kind what;
  std::string id;
  ending how = {};
};

/// A supervisor's decisions, as OTP's supervisor documents them: events in, actions out. No CAF, no clock, no I/O.
///
/// Not thread-safe; owned by the supervisor's actor. Cost: O(log children) an event. What it does beyond OTP:
/// docs/supervision.md.
class supervisor_core {
 public:
  struct child {
    child_rules rules;
    std::uint64_t order = 0;  ///< grows with each child added: the start order
    child_state state = child_state::stopped;
    std::uint64_t restarts = 0;
    // How it came to be stopped or started, and what follows.
    bool start_asked = false;  ///< somebody waits for the start
    bool stop_asked = false;   ///< somebody waits for the stop
    bool added = false;        ///< by request: forgotten when its first start fails
    bool again = false;        ///< stopped only to be restarted with its siblings
    bool killed = false;
    bool set_aside = false;      ///< it failed on an input in quarantine: started by request alone
    std::uint32_t attempts = 0;  ///< restarts in a row
    std::uint32_t failures = 0;  ///< in a row on `input`
    std::string input;
    instant not_before{};
    instant started_at{};
    std::optional<instant> deadline;  ///< of starting or stopping
  };

  /// `random` returns numbers in [0, 1), for the jitter of backoff.
  supervisor_core(supervisor_options options, std::function<double()> random)
      : options_(options), random_(std::move(random)) {}
  supervisor_core(const supervisor_core&) = delete;
  supervisor_core& operator=(const supervisor_core&) = delete;

  /// Starts the first children in order; if one fails, those before it are stopped and the supervisor ends.
  void begin(std::vector<child_rules> first, instant now);

  /// Commands. Errors: errc::already_exists, errc::not_found, errc::invalid_input (not in a state for it),
  /// errc::stopped.
  void add(child_rules rules, instant now);
  void stop(const std::string& id, instant now);
  void restart(const std::string& id, instant now);
  void remove(const std::string& id);
  void shut_down(instant now);

  /// Events of the child's current incarnation.
  void started(const std::string& id, instant now);
  void down(const std::string& id, const ending& how, instant now);
  /// The time has come that next_tick() named.
  void tick(instant now);

  [[nodiscard]] std::vector<core_action> take_actions() { return std::exchange(actions_, {}); }
  [[nodiscard]] std::optional<instant> next_tick(instant now) const;
  /// In start order.
  [[nodiscard]] const std::list<child>& children() const noexcept { return children_; }
  [[nodiscard]] const child* find(const std::string& id) const;

 private:
  struct by_order {
    bool operator()(const child* a, const child* b) const noexcept { return a->order < b->order; }
  };
  // A time that is due for a child; of equal times the earlier started child's comes first.
  struct due {
    instant at;
    std::uint64_t order;
    child* whose;
    bool operator<(const due& other) const noexcept { return std::tie(at, order) < std::tie(other.at, other.order); }
  };

  child* get(const std::string& id);
  child& require(const std::string& id);
  void require_open() const;
  child& append(child_rules rules);
  void enter(child& c, child_state state);
  void wait_until(child& c, instant not_before);
  void set_deadline(child& c, std::optional<instant> at);
  void advance(instant now);
  void advance_stops(instant now);
  void advance_starts(instant now);
  child* next_waiting(bool in_order, instant now) const;
  void begin_stop(child& c, instant now);
  void stopped(child& c, const ending& how, instant now);
  void end_for_good(child& c, const ending& how);
  void refuse_start(child& c);
  void start_ignored(child& c, const ending& how);
  void start_failed(child& c, const ending& how, instant now);
  void died(child& c, const ending& how, instant now);
  bool note_failure(child& c, const ending& how);
  void restart_after(child& c, const ending& how, instant now);
  void restart_group(child& cause, instant now);
  void end_with(ending how, instant now);
  void check_auto_shutdown(instant now);
  void forget(child& c);
  [[nodiscard]] bool within_intensity(instant now);
  [[nodiscard]] std::chrono::nanoseconds pause(std::uint32_t attempt);
  [[nodiscard]] bool one_by_one() const;
  [[nodiscard]] bool dynamic() const { return options_.strategy == strategy::simple_one_for_one; }

  const supervisor_options options_;
  const std::function<double()> random_;
  std::list<child> children_;                                             // in start order
  std::unordered_map<std::string_view, std::list<child>::iterator> ids_;  // the keys are the children's own
  std::set<child*, by_order> stops_;                                      // to be stopped, the last first
  std::set<child*, by_order> waiting_;                                    // in state waiting
  std::set<due> pauses_;                                                  // of those that wait
  std::set<due> deadlines_;
  std::size_t starting_ = 0;  // how many are in state starting
  std::uint64_t next_order_ = 0;
  std::deque<instant> restarts_;
  std::vector<core_action> actions_;
  std::optional<ending> ending_;
  instant advanced_at_{};  // what was due by then has been started
  bool beginning_ = false;
  bool ended_ = false;
};

}  // namespace planaria::detail
