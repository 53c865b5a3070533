#pragma once

#include <planaria/runtime/detail/environment.hpp>

#include <queue>
#include <thread>
#include <vector>

namespace planaria::detail {

/// Threads and the steady clock. One thread of its own sends what at() asks for; unlike CAF's delayed messages, which
/// keep a dead actor, and with it the actor system, alive until they are due, it keeps weak references alone.
class real_environment final : public environment {
 public:
  real_environment() = default;
  ~real_environment() override;

  void configure(caf::actor_system_config& config) override;
  [[nodiscard]] instant now() const noexcept override { return std::chrono::steady_clock::now(); }
  [[nodiscard]] std::chrono::system_clock::time_point wall() const noexcept override {
    return std::chrono::system_clock::now();
  }
  void at(instant when, caf::actor_addr whom) override;
  void launch(std::function<void()> body) override;
  bool wait(std::unique_lock<std::mutex>& lock, std::condition_variable& change, instant until,
            const std::function<bool()>& ready) override;
  bool poll(instant until, const std::function<bool()>& ready) override;
  void close() override;

 private:
  struct alarm {
    instant when;
    caf::actor_addr whom;
    bool operator<(const alarm& other) const { return when > other.when; }
  };
  void serve();

  std::mutex mutex_;
  std::condition_variable change_;
  std::priority_queue<alarm> alarms_;  // guarded by mutex_, as all below
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace planaria::detail
