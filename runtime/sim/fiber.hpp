#pragma once

#include <planaria/runtime/detail/environment.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>

namespace planaria::sim {

/// What one thread hands to another: whoever has it runs, everybody else waits for theirs.
using baton = std::binary_semaphore;
inline std::shared_ptr<baton> make_baton() { return std::make_shared<baton>(0); }

/// A body that may wait, on a thread that is its own meanwhile and runs only while the world's driver lets it.
/// One that never ends keeps its thread, which then waits for ever for a baton that nobody holds.
class fiber {
 public:
  /// `driver` is where the baton goes back to.
  fiber(std::uint64_t number, std::function<void()> body, std::shared_ptr<baton> driver);
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;

  /// Of the driver: lets it run until it waits or ends.
  void resume();
  [[nodiscard]] bool done() const noexcept { return done_; }
  /// Whether it could go on: it has not begun, what it waits for is there, or it is `now` too late for that.
  [[nodiscard]] bool ready(detail::instant now) const;
  /// When it stops waiting.
  [[nodiscard]] detail::instant until() const noexcept { return until_; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

  /// Of the fiber that runs on this thread, if one does.
  [[nodiscard]] static fiber* current() noexcept;
  /// Of that fiber: hands the baton back until it is ready.
  void wait(std::unique_lock<std::mutex>* lock, detail::instant until, const std::function<bool()>& ready);

 private:
  const std::uint64_t number_;
  const std::shared_ptr<baton> driver_;
  const std::shared_ptr<baton> mine_ = make_baton();
  std::unique_lock<std::mutex>* lock_ = nullptr;  // while it waits, as the next two
  const std::function<bool()>* ready_ = nullptr;
  detail::instant until_{};
  bool waits_ = false;
  bool done_ = false;
};

}  // namespace planaria::sim
