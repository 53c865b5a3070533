#pragma once

#include <planaria/storage/error.hpp>

#include <caf/actor.hpp>
#include <caf/actor_addr.hpp>
#include <caf/error.hpp>
#include <caf/scheduled_actor.hpp>

#include <exception>
#include <functional>
#include <string>

namespace planaria::detail {

/// How a child ended, as its supervisor judges it.
struct ending {
  /// Normal, shut down or stopped by request: not a reason to start a transient child again.
  bool orderly = true;
  errc code = errc::stopped;
  /// Empty after a normal end.
  std::string text;
  /// What it was working on, if it said so.
  std::string input = {};
};

/// The reason of a failure: never taken for an orderly end, so errc::stopped becomes errc::user_error.
[[nodiscard]] caf::error make_reason(errc code, std::string text);
/// The reason of an end that a child itself calls good.
[[nodiscard]] caf::error orderly_reason();
/// The reason for an exception: planaria::error keeps its code, everything else is errc::user_error; the text is kept.
[[nodiscard]] caf::error make_reason(std::exception_ptr failed);
/// The reason of a fault injected on purpose; as unconditional as CAF's own kill.
[[nodiscard]] caf::error kill_reason(std::string_view why);
[[nodiscard]] ending to_ending(const caf::error& reason);

/// Runs what may throw anything, such as user code; returns its exception as a reason, or no error.
[[nodiscard]] caf::error run_guarded(const std::function<void()>& body);

/// Sends the reason ahead of everything that the actor has not handled yet. Does nothing when it is gone. Any thread.
void end_actor(const caf::actor& whom, caf::error reason);
void end_actor(const caf::actor_addr& whom, caf::error reason);

/// Gives an actor the handler that turns the exceptions of its handlers into down reasons with their text.
void keep_exceptions(caf::scheduled_actor* self);

}  // namespace planaria::detail
