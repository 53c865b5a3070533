#pragma once

#include <planaria/runtime/detail/environment.hpp>
#include <planaria/runtime/sim/fiber.hpp>
#include <planaria/runtime/sim/simulation.hpp>

#include <caf/resumable.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace planaria::sim {

class scheduler;

/// The environment of a simulation: one queue of who can act, one of what is due later.
///
/// One thread has the baton at any time: the driver's, which made the world, or that of the fiber that it lets run; so
/// nothing here needs a lock.
class world final : public detail::environment {
 public:
  explicit world(const simulation_options& options);
  ~world() override;

  void configure(caf::actor_system_config& config) override;
  [[nodiscard]] detail::instant now() const noexcept override { return now_; }
  [[nodiscard]] std::chrono::system_clock::time_point wall() const noexcept override;
  void at(detail::instant when, caf::actor_addr whom) override;
  void launch(std::function<void()> body) override;
  bool wait(std::unique_lock<std::mutex>& lock, std::condition_variable& change, detail::instant until,
            const std::function<bool()>& ready) override;
  bool poll(detail::instant until, const std::function<bool()>& ready) override;
  void close() override {}
  [[nodiscard]] bool carries() const noexcept override { return true; }
  void carry(const caf::actor& to, caf::message what) override;
  void named(caf::actor_id whom, const std::string& path, std::uint64_t incarnation) override;

  /// Of the schedulers of its nodes' actor systems.
  void add(scheduler& one);
  void remove(scheduler& one);
  void enqueue(caf::resumable* job);
  /// Runs everything that is left of a system that ends; nothing of it is late any more.
  void drain(const caf::actor_system& whose);

  /// Lets one act; false when nobody can by `limit`, which it is then.
  bool turn(detail::instant limit);

  void fail(const std::string& why);
  /// Throws the violation, once, if there is one and this is the driver.
  void verify();
  void check(std::function<void()> check) { checks_.push_back(std::move(check)); }
  void set_weather(const weather& next) { weather_ = next; }
  void note(const std::string& line);
  [[nodiscard]] const std::vector<std::string>& trace() const noexcept { return trace_; }
  [[nodiscard]] std::uint64_t turns() const noexcept { return turns_; }
  [[nodiscard]] bool traced() const noexcept { return options_.traced; }

  static constexpr detail::instant beginning{std::chrono::hours{1}};

 private:
  // What happens later: a turn that comes late, or something to be done: an alarm, the delivery of a message.
  struct due {
    caf::resumable* job = nullptr;
    std::function<void()> action;
  };

  void do_later(detail::instant when, std::function<void()> action) {
    later_.emplace(when, due{nullptr, std::move(action)});
  }
  [[nodiscard]] std::optional<detail::instant> next_time();
  void pass_to(detail::instant when);
  void ring();
  bool act(detail::instant limit);
  void run(caf::resumable* job);
  void run(const std::shared_ptr<fiber>& one);
  void check_all();
  [[nodiscard]] std::vector<std::shared_ptr<fiber>> ready_fibers();
  [[nodiscard]] std::chrono::nanoseconds up_to(std::chrono::microseconds most);
  [[nodiscard]] std::string name_of(caf::resumable* job) const;

  const simulation_options options_;
  weather weather_;
  dice dice_;
  detail::instant now_ = beginning;
  std::vector<caf::resumable*> ready_;
  std::multimap<detail::instant, due> later_;
  std::vector<scheduler*> schedulers_;
  std::vector<std::shared_ptr<fiber>> fibers_;
  std::shared_ptr<baton> driver_ = make_baton();
  std::vector<std::function<void()>> checks_;
  std::unordered_map<caf::actor_id, std::string> names_;  // traced alone
  std::vector<std::string> trace_;
  std::uint64_t turns_ = 0;
  std::uint64_t fibers_made_ = 0;
  std::string failure_;
  bool raised_ = false;  // the failure has been thrown
  std::uint64_t last_turn_;
};

}  // namespace planaria::sim
