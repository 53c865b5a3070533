#include <planaria/runtime/child_spec.hpp>
#include <planaria/runtime/deadline.hpp>
#include <planaria/runtime/detail/down_reason.hpp>
#include <planaria/runtime/detail/supervisor_actor.hpp>
#include <planaria/storage/error.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

namespace planaria {

using namespace std::chrono_literals;

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
  const auto whose = "child \"" + spec.id + "\": its ";
  check_duration(whose + "progress deadline", spec.progress_deadline, 0ms);
  check_duration(whose + "start deadline", spec.start_deadline, 1ms);
  check_duration(whose + "shutdown timeout", spec.shutdown.after, 0ms);
}

void check_options(const supervisor_options& options, const std::string& whose) {
  const auto text = "supervisor \"" + whose + "\": its ";
  const auto refuse = [&](const char* why) { throw error(errc::invalid_input, text + why); };
  const auto& b = options.backoff;
  check_duration(text + "period", options.period, 1ms);
  for (const auto& [what, pause] :
       {std::pair{"initial", b.initial}, {"step", b.step}, {"maximum", b.maximum}, {"reset_after", b.reset_after}})
    check_duration(text + "backoff's " + what, pause, 0ms);
  if (!(b.factor >= 1.0) || !std::isfinite(b.factor)) refuse("backoff's factor is not a number of 1 or more");
  if (!(b.jitter >= 0.0 && b.jitter <= 1.0)) refuse("backoff's jitter is not between 0 and 1");
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
  detail::check_options(options, id);
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
