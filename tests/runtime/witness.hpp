#pragma once

#include <planaria/runtime/event_log.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace planaria::testing {

/// The longest that a test waits for anything: far beyond what it takes, so that only a fault reaches it.
inline constexpr std::chrono::seconds patience{20};

/// Follows an event log from its construction on, and waits for what it is to tell.
class witness {
 public:
  explicit witness(event_log& log)
      : log_(log), id_(log.subscribe([this](const event& one) {
          std::lock_guard lock(mutex_);
          seen_.push_back(one);
          change_.notify_all();
        })) {}
  ~witness() { log_.unsubscribe(id_); }
  witness(const witness&) = delete;
  witness& operator=(const witness&) = delete;

  /// Returns the nth event of this kind and path, once there is one.
  event wait(event_kind kind, std::string_view path, std::size_t nth = 1) {
    std::unique_lock lock(mutex_);
    event found;
    const auto enough = [&] {
      std::size_t count = 0;
      return std::any_of(seen_.begin(), seen_.end(), [&](const event& one) {
        if (one.kind != kind || one.path != path || ++count < nth) return false;
        found = one;
        return true;
      });
    };
    if (change_.wait_for(lock, patience, enough)) return found;
    throw std::runtime_error("no event \"" + std::string(to_string(kind)) + "\" number " + std::to_string(nth) +
                             " of \"" + std::string(path) + "\"");
  }

  [[nodiscard]] std::size_t count(event_kind kind, std::string_view path) const {
    std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::count_if(
        seen_.begin(), seen_.end(), [&](const event& one) { return one.kind == kind && one.path == path; }));
  }

  /// The paths of the events of one kind, in order.
  [[nodiscard]] std::vector<std::string> paths(event_kind kind) const {
    std::lock_guard lock(mutex_);
    std::vector<std::string> all;
    for (const auto& one : seen_)
      if (one.kind == kind) all.push_back(one.path);
    return all;
  }

 private:
  event_log& log_;
  mutable std::mutex mutex_;
  std::condition_variable change_;
  std::vector<event> seen_;  // guarded by mutex_
  std::uint64_t id_;         // last: its callback uses what is above
};

/// A flag that threads wait for, with a deadline.
class signal {
 public:
  void raise() {
    std::lock_guard lock(mutex_);
    raised_ = true;
    change_.notify_all();
  }
  [[nodiscard]] bool wait() {
    std::unique_lock lock(mutex_);
    return change_.wait_for(lock, patience, [this] { return raised_; });
  }
  [[nodiscard]] bool raised() const {
    std::lock_guard lock(mutex_);
    return raised_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable change_;
  bool raised_ = false;  // guarded by mutex_
};

}  // namespace planaria::testing
