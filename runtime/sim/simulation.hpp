#pragma once

#include <planaria/runtime/sim/dice.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace planaria::detail {
class environment;
}  // namespace planaria::detail

namespace planaria::sim {

class world;

/// What a simulated world does to those who live in it, each by a draw from the seed.
struct weather {
  /// The share of an actor's turns that come late, by at most `slowest`.
  double slow = 0.05;
  std::chrono::microseconds slowest{20'000};
  /// The share of turns before which the next alarm rings, if it does within `slowest`, though others could act.
  double hurry = 0.02;
  /// Of the messages that are sent through a ref: the shares that are lost, come twice, and come late, so that later
  /// ones overtake them.
  double lost = 0.0;
  double doubled = 0.0;
  double late = 0.0;
  std::chrono::microseconds latest{50'000};
};

struct simulation_options {
  std::uint64_t seed = 1;
  sim::weather weather = {};
  /// A simulation that needs more turns hangs, or as good as.
  std::uint64_t most_turns = 200'000;
  /// Whether every turn is written down.
  bool traced = false;
};

/// A property that did not hold, or a simulation that came to a standstill.
class violation : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A world of one thread with a seed for everything that is left to chance: which actor acts next, what is late, what
/// is lost. Time is virtual: it passes when nobody can act. The same seed gives the same run, turn by turn.
///
/// Nodes that are made in its world run in it: `planaria::node n(options, simulation.environment())`. Their actors, and
/// the bodies of compute children, take their turns while the thread that made the simulation waits: in the node's
/// calls, in ref::wait(), in pass() and in until(). Code that runs in it is that of production, with two rules: it
/// waits through child_context::pause(), messages or a node's calls only (never by sleeping or on a condition variable
/// of its own, since nobody else acts meanwhile), and takes what is random from draws or seeds of its own. Owned by the
/// thread that made it, and used by it alone; its nodes end before it. Several can live in one process, on threads of
/// their own. Method: deterministic simulation as FoundationDB's (Zhou et al., SIGMOD 2021, section 4).
class simulation {
 public:
  explicit simulation(simulation_options options = {});
  ~simulation();
  simulation(const simulation&) = delete;
  simulation& operator=(const simulation&) = delete;

  /// Where nodes run.
  [[nodiscard]] std::shared_ptr<detail::environment> environment() const;

  /// Lets time pass; of a launched body too, as until(). Errors: violation, as all that lets others act.
  void pass(std::chrono::milliseconds time);
  /// Lets the others act until `ready`; false when the time is over before.
  [[nodiscard]] bool until(std::chrono::milliseconds time, const std::function<bool()>& ready);
  /// Lets one of the others act. False when nobody can before more than `longest` has passed.
  bool turn(std::chrono::milliseconds longest);

  /// Runs a body beside the driver, which takes turns with the actors and may wait in a node's calls as the driver
  /// does. What it throws is a violation. It ends before what it uses does: see idle().
  void launch(std::function<void()> body);
  /// Whether every body that was launched has ended.
  [[nodiscard]] bool idle() const noexcept;

  /// Calls `check` after every turn; it throws violation, or calls fail(), when a property does not hold.
  void check(std::function<void()> check);
  /// Says that a property does not hold, from within an actor too. The first one counts: the trace ends with it, and
  /// the driver's next call of pass(), until(), turn() or verify() throws it, once; what follows is clearing up.
  void fail(const std::string& why);
  /// Throws what has failed, if anything has: for what goes wrong in a node's calls or its end, which throw no
  /// violation.
  void verify();

  /// The choices that are the driver's, from the same seed but apart from the world's own.
  [[nodiscard]] sim::dice& dice() noexcept;
  [[nodiscard]] std::uint64_t seed() const noexcept;
  /// Changes the weather from now on.
  void set_weather(const sim::weather& next);
  /// Adds a line to the trace.
  void note(const std::string& line);
  [[nodiscard]] const std::vector<std::string>& trace() const noexcept;
  [[nodiscard]] std::uint64_t turns() const noexcept;
  /// Virtual time since the simulation began.
  [[nodiscard]] std::chrono::nanoseconds time() const noexcept;

 private:
  const std::shared_ptr<sim::world> world_;
  sim::dice dice_;
  const std::uint64_t seed_;
  const std::shared_ptr<std::size_t> launched_ = std::make_shared<std::size_t>(0);  // and not yet ended
};

}  // namespace planaria::sim
