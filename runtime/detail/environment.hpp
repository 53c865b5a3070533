#pragma once

#include <caf/actor.hpp>
#include <caf/actor_addr.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/atom.hpp>
#include <caf/message.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

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
  virtual void configure(caf::actor_system_config& config) = 0;
  [[nodiscard]] virtual instant now() const noexcept = 0;
  [[nodiscard]] virtual std::chrono::system_clock::time_point wall() const noexcept = 0;
  /// Sends tick_atom to the actor at that time, if it lives then; keeps it alive no more than its address does.
  virtual void at(instant when, caf::actor_addr whom) = 0;
  /// Runs a body that may wait on a thread of its own. The body lets no exception out.
  virtual void launch(std::function<void()> body) = 0;
  /// Waits, with `lock` held, until ready(); false when `until` came first; instant::max() never comes. For threads
  /// that are no actors. ready() reads what `lock` guards, and nothing else.
  virtual bool wait(std::unique_lock<std::mutex>& lock, std::condition_variable& change, instant until,
                    const std::function<bool()>& ready) = 0;
  /// Waits likewise for what tells nobody that it has changed.
  virtual bool poll(instant until, const std::function<bool()>& ready) = 0;
  /// Drops what at() has left; ends what serves it.
  virtual void close() = 0;

  /// Whether what is sent through a ref goes through carry(), which may delay it, drop it or send it twice.
  [[nodiscard]] virtual bool carries() const noexcept { return false; }
  virtual void carry(const caf::actor& /*to*/, caf::message /*what*/) {}
  /// Tells which child an actor is.
  virtual void named(caf::actor_id /*whom*/, const std::string& /*path*/, std::uint64_t /*incarnation*/) {}
};

}  // namespace planaria::detail
