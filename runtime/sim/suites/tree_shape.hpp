#pragma once

#include <planaria/runtime/child_spec.hpp>
#include <planaria/runtime/sim/dice.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace planaria::sim {

/// A supervision tree drawn by chance: what the suite starts, and what the board holds the run against.
struct tree_shape {
  /// What is drawn of a worker; how it behaves is drawn anew for each of its lives.
  struct worker {
    std::string path;
    planaria::restart restart = planaria::restart::permanent;
    planaria::shutdown shutdown = {};
    bool significant = false;
    bool computes = false;  ///< its work is a body on a compute slot
    std::chrono::milliseconds progress_deadline{0};
  };
  struct supervisor {
    std::string path;
    supervisor_options options;
    planaria::restart restart = planaria::restart::permanent;
    bool significant = false;
    bool dynamic = false;
    dynamic_children keep = dynamic_children::forgotten;
    std::vector<std::string> children;  ///< their ids, in start order; none when they are dynamic
  };

  std::map<std::string, supervisor> supervisors;  ///< by path
  std::map<std::string, worker> workers;          ///< by path; dynamic ones are not in it
};

/// Draws a tree below a supervisor called "top".
[[nodiscard]] tree_shape draw_tree(dice& chance);
/// Draws a worker that does not stand in the shape: a dynamic child, or one that is added later.
[[nodiscard]] tree_shape::worker draw_worker(dice& chance, std::string path);

}  // namespace planaria::sim
