#pragma once

#include <planaria/runtime/child_context.hpp>

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/behavior.hpp>
#include <caf/event_based_actor.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace planaria {

/// When a supervisor starts a dead child again.
enum class restart : std::uint8_t {
  permanent,  ///< always
  transient,  ///< only after an abnormal end: anything but normal, shutdown or an orderly stop
  temporary,  ///< never
};

enum class child_type : std::uint8_t { worker, supervisor };

/// How a supervisor stops a child: at once, by request with a deadline and then at once, or by request without one.
struct shutdown {
  /// brutal: killed at once; timeout: asked, killed after `after`; infinite: asked, waited for.
  enum class kind : std::uint8_t { brutal, timeout, infinite };
  kind how = kind::timeout;
  std::chrono::milliseconds after{5000};

  /// The three ways by name.
  [[nodiscard]] static shutdown brutal() { return {kind::brutal, {}}; }
  [[nodiscard]] static shutdown timeout(std::chrono::milliseconds after) { return {kind::timeout, after}; }
  [[nodiscard]] static shutdown infinite() { return {kind::infinite, {}}; }
};

/// Makes one incarnation: called on the supervisor's thread for each start, so it only spawns. What takes time, such as
/// recovering state, belongs into the actor's own init, which runs on the actor. An exception fails the start.
using start_function = std::function<caf::actor(caf::actor_system&, child_context)>;

/// What a supervisor knows of a child; kept for the child's life and for each of its incarnations.
struct child_spec {
  /// Unique among its siblings; one segment of the child's path. Letters, digits, '-', '_' and '.'.
  std::string id;
  start_function start;
  planaria::restart restart = planaria::restart::permanent;
  planaria::shutdown shutdown = {};
  child_type type = child_type::worker;
  /// Its end for good may end the supervisor (auto_shutdown): a transient child's orderly end, a temporary one's any
  /// end. Refused for a permanent child.
  bool significant = false;
  /// The longest silence between two child_context::progress() calls before the child counts as hung and dead. 0: none.
  std::chrono::milliseconds progress_deadline{0};
  /// The longest that init may take.
  std::chrono::milliseconds start_deadline{30'000};
};

/// A child from a function: the event-based actor's init, which may recover state and returns the behavior.
/// Exceptions from it and from its handlers become the down reason with their text (errc::user_error).
[[nodiscard]] child_spec child(std::string id,
                               std::function<caf::behavior(caf::event_based_actor*, child_context)> init);

enum class strategy : std::uint8_t {
  one_for_one,         ///< only the dead child is restarted
  one_for_all,         ///< all are stopped in reverse start order, then all started in order
  rest_for_one,        ///< the dead one and those started after it
  simple_one_for_one,  ///< dynamic children of one spec, restarted as one_for_one
};

enum class auto_shutdown : std::uint8_t { never, any_significant, all_significant };

/// The pause before a restart attempt: none for the first in a period, then growing.
struct backoff {
  std::chrono::milliseconds initial{0};  ///< before the first restart; 0: at once
  std::chrono::milliseconds step{50};    ///< before the second attempt in a row
  double factor = 2.0;                   ///< growth from attempt to attempt
  std::chrono::milliseconds maximum{5000};
  double jitter = 0.2;                          ///< the share by which a pause is drawn shorter or longer
  std::chrono::milliseconds reset_after{1000};  ///< a child that lives this long starts again from `initial`
};

struct supervisor_options {
  planaria::strategy strategy = planaria::strategy::one_for_one;
  /// More than `intensity` restarts within `period` make the supervisor give up: it stops its children and itself, and
  /// its own parent decides (escalation). Defaults are OTP's.
  std::size_t intensity = 1;
  std::chrono::milliseconds period{5000};
  planaria::backoff backoff = {};
  planaria::auto_shutdown auto_shutdown = planaria::auto_shutdown::never;
};

/// A child that is itself a supervisor, with its first children in start order. shutdown is infinite, as OTP advises.
/// `children` is called at each start of the supervisor, so that a new incarnation can begin with fresh shared parts.
/// Errors: errc::invalid_input for limits and pauses that cannot be kept.
[[nodiscard]] child_spec supervisor(std::string id, supervisor_options options, std::vector<child_spec> children);
[[nodiscard]] child_spec supervisor(std::string id, supervisor_options options,
                                    std::function<std::vector<child_spec>()> children);

}  // namespace planaria
