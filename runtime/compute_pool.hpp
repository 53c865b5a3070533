#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace planaria::detail {
class environment;
}  // namespace planaria::detail

namespace planaria {

struct compute_options {
  /// Run first on each new slot's thread; where a user of Torch sets its intra-op threads.
  std::function<void()> on_thread_start;
  /// The niceness of slot threads: above 0 keeps control messages in microseconds under load.
  int nice = 10;
  /// The most slots that may live at once, abandoned ones included; a further run() is refused.
  std::size_t max_slots = 64;
  /// The most slots that may be hung: abandoned, and not returned within the grace that abandon() gave. At the limit
  /// run() is refused, so that the owner's supervisor escalates.
  std::size_t max_abandoned = 8;
};

struct compute_job;

/// A running body, as its owner sees it. Dropping the handle does not stop the body.
class compute_handle {
 public:
  compute_handle() = default;
  /// Gives the slot up: the owner is dead or hung. The thread cannot be killed; it is counted as abandoned until its
  /// body returns, and another slot takes its place. It counts against max_abandoned once `grace` is over: a healthy
  /// body notices its end soon. Does nothing when the body has returned. Any thread.
  void abandon(std::chrono::milliseconds grace = {});
  [[nodiscard]] bool done() const;
  /// Whether abandon() came first.
  [[nodiscard]] bool abandoned() const;

 private:
  friend class compute_pool;
  explicit compute_handle(std::shared_ptr<compute_job> job) : job_(std::move(job)) {}
  std::shared_ptr<compute_job> job_;
};

struct compute_counts {
  std::size_t slots = 0;      ///< threads alive
  std::size_t busy = 0;       ///< running a body whose owner lives
  std::size_t abandoned = 0;  ///< running a body whose owner is gone
  std::uint64_t abandoned_total = 0;
};

/// Threads for what must not run on CAF's cooperative scheduler: training steps of milliseconds to seconds.
///
/// One thread a slot, grown on demand and reused. Owned by the node; any thread may call. A body must not let
/// exceptions out: the pool ends the process with a message if one does (that is a bug of ours; user code is wrapped by
/// its actor). The destructor closes it: what is hung then goes on without an owner, and holds nothing of the pool up.
class compute_pool {
 public:
  explicit compute_pool(compute_options options = {});
  compute_pool(compute_options options, std::shared_ptr<detail::environment> world);
  ~compute_pool();
  compute_pool(const compute_pool&) = delete;
  compute_pool& operator=(const compute_pool&) = delete;

  /// Runs `body` on an idle slot, or on a new one. `owner` is for messages. Errors: errc::limit_reached at max_slots or
  /// when max_abandoned slots are hung.
  compute_handle run(std::string owner, std::function<void()> body);
  [[nodiscard]] compute_counts counts() const;
  [[nodiscard]] const compute_options& options() const noexcept;
  /// Takes no more bodies and waits a bounded time for those that run; returns how many threads are left, hung in user
  /// code.
  std::size_t close();

 private:
  struct impl;
  std::shared_ptr<impl> impl_;
};

}  // namespace planaria
