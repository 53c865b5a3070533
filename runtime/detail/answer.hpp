#pragma once

#include <planaria/runtime/detail/environment.hpp>
#include <planaria/storage/error.hpp>

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace planaria::detail {

/// Where a thread waits for what a supervisor answers. A promise and a future, but one that a simulation can wait for.
class answer_box {
 public:
  /// The first answer counts.
  void put(std::string text, std::exception_ptr failed = nullptr) {
    std::lock_guard lock(mutex_);
    if (done_) return;
    done_ = true;
    text_ = std::move(text);
    failed_ = std::move(failed);
    change_.notify_all();
  }
  /// Returns the answer, or nothing when there is none by `until`. Errors: what was answered.
  [[nodiscard]] std::optional<std::string> wait(environment& world, instant until) {
    std::unique_lock lock(mutex_);
    if (!world.wait(lock, change_, until, [this] { return done_; })) return std::nullopt;
    if (failed_) std::rethrow_exception(failed_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable change_;
  bool done_ = false;  // guarded by mutex_, as all below
  std::string text_;
  std::exception_ptr failed_;
};

/// The supervisor's end of a box: dropped without an answer, it says that the supervisor has ended.
class answer_slip {
 public:
  explicit answer_slip(std::shared_ptr<answer_box> box, std::string whose)
      : box_(std::move(box)), whose_(std::move(whose)) {}
  ~answer_slip() { refuse(error(errc::stopped, "the supervisor \"" + whose_ + "\" ended before it answered")); }
  answer_slip(const answer_slip&) = delete;
  answer_slip& operator=(const answer_slip&) = delete;

  void say(std::string text) const { box_->put(std::move(text)); }
  void refuse(const error& why) const { box_->put({}, std::make_exception_ptr(why)); }

 private:
  const std::shared_ptr<answer_box> box_;
  const std::string whose_;
};

using answer = std::shared_ptr<answer_slip>;

}  // namespace planaria::detail
