#include <planaria/runtime/detail/control_scheduler.hpp>
#include <planaria/runtime/detail/real_environment.hpp>

#include <caf/actor.hpp>
#include <caf/actor_cast.hpp>
#include <caf/send.hpp>

namespace planaria::detail {

real_environment::~real_environment() { close(); }

void real_environment::configure(caf::actor_system_config& config) { config.load<control_scheduler>(); }

void real_environment::at(instant when, caf::actor_addr whom) {
  std::lock_guard lock(mutex_);
  if (closed_) return;
  const bool first = alarms_.empty() || when < alarms_.top().when;
  alarms_.push({when, std::move(whom)});
  if (!thread_.joinable())
    thread_ = std::thread([this] { serve(); });
  else if (first)
    change_.notify_one();
}

void real_environment::launch(std::function<void()> body) { std::thread(std::move(body)).detach(); }

bool real_environment::wait(std::unique_lock<std::mutex>& lock, std::condition_variable& change, instant until,
                            const std::function<bool()>& ready) {
  if (until == instant::max()) {
    change.wait(lock, ready);
    return true;
  }
  return change.wait_until(lock, until, ready);
}

bool real_environment::poll(instant until, const std::function<bool()>& ready) {
  while (!ready()) {
    if (now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

void real_environment::close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    alarms_ = {};
    change_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void real_environment::serve() {
  std::unique_lock lock(mutex_);
  while (!closed_) {
    if (alarms_.empty()) {
      change_.wait(lock);
      continue;
    }
    const auto next = alarms_.top();
    if (now() < next.when) {
      change_.wait_until(lock, next.when);
      continue;
    }
    alarms_.pop();
    lock.unlock();
    if (const auto actor = caf::actor_cast<caf::actor>(next.whom)) caf::anon_send(actor, tick_atom::value);
    lock.lock();
  }
}

}  // namespace planaria::detail
