#pragma once

#include <planaria/runtime/child_spec.hpp>
#include <planaria/runtime/compute_pool.hpp>
#include <planaria/runtime/tree_view.hpp>
#include <planaria/storage/store.hpp>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace planaria {

namespace detail {
class environment;
}  // namespace detail

class event_log;
class ref;
class registry;

struct node_options {
  /// The store's options; an empty directory makes a node without a store, whose state ends with it.
  store_options storage = {};
  compute_options compute = {};
  /// The root supervisor gives up more slowly than OTP's default, since its end is the node's.
  supervisor_options root = {.intensity = 10, .period = std::chrono::seconds{10}};
  /// CAF's scheduler threads. More than 2 helps only with many busy actors.
  std::size_t control_threads = 2;
  /// The longest that the destructor waits for children before it detaches what is stuck and says so.
  std::chrono::milliseconds stop_deadline{30'000};
  /// What goes to stderr by spdlog: "trace", "debug", "info" (every supervision event), "warn", "error" or "off".
  std::string log_level = "warn";
};

/// The one object an application creates: CAF's actor system, the store, the root supervisor, the compute pool, the
/// registry and the event log. RAII: the destructor stops the children in reverse start order and flushes.
///
/// Several nodes can live in one process. Every member may be called from any thread that is not an actor of the node
/// (they block with a deadline); actors use their child_context.
class node {
 public:
  explicit node(node_options options = {});
  /// Used by simulations alone: a node on their threads and their time.
  node(node_options options, std::shared_ptr<detail::environment> world);
  ~node();
  node(const node&) = delete;
  node& operator=(const node&) = delete;

  /// Adds a child to the supervisor at `under` (the root when empty) and returns once it is started, or has said that
  /// it does not want to run (ignore()). The spec and the whole tree below it are checked before anything starts.
  /// Returns its path. Errors: errc::already_exists, errc::not_found (no such supervisor), errc::invalid_input, or what
  /// its init failed with; then its spec is forgotten.
  std::string start(child_spec spec, std::string_view under = {});
  /// Adds a child to the dynamic supervisor at `under` likewise: the one that its function makes of `argument`. Without
  /// an id it gets one that is never used again. Returns its path. Errors: as start(); errc::timeout after 40 s, and
  /// then it goes on starting.
  std::string start_dynamic(std::string_view under, std::string argument, std::string id = {});
  /// Stops the child, and what is below it, in reverse start order. Its spec stays, so that restart() can start it
  /// again; a temporary child's and a dynamic one's is forgotten.
  void stop(std::string_view path);
  /// Starts a stopped child again.
  void restart(std::string_view path);
  /// Forgets a stopped child.
  void remove(std::string_view path);
  /// Kills the child as a fault drill does: no warning, no clean-up; its supervisor finds out by itself. Works on
  /// supervisors too. Returns false when nothing lives at the path. Any thread, actors included; does not block.
  bool kill(std::string_view path, std::string_view why = "killed");
  /// Waits until the child at `path` has ended for good; errc::timeout after the deadline. Returns its last reason's
  /// text, empty after a normal end.
  std::string wait(std::string_view path, std::chrono::milliseconds deadline);
  /// The children of the supervisor at the path (the root when empty), in start order; not what is below them.
  [[nodiscard]] std::vector<child_view> children(std::string_view path = {}) const;
  [[nodiscard]] child_count count(std::string_view path = {}) const;
  /// The spec that the child at the path was added with. Errors: errc::not_found.
  [[nodiscard]] child_spec spec(std::string_view path) const;
  /// The tree as it is now; to_text() and to_json() show it.
  [[nodiscard]] child_view tree() const;
  /// The tree as last persisted in a store, also beside a live node.
  [[nodiscard]] static child_view tree(const planaria::store& where);

  /// A name for the child at the path, whether it lives yet or not.
  [[nodiscard]] ref find(std::string_view path);
  [[nodiscard]] planaria::registry& registry() noexcept;
  [[nodiscard]] compute_pool& compute() noexcept;
  [[nodiscard]] event_log& events() noexcept;
  [[nodiscard]] planaria::store* store() noexcept;
  [[nodiscard]] caf::actor_system& system() noexcept;

 private:
  struct impl;
  std::shared_ptr<impl> impl_;
};

}  // namespace planaria
