#pragma once

#include <planaria/runtime/compute_pool.hpp>
#include <planaria/runtime/detail/control_map.hpp>
#include <planaria/runtime/detail/environment.hpp>
#include <planaria/runtime/event_log.hpp>
#include <planaria/runtime/registry.hpp>
#include <planaria/storage/store.hpp>

#include <caf/actor_addr.hpp>
#include <caf/atom.hpp>
#include <caf/error.hpp>
#include <caf/fwd.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace planaria::detail {

/// What a node's children use; outlives the node for as long as a zombie still holds a record of its own.
struct node_parts {
  node_parts(std::shared_ptr<environment> on, std::unique_ptr<planaria::store> kept,
             const compute_options& compute_settings, const std::string& log_level)
      : world(std::move(on)),
        store(std::move(kept)),
        control(store.get()),
        registry(world),
        events(store.get(), log_level, event_log::default_capacity,
               [w = world] {
                 return event_log::time{w->now(), w->wall()};
               }),
        compute(compute_settings, world) {}

  const std::shared_ptr<environment> world;
  std::unique_ptr<planaria::store> store;  ///< nullptr in a node without one
  control_map control;
  planaria::registry registry;
  event_log events;
  compute_pool compute;
};

struct planned_child;

/// Where the control family keeps why a child's input is in quarantine.
[[nodiscard]] std::string quarantine_key(std::string_view path, std::string_view input);

/// A child's init has succeeded; with its actor's id.
using ready_atom = caf::atom_constant<caf::atom("ready")>;

}  // namespace planaria::detail

namespace planaria {

class child_context;

/// One incarnation of a child, shared by its supervisor, its context and whatever works for it.
///
///   living --fence()--> fenced        once, for good
struct child_record {
  using clock = std::chrono::steady_clock;

  /// `above` is its supervisor's record; nullptr for the root.
  child_record(ref where, std::uint64_t life, std::shared_ptr<detail::node_parts> node,
               std::shared_ptr<const child_record> above)
      : name(std::move(where)), incarnation(life), parts(std::move(node)), supervisor_(std::move(above)) {
    progress();
  }

  const ref name;
  const std::string& path = name.path();
  const std::uint64_t incarnation;
  const std::shared_ptr<detail::node_parts> parts;

  /// Which life of its supervisor it belongs to; 0 for the root.
  [[nodiscard]] std::uint64_t supervisor_incarnation() const noexcept {
    return supervisor_ == nullptr ? 0 : supervisor_->incarnation;
  }
  /// Whether it, or a supervisor above it, has been declared dead: what is below a dead supervisor is replaced with it.
  [[nodiscard]] bool fenced() const noexcept {
    for (const auto* r = this; r != nullptr; r = r->supervisor_.get())
      if (r->fenced_.load(std::memory_order_acquire)) return true;
    return false;
  }
  /// Declares the incarnation dead and calls what on_fenced() left, once.
  void fence();
  /// Calls `action` when the incarnation is fenced; at once when it is already.
  void on_fenced(std::function<void()> action);

  void progress() noexcept {
    last_progress_.store(parts->world->now().time_since_epoch().count(), std::memory_order_relaxed);
  }
  [[nodiscard]] clock::time_point last_progress() const noexcept {
    return clock::time_point(clock::duration(last_progress_.load(std::memory_order_relaxed)));
  }

  /// Waits for so long; false when it is fenced before, or by then. Not for actors.
  bool pause(std::chrono::nanoseconds time);

  /// Ends the actor with the reason, as soon as there is one.
  void end(caf::error reason);
  void bind(caf::actor_addr address);
  /// Tells whom `listener` names that the actor with this id, which is the child's, has started.
  void announce(caf::actor_id whose) const;

  /// What it is working on; empty: nothing, or nothing that it named.
  void working_on(std::string input);
  [[nodiscard]] std::string input() const;

  /// Holds the fence off, its own and those above, while it lives, so that what is written is written by the living.
  /// Check fenced() after locking.
  class fence_hold {
   public:
    explicit fence_hold(const child_record& from) {
      // From below to above, always: the order of these locks.
      for (const auto* r = &from; r != nullptr; r = r->supervisor_.get()) held_.emplace_back(r->fence_mutex_);
    }

   private:
    std::vector<std::unique_lock<std::mutex>> held_;
  };
  [[nodiscard]] fence_hold hold_fence() const { return fence_hold(*this); }

  /// It tells itself when its start is over, by announce(). Set before the actor is spawned.
  bool announces_ready = false;
  /// Of a supervisor: its first children, when whoever starts it has checked them; taken by its init.
  std::shared_ptr<const std::vector<detail::planned_child>> planned;
  caf::actor_addr listener;  ///< set by its supervisor before the start: itself
  /// Set by the child's init: called once, by its supervisor, when the start has succeeded. Holds no context: it would
  /// hold itself.
  std::function<void(const child_context&)> on_started;
  std::function<void(const std::string&)> on_forgotten;  ///< of a supervisor: it has forgotten the spec of this id
  std::atomic<bool> hung{false};                         ///< fenced because it missed its progress deadline

 private:
  const std::shared_ptr<const child_record> supervisor_;
  std::atomic<bool> fenced_{false};
  std::atomic<clock::rep> last_progress_{0};
  mutable std::mutex fence_mutex_;
  mutable std::mutex mutex_;
  std::condition_variable fencing_;  // of pause()
  std::function<void()> on_fenced_;  // guarded by mutex_, as all below
  caf::actor_addr address_;
  bool bound_ = false;
  bool ending_ = false;
  caf::error end_reason_;
  std::string input_;
};

}  // namespace planaria
