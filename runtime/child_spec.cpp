#include <planaria/runtime/child_spec.hpp>
#include <planaria/runtime/detail/down_reason.hpp>
#include <planaria/runtime/detail/supervisor_actor.hpp>
#include <planaria/storage/error.hpp>

#include <algorithm>
#include <cctype>

namespace planaria {

namespace detail {

void check_spec(const child_spec& spec) {
  const auto refuse = [&](const std::string& why) {
    throw error(errc::invalid_input, "child \"" + spec.id + "\": " + why);
  };
  const bool plain = std::all_of(spec.id.begin(), spec.id.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
  if (spec.id.empty() || !plain) refuse("an id is one or more letters, digits, '-', '_' and '.'");
  if (!spec.start) refuse("it has no start function");
  if (spec.significant && spec.restart == restart::permanent)
    refuse("a permanent child never ends, so it cannot be significant");
  if (spec.progress_deadline.count() < 0) refuse("its progress deadline is negative");
  if (spec.start_deadline.count() <= 0) refuse("its start deadline is not positive");
  if (spec.shutdown.after.count() < 0) refuse("its shutdown timeout is negative");
}

}  // namespace detail

child_spec child(std::string id, std::function<caf::behavior(caf::event_based_actor*, child_context)> init) {
  child_spec spec;
  spec.id = std::move(id);
  spec.start = [init = std::move(init)](caf::actor_system& system, child_context context) -> caf::actor {
    // The context as an argument: without any, CAF's header binds a reference to nothing.
    const auto start = [init](caf::event_based_actor* self, const child_context& me) -> caf::behavior {
      detail::keep_exceptions(self);
      return init(self, me);
    };
    return system.spawn(start, std::move(context));
  };
  return spec;
}

child_spec supervisor(std::string id, supervisor_options options, std::vector<child_spec> children) {
  return supervisor(std::move(id), options, [children = std::move(children)] { return children; });
}

child_spec supervisor(std::string id, supervisor_options options, std::function<std::vector<child_spec>()> children) {
  child_spec spec;
  spec.id = std::move(id);
  spec.type = child_type::supervisor;
  spec.shutdown = shutdown::infinite();
  spec.start = [options, children = std::move(children)](caf::actor_system& system, child_context context) {
    return detail::spawn_supervisor(system, std::move(context), options, children);
  };
  return spec;
}

}  // namespace planaria
