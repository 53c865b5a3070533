#pragma once

#include <planaria/runtime/sim/world.hpp>

#include <caf/detail/simple_actor_clock.hpp>
#include <caf/execution_unit.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

#include <optional>

namespace planaria::sim {

/// CAF's timeouts and delayed messages in the world's time.
class virtual_clock final : public caf::detail::simple_actor_clock {
 public:
  explicit virtual_clock(const world& where) : world_(where) {}
  [[nodiscard]] time_point now() const noexcept override { return world_.now(); }
  [[nodiscard]] std::optional<time_point> next() const {
    return schedule().empty() ? std::nullopt : std::optional(schedule().begin()->first);
  }
  void ring() { static_cast<void>(trigger_expired_timeouts()); }

 private:
  const world& world_;
};

/// The scheduler of one actor system in a world, which decides who acts. (CAF's own test_coordinator takes jobs in
/// order, and its clock is one system's alone.)
class scheduler final : public caf::scheduler::abstract_coordinator {
 public:
  scheduler(caf::actor_system& system, world& where);

  void enqueue(caf::resumable* job) override { world_.enqueue(job); }
  virtual_clock& clock() noexcept override { return clock_; }
  [[nodiscard]] bool detaches_utility_actors() const override { return false; }

 protected:
  void start() override;
  void stop() override;

 private:
  world& world_;
  virtual_clock clock_;
};

}  // namespace planaria::sim
