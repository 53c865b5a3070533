#pragma once

#include <caf/actor_addr.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/atom.hpp>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace planaria::detail {

using instant = std::chrono::steady_clock::time_point;
using tick_atom = caf::atom_constant<caf::atom("tick")>;

/// What a node runs on: threads and real time, or a simulation. Shared by the node's parts; any thread.
class environment {
 public:
  environment() = default;
  virtual ~environment() = default;
  environment(const environment&) = delete;
  environment& operator=(const environment&) = delete;

  /// Chooses CAF's scheduler.
  virtual void configure(caf::actor_system_config& config) const = 0;
  [[nodiscard]] virtual instant now() const noexcept = 0;
  [[nodiscard]] virtual std::chrono::system_clock::time_point wall() const noexcept = 0;
  /// Sends tick_atom to the actor at that time, if it lives then; keeps it alive no more than its address does.
  virtual void at(instant when, caf::actor_addr whom) = 0;
  /// Waits, with `lock` held, until ready(); false when `until` came first. For threads that are no actors.
  virtual bool wait(std::unique_lock<std::mutex>& lock, std::condition_variable& change, instant until,
                    const std::function<bool()>& ready) = 0;
  /// Waits likewise for what tells nobody that it has changed.
  virtual bool poll(instant until, const std::function<bool()>& ready) = 0;
  /// Drops what at() has left; ends what serves it.
  virtual void close() = 0;
};

}  // namespace planaria::detail
