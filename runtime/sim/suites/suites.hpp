#pragma once

#include <planaria/runtime/sim/runner.hpp>

#include <vector>

namespace planaria::sim {

/// A random supervision tree whose workers misbehave, drivers that kill, stop, start and ask, and the properties that
/// tree_board names.
void run_tree(simulation& world);

/// The suites of the runtime.
[[nodiscard]] const std::vector<suite>& runtime_suites();

}  // namespace planaria::sim
