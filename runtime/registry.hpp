#pragma once

#include <caf/actor.hpp>
#include <caf/actor_cast.hpp>
#include <caf/error.hpp>
#include <caf/message.hpp>
#include <caf/send.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace planaria::detail {
class environment;
}  // namespace planaria::detail

namespace planaria {

struct registry_slot;

/// A name that outlives incarnations: resolves to the child's current handle at each use, so nobody keeps a corpse.
///
/// A cheap handle, copied freely, any thread. It may be made before the child's first start.
class ref {
 public:
  [[nodiscard]] const std::string& path() const noexcept;
  /// The current incarnation's handle; invalid (operator bool false) while there is none.
  [[nodiscard]] caf::actor current() const;
  /// The same as a handle of the child's own type, such as a caf::typed_actor. The type is not checked.
  template <class Handle>
  [[nodiscard]] Handle as() const {
    return caf::actor_cast<Handle>(current());
  }
  /// The current incarnation's number, 0 while there is none.
  [[nodiscard]] std::uint64_t incarnation() const noexcept;
  /// Waits until there is a live incarnation; errc::timeout after `deadline`. Not for actors: it blocks the thread.
  /// Whoever met a dead one names it, and gets another: for a moment after a death its supervisor does not know of it.
  [[nodiscard]] caf::actor wait(std::chrono::milliseconds deadline, const caf::actor& other_than = {}) const;
  /// Sends to the current incarnation without waiting; returns false, with nothing sent, while there is none.
  template <class... Ts>
  bool send(Ts&&... parts) const {
    auto to = current();
    if (!to) return false;
    if (carried())
      carry(to, caf::make_message(std::forward<Ts>(parts)...));
    else
      caf::anon_send(to, std::forward<Ts>(parts)...);
    return true;
  }

 private:
  friend class registry;
  // In a simulation alone, whose network may lose what is sent.
  [[nodiscard]] bool carried() const noexcept;
  void carry(const caf::actor& to, caf::message what) const;

  explicit ref(std::shared_ptr<registry_slot> slot) : slot_(std::move(slot)) {}
  std::shared_ptr<registry_slot> slot_;
};

/// Maps a child's path to its living incarnation. Owned by the node; any thread. Written by supervisors alone, after a
/// child's init succeeded and at once when it is down.
class registry {
 public:
  explicit registry(std::shared_ptr<detail::environment> world);
  ~registry();
  registry(const registry&) = delete;
  registry& operator=(const registry&) = delete;

  /// A name for the child at the path, whether it lives yet or not.
  [[nodiscard]] ref find(std::string_view path);
  [[nodiscard]] std::vector<std::string> paths() const;

  /// Used by supervisors alone, as all below. Gives out the number of the next life: above `stored` and above all that
  /// were given out before.
  std::uint64_t next_incarnation(const ref& name, std::uint64_t stored = 0);
  /// Does nothing for an incarnation below the highest that was given out: its supervisor has been replaced.
  void bind(const ref& name, const caf::actor& handle, std::uint64_t incarnation);
  void unbind(const ref& name, std::uint64_t incarnation);
  /// The child will not come again: forgets the name once nobody else holds a ref.
  void forget(ref name);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace planaria
