#include <planaria/runtime/child_spec.hpp>
#include <planaria/runtime/detail/child_record.hpp>
#include <planaria/runtime/detail/down_reason.hpp>
#include <planaria/runtime/detail/supervisor_actor.hpp>
#include <planaria/runtime/detail/tree_plan.hpp>
#include <planaria/storage/error.hpp>

#include <utility>

namespace planaria {

namespace detail {

void begin_child(caf::scheduled_actor* self) { keep_exceptions(self); }
void end_init(const child_context& me, caf::actor_id self) { me.record()->announce(self); }
void promise_to_tell(const child_context& me) { me.record()->announces_ready = true; }

namespace {

child_spec supervisor_of(std::string id, supervisor_plan plan) {
  check_options(plan.options, id);
  child_spec spec;
  spec.id = std::move(id);
  spec.type = child_type::supervisor;
  spec.shutdown = shutdown::infinite();
  spec.plan = std::make_shared<const supervisor_plan>(std::move(plan));
  spec.start = [plan = spec.plan](caf::actor_system& system, child_context context) {
    return spawn_supervisor(system, std::move(context), plan);
  };
  return spec;
}

void refuse_strategy(const std::string& id, const char* why) {
  throw error(errc::invalid_input, "supervisor \"" + id + "\": " + why);
}

}  // namespace
}  // namespace detail

child_spec child(std::string id, std::function<caf::behavior(caf::event_based_actor*, child_context)> init) {
  child_spec spec;
  spec.id = std::move(id);
  spec.start = [init = std::move(init)](caf::actor_system& system, child_context context) -> caf::actor {
    detail::promise_to_tell(context);
    // The context as an argument: without any, CAF's header binds a reference to nothing.
    const auto start = [init](caf::event_based_actor* self, const child_context& me) -> caf::behavior {
      detail::begin_child(self);
      auto behavior = init(self, me);
      detail::end_init(me, self->id());
      return behavior;
    };
    return system.spawn(start, std::move(context));
  };
  return spec;
}

child_spec supervisor(std::string id, supervisor_options options, std::vector<child_spec> children) {
  return supervisor(std::move(id), options, [children = std::move(children)] { return children; });
}

child_spec supervisor(std::string id, supervisor_options options, std::function<std::vector<child_spec>()> children) {
  if (options.strategy == strategy::simple_one_for_one)
    detail::refuse_strategy(id, "simple_one_for_one is dynamic_supervisor()'s strategy");
  return detail::supervisor_of(std::move(id), {.options = options, .children = std::move(children)});
}

child_spec dynamic_supervisor(std::string id, supervisor_options options,
                              std::function<child_spec(const std::string& argument)> make, dynamic_children keep) {
  if (options.strategy == strategy::one_for_all || options.strategy == strategy::rest_for_one)
    detail::refuse_strategy(id, "dynamic children are restarted one by one: one_for_all and rest_for_one are refused");
  if (!make) detail::refuse_strategy(id, "it has no function that makes its children");
  options.strategy = strategy::simple_one_for_one;
  return detail::supervisor_of(std::move(id), {.options = options, .dynamic = std::move(make), .keep = keep});
}

}  // namespace planaria
