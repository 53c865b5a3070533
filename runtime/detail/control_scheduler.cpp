#include <planaria/runtime/detail/control_scheduler.hpp>

#include <caf/detail/set_thread_name.hpp>

#include <chrono>

namespace planaria::detail {
namespace {

// How long a worker's next job waits behind a running one before an idle worker takes it over, once or twice.
constexpr std::chrono::milliseconds patience{1};
// After so many jobs a worker looks at the common queue first, so that two actors in conversation starve nobody.
constexpr std::uint64_t fairness = 61;

// The worker that the thread is, if it is one.
thread_local void* current_worker = nullptr;

}  // namespace

control_scheduler::control_scheduler(caf::actor_system& system) : abstract_coordinator(system) {}
control_scheduler::~control_scheduler() = default;

caf::actor_system::module* control_scheduler::make(caf::actor_system& system, caf::detail::type_list<>) {
  return new control_scheduler(system);
}

control_clock& control_scheduler::clock() noexcept { return clock_; }

void control_scheduler::start() {
  for (std::size_t i = 0; i < num_workers(); ++i) workers_.push_back(std::make_unique<worker>(*this, system()));
  for (auto& w : workers_)
    w->thread = std::thread([this, self = w.get()] {
      caf::detail::set_thread_name("planaria.control");
      system().thread_started();
      serve(*self);
      system().thread_terminates();
    });
  abstract_coordinator::start();
}

void control_scheduler::stop() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    wake_.notify_all();
  }
  for (auto& w : workers_) w->thread.join();
  stop_actors();
  for (auto& w : workers_)
    if (auto* job = w->next.exchange(nullptr)) cleanup_and_release(job);
  for (auto* job : std::exchange(queue_, {})) cleanup_and_release(job);
  clock_.close();
}

void control_scheduler::enqueue(caf::resumable* job) {
  // CAF does not say so when a worker spawns or sends anonymously.
  if (auto* by = static_cast<worker*>(current_worker); by != nullptr && &by->scheduler == this)
    enqueue_next(*by, job);
  else
    enqueue_last(job);
}

void control_scheduler::enqueue_last(caf::resumable* job) {
  std::lock_guard lock(mutex_);
  queue_.push_back(job);
  if (idle_.load(std::memory_order_relaxed) != 0) wake_.notify_one();
}

void control_scheduler::enqueue_next(worker& by, caf::resumable* job) {
  caf::resumable* none = nullptr;
  if (!by.next.compare_exchange_strong(none, job, std::memory_order_acq_rel)) {
    enqueue_last(job);
    return;
  }
  if (watchers_.load(std::memory_order_acquire) != 0 || idle_.load(std::memory_order_acquire) == 0) return;
  std::lock_guard lock(mutex_);
  wake_.notify_one();
}

void control_scheduler::serve(worker& self) {
  current_worker = &self;
  while (auto* job = take(self)) {
    switch (job->resume(&self, max_throughput())) {
      case caf::resumable::resume_later: enqueue_last(job); break;
      case caf::resumable::done:
      case caf::resumable::awaiting_message: caf::intrusive_ptr_release(job); break;
      case caf::resumable::shutdown_execution_unit: return;
    }
  }
}

caf::resumable* control_scheduler::take(worker& self) {
  const auto turn = self.turns.fetch_add(1, std::memory_order_relaxed);
  if (turn % fairness != 0)
    if (auto* job = self.next.exchange(nullptr, std::memory_order_acq_rel)) return job;
  std::unique_lock lock(mutex_);
  return wait_for_job(self, lock);
}

caf::resumable* control_scheduler::wait_for_job(worker& self, std::unique_lock<std::mutex>& lock) {
  while (!closing_) {
    if (!queue_.empty()) {
      auto* job = queue_.front();
      queue_.pop_front();
      return job;
    }
    if (auto* job = self.next.exchange(nullptr, std::memory_order_acq_rel)) return job;
    idle_.fetch_add(1, std::memory_order_acq_rel);
    const bool watch = watchers_.load(std::memory_order_relaxed) == 0 && idle_ < workers_.size();
    caf::resumable* taken = nullptr;
    if (watch) {
      watchers_.store(1, std::memory_order_release);
      if (wake_.wait_for(lock, patience) == std::cv_status::timeout) taken = take_over(self);
      watchers_.store(0, std::memory_order_release);
    } else {
      wake_.wait(lock);
    }
    idle_.fetch_sub(1, std::memory_order_acq_rel);
    if (taken != nullptr) return taken;
  }
  return nullptr;
}

// The next job of a worker that has begun no other since it was last watched.
caf::resumable* control_scheduler::take_over(const worker& self) {
  caf::resumable* taken = nullptr;
  for (auto& w : workers_) {
    const auto turns = w->turns.load(std::memory_order_relaxed);
    if (w.get() != &self && taken == nullptr && turns == w->seen)
      taken = w->next.exchange(nullptr, std::memory_order_acq_rel);
    w->seen = turns;
  }
  return taken;
}

}  // namespace planaria::detail
