#pragma once

#include <planaria/runtime/child_spec.hpp>
#include <planaria/storage/error.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace planaria::detail {

/// What supervisor() and dynamic_supervisor() were given; shared by a supervisor's incarnations, and never changed.
struct supervisor_plan {
  supervisor_options options;
  /// The first children; called once a start.
  std::function<std::vector<child_spec>()> children;
  /// Of a dynamic supervisor: the spec of the child for this argument.
  std::function<child_spec(const std::string& argument)> dynamic;
  dynamic_children keep = dynamic_children::forgotten;
};

/// A spec that has been checked, and, of a supervisor, all those below it: what one start needs.
struct planned_child {
  std::shared_ptr<const child_spec> spec;
  std::shared_ptr<const std::vector<planned_child>> below;  ///< nullptr: none known
  std::optional<error> failed;                              ///< what its function of first children threw
};

/// Checks a spec, and the whole tree below it, before anything of it is started; `above` are the options of the
/// supervisor that is to have it. An exception of a user's function is kept for that supervisor's start.
/// Errors: errc::invalid_input, errc::already_exists; the text names the child by its path below the spec.
[[nodiscard]] planned_child plan_child(std::shared_ptr<const child_spec> spec, const supervisor_options& above);

/// The first children that a supervisor's plan names, checked likewise. Errors: also what the plan's function throws.
[[nodiscard]] std::vector<planned_child> plan_children(const supervisor_plan& plan);

/// Refuses limits and pauses that cannot be kept; `whose` is the supervisor's id.
void check_options(const supervisor_options& options, const std::string& whose);

}  // namespace planaria::detail
