#pragma once

#include <planaria/runtime/child_context.hpp>

#include <caf/actor.hpp>
#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/behavior.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scheduled_actor.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace planaria::detail {

struct supervisor_plan;

/// Prepares an actor for its first turn: its exceptions become reasons with their text.
void begin_child(caf::scheduled_actor* self);
/// Tells the supervisor that a child that promised to tell has started.
void end_init(const child_context& me, caf::actor_id self);
/// Promises that the child tells when it has started, so that its supervisor need not ask.
void promise_to_tell(const child_context& me);

}  // namespace planaria::detail

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
/// recovering state, belongs into the actor's own init, which runs on the actor. An exception fails the start, but for
/// ignore(). May return any CAF actor, class-based or not, also a typed one as `caf::actor_cast<caf::actor>(handle)`.
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
  /// After so many failures in a row on the same child_context::working_on() input, the input is put in quarantine.
  /// 0: never. Refused above the supervisor's intensity, which would end it first.
  std::uint32_t quarantine_after = 0;
  /// Set by supervisor() and dynamic_supervisor(): what is below, so that the whole tree is checked before it starts.
  std::shared_ptr<const detail::supervisor_plan> plan;
};

/// A child from a function: the event-based actor's init, which may recover state and returns the behavior.
/// Exceptions from it and from its handlers become the down reason with their text (errc::user_error).
[[nodiscard]] child_spec child(std::string id,
                               std::function<caf::behavior(caf::event_based_actor*, child_context)> init);

/// A child with a statically typed interface, from a function likewise: `Handle` is its caf::typed_actor<...>, which
/// ref::as<Handle>() gives back.
template <class Handle>
requires(caf::is_typed_actor<Handle>::value) [[nodiscard]] child_spec
    child(std::string id, std::function<typename Handle::behavior_type(typename Handle::pointer, child_context)> init) {
  child_spec spec;
  spec.id = std::move(id);
  spec.start = [init = std::move(init)](caf::actor_system& system, child_context context) {
    detail::promise_to_tell(context);
    const auto start = [init](typename Handle::pointer self, const child_context& me) ->
        typename Handle::behavior_type {
          detail::begin_child(self);
          auto behavior = init(self, me);
          detail::end_init(me, self->id());
          return behavior;
        };
    return caf::actor_cast<caf::actor>(system.spawn(start, std::move(context)));
  };
  return spec;
}

/// A child from a class: an actor whose constructor takes (caf::actor_config&, child_context, args...). The arguments
/// are copied for each incarnation. Dynamically or statically typed. Its start is over when make_behavior() returned.
template <class Actor, class... Args>
requires(!caf::is_typed_actor<Actor>::value && std::is_base_of_v<caf::scheduled_actor, Actor>) [[nodiscard]] child_spec
    child(std::string id, Args... args) {
  child_spec spec;
  spec.id = std::move(id);
  spec.start = [args...](caf::actor_system& system, child_context context) {
    struct supervised final : Actor {
      supervised(caf::actor_config& config, child_context me, Args... rest)
          : Actor(config, std::move(me), std::move(rest)...) {
        detail::begin_child(this);
      }
    };
    return caf::actor_cast<caf::actor>(system.spawn<supervised>(std::move(context), args...));
  };
  return spec;
}

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
  /// its own parent decides (escalation). 0: at the first. Defaults are OTP's.
  std::size_t intensity = 1;
  std::chrono::milliseconds period{5000};
  planaria::backoff backoff = {};
  planaria::auto_shutdown auto_shutdown = planaria::auto_shutdown::never;
};

/// A child that is itself a supervisor, with its first children in start order. shutdown is infinite, as OTP advises.
/// `children` is called at each start of the supervisor, so that a new incarnation can begin with fresh shared parts:
/// before anything of the outermost tree that starts has started, since the whole of it is checked first.
/// Errors: errc::invalid_input for limits and pauses that cannot be kept, and for simple_one_for_one.
[[nodiscard]] child_spec supervisor(std::string id, supervisor_options options, std::vector<child_spec> children);
[[nodiscard]] child_spec supervisor(std::string id, supervisor_options options,
                                    std::function<std::vector<child_spec>()> children);

/// Whether dynamic children come back when their supervisor does.
enum class dynamic_children : std::uint8_t {
  forgotten,  ///< as OTP's: a new incarnation of the supervisor begins without any
  kept,       ///< they are started again, in the order in which they were added; in a node with a store, also by the
              ///< next process
};

/// A supervisor whose children are all made by one function, and are added by node::start_dynamic(): OTP's
/// simple_one_for_one. They are stopped all at once, and one that has ended for good is forgotten with its spec.
/// `make` is called on the supervisor's thread, with the argument that the child was added with; the id that it gives
/// the spec is replaced. options.strategy is set; any but one_for_one and simple_one_for_one is refused.
/// Errors: errc::invalid_input.
[[nodiscard]] child_spec dynamic_supervisor(std::string id, supervisor_options options,
                                            std::function<child_spec(const std::string& argument)> make,
                                            dynamic_children keep = dynamic_children::forgotten);

}  // namespace planaria
