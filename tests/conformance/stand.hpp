#pragma once

#include "runtime/refusal.hpp"
#include "runtime/witness.hpp"
#include "temporary_directory.hpp"

#include <planaria/runtime/child_context.hpp>
#include <planaria/runtime/child_spec.hpp>
#include <planaria/runtime/event_log.hpp>
#include <planaria/runtime/node.hpp>
#include <planaria/runtime/registry.hpp>
#include <planaria/runtime/sim/simulation.hpp>

#include <doctest/doctest.h>
#include <caf/all.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace planaria::conformance {

using namespace std::chrono_literals;
using testing::refused;

using crash_atom = caf::atom_constant<caf::atom("crash")>;    ///< throws "boom"
using finish_atom = caf::atom_constant<caf::atom("finish")>;  ///< ends normally
using leave_atom = caf::atom_constant<caf::atom("leave")>;    ///< ends with user_shutdown

/// What a child of a case does when it is asked to shut down.
enum class manners : std::uint8_t {
  leave,   ///< ends at once
  linger,  ///< ends 40 ms later
  crash,   ///< throws
  stay,    ///< does not end
};

/// What a child of a case is like.
struct script {
  std::function<void(const child_context&)> init = {};  ///< may throw
  manners asked = manners::leave;
  std::function<void()> when_asked = {};  ///< is called first
};

/// The lines that children leave behind, which wake those that wait.
class journal;

/// A node for one case: on CAF's threads, or in a world that a seed makes.
class stand {
 public:
  /// Without a seed on threads.
  explicit stand(std::optional<std::uint64_t> seed);
  ~stand();
  stand(const stand&) = delete;
  stand& operator=(const stand&) = delete;

  [[nodiscard]] planaria::node& node() { return *node_; }
  /// Ends the node and makes a new one over the run directory, as the next process would. The first node has none.
  void reboot();

  /// A child that writes "init PATH#LIFE" when it begins and "asked PATH" when it is asked to shut down.
  [[nodiscard]] child_spec worker(std::string id, script what = {}) const;
  [[nodiscard]] child_spec worker(std::string id, restart when, script what = {}) const;
  void note(std::string line);
  [[nodiscard]] std::vector<std::string> notes() const;
  /// Those that begin so, without it.
  [[nodiscard]] std::vector<std::string> notes(std::string_view beginning) const;

  /// Waits until `ready`, with far more patience than it takes.
  [[nodiscard]] bool eventually(const std::function<bool()>& ready);
  /// Runs what blocks beside the case.
  void beside(std::function<void()> body);
  void beside_is_done();
  /// Lets so much time pass.
  void pass(std::chrono::milliseconds time);

  /// Sends to the living incarnation.
  template <class Atom>
  void tell(std::string_view path, Atom what) {
    REQUIRE(node().find(path).send(what));
  }
  /// Which incarnation lives; 0 for none.
  [[nodiscard]] std::uint64_t life(std::string_view path) { return node().find(path).incarnation(); }
  [[nodiscard]] bool lives(std::string_view path, std::uint64_t incarnation) {
    return eventually([&] { return life(path) == incarnation; });
  }
  /// Tells it to crash and waits for its next life.
  void crash(std::string_view path);
  /// Tells it to crash and waits until its supervisor has dealt with its first death.
  void die(std::string_view path);
  /// How its supervisor sees it; nothing when it has no such child.
  [[nodiscard]] std::optional<child_status> status(std::string_view path);
  /// The ids of a supervisor's children, in order.
  [[nodiscard]] std::vector<std::string> ids(std::string_view supervisor);
  /// Waits for the end for good; returns its last words.
  [[nodiscard]] std::string end_of(std::string_view path);
  /// How often this has been recorded of it, and of whom it has been, in order.
  [[nodiscard]] std::size_t count(event_kind kind, std::string_view path) const { return seen_->count(kind, path); }
  [[nodiscard]] std::vector<std::string> paths(event_kind kind) const { return seen_->paths(kind); }
  [[nodiscard]] bool happens(event_kind kind, std::string_view path, std::size_t times = 1) {
    return eventually([&] { return count(kind, path) == times; });
  }

 private:
  void boot();

  const std::shared_ptr<journal> journal_;
  std::unique_ptr<sim::simulation> world_;
  testing::temporary_directory run_dir_;
  bool stored_ = false;
  std::unique_ptr<planaria::node> node_;
  std::optional<testing::witness> seen_;  // of this node's events; ends before it
  std::thread beside_;
};

/// A supervisor that the root does not start again.
[[nodiscard]] inline child_spec once(child_spec spec) {
  spec.restart = restart::temporary;
  return spec;
}

/// Restarts come an hour late: a child that dies stays in its pause.
[[nodiscard]] inline supervisor_options long_pauses() { return {.intensity = 5, .backoff = {.initial = 1h}}; }

/// For dynamic_supervisor(): all children are made of this spec, whatever the argument.
[[nodiscard]] inline auto always(child_spec spec) {
  return [made = std::move(spec)](const std::string&) { return made; };
}

[[nodiscard]] inline child_spec stopped_by(child_spec spec, shutdown how) {
  spec.shutdown = how;
  return spec;
}

[[nodiscard]] inline child_spec significant(child_spec spec) {
  spec.significant = true;
  return spec;
}

/// An init that throws in the lives from `first` to `last`.
[[nodiscard]] inline std::function<void(const child_context&)> failing(std::uint64_t first,
                                                                       std::uint64_t last = ~0ull) {
  return [first, last](const child_context& me) {
    if (me.incarnation() >= first && me.incarnation() <= last) throw std::runtime_error("no luck");
  };
}

/// An init that keeps the context of the first life, for what its zombie could do.
[[nodiscard]] inline std::function<void(const child_context&)> keep_first(
    const std::shared_ptr<std::optional<child_context>>& to) {
  return [to](const child_context& me) {
    if (me.incarnation() == 1) *to = me;
  };
}

using texts = std::vector<std::string>;

}  // namespace planaria::conformance

/// One rule, with its id in docs/supervision.md: held on threads, and in twenty simulated worlds.
#define PLANARIA_CONFORMANCE(id, sentence) PLANARIA_CONFORMANCE_NAMED(DOCTEST_ANONYMOUS(rule_), id, sentence)
#define PLANARIA_CONFORMANCE_NAMED(name, id, sentence) \
  static void name(::planaria::conformance::stand& s); \
  TEST_CASE(id " [threads] " sentence) {               \
    ::planaria::conformance::stand s(std::nullopt);    \
    name(s);                                           \
  }                                                    \
  TEST_CASE(id " [simulated] " sentence) {             \
    for (std::uint64_t seed = 1; seed <= 20; ++seed) { \
      CAPTURE(seed);                                   \
      ::planaria::conformance::stand s(seed);          \
      name(s);                                         \
    }                                                  \
  }                                                    \
  static void name(::planaria::conformance::stand& s)
