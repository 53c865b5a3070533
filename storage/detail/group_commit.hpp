#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>

namespace planaria::detail {

/// Shares one fsync among the commits that wait for it.
///
/// The first to come leads: it syncs for all that were written before, and those that come meanwhile form the next
/// group. A leader waits up to `interval` for company, but only when the last group had some, so that a lone writer
/// never waits.
class group_commit {
 public:
  group_commit(std::chrono::milliseconds interval, std::function<void()> sync)
      : interval_(interval), sync_(std::move(sync)) {}

  /// Call after the write is in the log; returns once it is synced, or throws what the sync threw.
  void wait_synced() {
    std::unique_lock lock(mutex_);
    const auto mine = ++written_;
    while (synced_ < mine) {
      if (leading_) {
        change_.wait(lock);
        continue;
      }
      lead(lock);
      if (failure_) std::rethrow_exception(failure_);
    }
  }

 private:
  void lead(std::unique_lock<std::mutex>& lock) {
    leading_ = true;
    if (last_group_ > 1) change_.wait_for(lock, interval_, [this] { return written_ - synced_ >= last_group_; });
    const auto group = written_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      sync_();
    } catch (const std::exception&) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure;
    if (!failure) {
      last_group_ = group - synced_;
      synced_ = group;
    }
    leading_ = false;
    change_.notify_all();
  }

  const std::chrono::milliseconds interval_;
  const std::function<void()> sync_;
  std::mutex mutex_;
  std::condition_variable change_;
  std::uint64_t written_ = 0;  // guarded by mutex_, as all below
  std::uint64_t synced_ = 0;
  std::uint64_t last_group_ = 0;
  bool leading_ = false;
  std::exception_ptr failure_;
};

}  // namespace planaria::detail
