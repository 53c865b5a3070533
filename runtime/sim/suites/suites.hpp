#pragma once

#include <planaria/runtime/sim/simulation.hpp>

namespace planaria::sim {

/// A random supervision tree whose workers misbehave, drivers that kill, stop, start and ask, and the properties that
/// tree_board names.
void run_tree(simulation& world);

/// Clients that count through refs over a network that loses, doubles and delays, to servers that die: every number is
/// applied exactly once, and in order.
void run_delivery(simulation& world);

}  // namespace planaria::sim
