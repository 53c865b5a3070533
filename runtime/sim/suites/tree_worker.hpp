#pragma once

#include <planaria/runtime/child_spec.hpp>
#include <planaria/runtime/sim/dice.hpp>
#include <planaria/runtime/sim/suites/tree_board.hpp>
#include <planaria/runtime/sim/suites/tree_shape.hpp>

#include <caf/atom.hpp>

#include <memory>
#include <set>
#include <string>

namespace planaria::sim {

/// What workers understand: to crash, to finish, and to fall silent until they are declared dead.
using crash_atom = caf::atom_constant<caf::atom("crash")>;
using finish_atom = caf::atom_constant<caf::atom("finish")>;
using silence_atom = caf::atom_constant<caf::atom("silence")>;

/// What every worker of a run shares.
struct tree_mood {
  std::shared_ptr<tree_board> board;
  dice chance;
  bool calm = false;                  ///< from then on they start, work and stop as they should
  std::set<std::string> bodies = {};  ///< paths of compute children, which understand no messages
};

/// The worker as a child: it tells the board what it does, and misbehaves by chance until all is calm. It fails in its
/// start function or its init, ignores its start, is slow to start or never does, crashes, finishes, falls silent, is
/// slow to stop, does not stop, or goes on writing when it has been replaced.
[[nodiscard]] child_spec make_worker(const tree_shape::worker& what, const std::shared_ptr<tree_mood>& mood);

/// The whole tree as a child: a supervisor of supervisors and workers.
[[nodiscard]] child_spec make_tree(const tree_shape& shape, const std::string& path,
                                   const std::shared_ptr<tree_mood>& mood);

}  // namespace planaria::sim
