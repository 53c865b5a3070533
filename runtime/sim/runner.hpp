#pragma once

#include <planaria/runtime/sim/simulation.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace planaria::sim {

/// Something to be simulated many times over: every seed is another run, which throws, or fails its simulation, when a
/// property does not hold.
struct suite {
  std::string name;
  std::string about;  ///< one line: what it checks
  std::function<void(simulation&)> run;
};

/// One run of a suite.
struct run_report {
  std::uint64_t seed = 0;
  std::uint64_t turns = 0;
  std::optional<std::string> failure;  ///< what did not hold
  std::vector<std::string> trace;      ///< turn by turn, when it is traced
};

/// Which seeds to run.
struct seed_range {
  std::uint64_t first = 1;
  std::uint64_t last = 1;  ///< included
  /// Seeds run side by side, each by one thread; 0 for as many as there are cores.
  std::size_t threads = 0;
  /// Ends early once so many have failed.
  std::size_t most_failures = 10;
};

/// What came of many runs.
struct range_report {
  std::uint64_t runs = 0;
  std::uint64_t turns = 0;
  std::vector<run_report> failures;  ///< by seed
};

/// Runs one seed. The same suite and seed give the same turns, and the same trace.
[[nodiscard]] run_report run_seed(const suite& what, std::uint64_t seed, bool traced = false);

/// Runs every seed of the range. `told` hears of every run that has ended, one at a time, on the runs' threads.
/// Errors: invalid_input for a range that ends before it begins.
[[nodiscard]] range_report run_seeds(const suite& what, const seed_range& range,
                                     const std::function<void(const run_report&)>& told = {});

}  // namespace planaria::sim
