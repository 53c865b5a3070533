#pragma once

#include <planaria/runtime/detail/control_clock.hpp>

#include <caf/actor_system.hpp>
#include <caf/detail/type_list.hpp>
#include <caf/execution_unit.hpp>
#include <caf/resumable.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace planaria::detail {

/// The scheduler of control actors: one queue for all workers, and one next job of its own for each.
///
/// What a running actor wakes first runs next on the same worker, without a lock and without waking a thread: a
/// supervisor's conversation with its child costs no context switch. A worker that runs one job for longer than
/// `patience` loses its next job to an idle one, which watches for as long as anybody works. (The idea of a stealable
/// next job is that of Go's and Tokio's schedulers.)
///
///   idle --1--> running --2--> watching --3--> idle     1 a job came   2 none left, others work   3 nobody works
///                  ^               |4
///                  +---------------+                    4 a job came, or one was taken over
class control_scheduler final : public caf::scheduler::abstract_coordinator {
 public:
  explicit control_scheduler(caf::actor_system& system);
  ~control_scheduler() override;

  /// How CAF's configuration makes it: config.load<control_scheduler>().
  static caf::actor_system::module* make(caf::actor_system& system, caf::detail::type_list<>);

  void enqueue(caf::resumable* job) override;
  control_clock& clock() noexcept override;

 protected:
  void start() override;
  void stop() override;

 private:
  struct worker final : caf::execution_unit {
    worker(control_scheduler& owner, caf::actor_system& system) : caf::execution_unit(&system), scheduler(owner) {}
    void exec_later(caf::resumable* job) override { scheduler.enqueue_next(*this, job); }

    control_scheduler& scheduler;
    std::atomic<caf::resumable*> next{nullptr};
    std::atomic<std::uint64_t> turns{0};  // jobs begun
    std::uint64_t seen = 0;               // turns when last watched: guarded by mutex_
    std::thread thread;
  };

  void enqueue_next(worker& by, caf::resumable* job);
  void enqueue_last(caf::resumable* job);
  void serve(worker& self);
  caf::resumable* take(worker& self);
  caf::resumable* wait_for_job(worker& self, std::unique_lock<std::mutex>& lock);
  caf::resumable* take_over(const worker& self);

  control_clock clock_;
  std::vector<std::unique_ptr<worker>> workers_;  // set at start

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<caf::resumable*> queue_;     // guarded by mutex_
  bool closing_ = false;                  // guarded by mutex_
  std::atomic<std::size_t> idle_{0};      // written under mutex_; those that watch included
  std::atomic<std::size_t> watchers_{0};  // written under mutex_; 0 or 1
};

}  // namespace planaria::detail
