#pragma once

#include <caf/actor_addr.hpp>
#include <caf/atom.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

namespace planaria::detail {

using tick_atom = caf::atom_constant<caf::atom("tick")>;

/// Sends tick_atom to actors at set times. Keeps only weak references, unlike CAF's delayed messages, which keep a dead
/// actor, and with it the actor system, alive until they are due. Owned by the node; any thread.
class alarm_clock {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  alarm_clock();
  ~alarm_clock();
  alarm_clock(const alarm_clock&) = delete;
  alarm_clock& operator=(const alarm_clock&) = delete;

  void at(time_point when, caf::actor_addr whom);
  /// Ends the thread and drops all alarms. Called by the destructor too.
  void close();

 private:
  struct alarm {
    time_point when;
    caf::actor_addr whom;
    bool operator<(const alarm& other) const { return when > other.when; }
  };
  void serve();

  std::mutex mutex_;
  std::condition_variable change_;
  std::priority_queue<alarm> alarms_;  // guarded by mutex_
  bool closed_ = false;                // guarded by mutex_
  std::thread thread_;
};

}  // namespace planaria::detail
