#pragma once

#include <caf/actor.hpp>
#include <caf/error.hpp>
#include <caf/send.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
    caf::anon_send(to, std::forward<Ts>(parts)...);
    return true;
  }

 private:
  friend class registry;
  explicit ref(std::shared_ptr<registry_slot> slot) : slot_(std::move(slot)) {}
  std::shared_ptr<registry_slot> slot_;
};

/// Maps a child's path to its living incarnation. Owned by the node; any thread. Written by supervisors alone, after a
/// child's init succeeded and at once when it is down.
class registry {
 public:
  registry();
  ~registry();
  registry(const registry&) = delete;
  registry& operator=(const registry&) = delete;

  /// A name for the child at the path, whether it lives yet or not.
  [[nodiscard]] ref find(std::string_view path);
  [[nodiscard]] std::vector<std::string> paths() const;

  /// Used by supervisors alone.
  void bind(const std::string& path, const caf::actor& handle, std::uint64_t incarnation);
  void unbind(const std::string& path, std::uint64_t incarnation);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace planaria
