#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace planaria {

class store;

/// On disk: never renumber.
enum class event_kind : std::uint8_t {
  started = 1,          ///< a child's first start succeeded
  killed = 2,           ///< a fault was injected on purpose
  detected = 3,         ///< a supervisor learnt of a child's death; reason says why
  respawned = 4,        ///< the replacement's init succeeded
  recovered = 5,        ///< the replacement has its state
  caught_up = 6,        ///< the replacement contributes again
  stopped = 7,          ///< an orderly end
  escalated = 8,        ///< a supervisor gave up; its parent decides
  start_failed = 9,     ///< a start attempt failed
  fenced = 10,          ///< something a zombie did was dropped
  slot_abandoned = 11,  ///< a compute slot is held by a zombie
  snapshot = 12,        ///< a snapshot was committed
  refused = 13,         ///< an input or a snapshot was refused; reason says why
  step_skipped = 14,    ///< a step was skipped collectively; reason says why
  note = 15,            ///< anything else worth telling
  ignored = 16,         ///< a child did not want to run; reason says why
  quarantined = 17,     ///< an input on which a child kept failing was set aside, or the child itself
};
/// The kind in words, as logs and tables show it.
[[nodiscard]] std::string_view to_string(event_kind kind) noexcept;

/// One line of the run's history. `at` is wall time; `ticks` is the steady clock of the process in nanoseconds, for
/// differences between events of one boot.
struct event {
  std::uint64_t sequence = 0;  ///< set by the log; grows across boots
  std::uint64_t boot = 0;      ///< set by the log
  event_kind kind = event_kind::note;
  std::string path;
  std::uint64_t incarnation = 0;
  std::string reason;
  std::chrono::system_clock::time_point at;  ///< set by the log when left empty
  std::int64_t ticks = 0;                    ///< set by the log when left 0
  std::int64_t took_us = 0;                  ///< how long the work took that it ends, where that is known
};

/// One death and what came of it, in microseconds since the kill if there was one, else since the detection.
struct recovery {
  std::string path;
  std::string reason;
  std::uint64_t incarnation = 0;  ///< of the replacement
  double detected_us = 0;
  double respawned_us = -1;  ///< -1: has not happened
  double recovered_us = -1;
  double caught_up_us = -1;
  double recomputed_us = 0;  ///< of it, computing its own contribution again
};

/// Pairs the events of each death with those of its replacement, in order of death.
[[nodiscard]] std::vector<recovery> recovery_table(const std::vector<event>& events);

/// Who died, why, and when it was detected, respawned, recovered and caught up: persisted, streamed and logged.
///
/// Any thread. A record is written to the control family without an fsync (survives kill -9), handed to every
/// subscriber on the recording thread, and logged through spdlog at info (escalations and refusals at warn). Keeps the
/// newest `capacity` events, in memory and, with a little delay, in the store.
class event_log {
 public:
  static constexpr std::size_t default_capacity = 100'000;
  struct time {
    std::chrono::steady_clock::time_point ticks;
    std::chrono::system_clock::time_point at;
  };
  using clock = std::function<time()>;

  /// `now` gives the time of each event; without one it is the machine's.
  explicit event_log(planaria::store* where, const std::string& log_level = "warn",
                     std::size_t capacity = default_capacity, clock now = {});
  ~event_log();
  event_log(const event_log&) = delete;
  event_log& operator=(const event_log&) = delete;

  /// Adds one event to the history; what the log sets itself may be left out.
  void record(event what);
  void record(event_kind kind, std::string_view path, std::uint64_t incarnation, std::string_view reason = {});
  /// This boot's events, oldest first.
  [[nodiscard]] std::vector<event> events() const;
  using subscriber = std::function<void(const event&)>;
  /// Calls `callback` with each later event, on the recording thread; it must be quick and must not record.
  [[nodiscard]] std::uint64_t subscribe(subscriber callback);
  /// After it returns the callback is not running and is not called again. Not from within a callback.
  void unsubscribe(std::uint64_t id);
  /// Forgets the store, which is about to be closed; later records stay in memory only.
  void detach();

  /// Every persisted event of a store, oldest first; also of one opened read-only.
  [[nodiscard]] static std::vector<event> history(const planaria::store& where);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace planaria
