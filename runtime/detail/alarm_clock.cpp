#include <planaria/runtime/detail/alarm_clock.hpp>

#include <caf/actor.hpp>
#include <caf/actor_cast.hpp>
#include <caf/send.hpp>

namespace planaria::detail {

alarm_clock::alarm_clock() : thread_([this] { serve(); }) {}

alarm_clock::~alarm_clock() { close(); }

void alarm_clock::at(time_point when, caf::actor_addr whom) {
  std::lock_guard lock(mutex_);
  if (closed_) return;
  const bool first = alarms_.empty() || when < alarms_.top().when;
  alarms_.push({when, std::move(whom)});
  if (first) change_.notify_one();
}

void alarm_clock::close() {
  {
    std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
    alarms_ = {};
    change_.notify_one();
  }
  thread_.join();
}

void alarm_clock::serve() {
  std::unique_lock lock(mutex_);
  while (!closed_) {
    if (alarms_.empty()) {
      change_.wait(lock);
      continue;
    }
    const auto next = alarms_.top();
    if (std::chrono::steady_clock::now() < next.when) {
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
