#pragma once

#include <planaria/runtime/child_context.hpp>
#include <planaria/runtime/child_spec.hpp>

#include <functional>
#include <string>

namespace planaria {

/// A child whose work is one long body on a compute slot, such as a training loop; its actor is only a shell.
///
/// The body returns: the child ends normally. It throws: the child fails with the exception's text. The child is
/// killed, hangs past its progress deadline or is stopped: the slot is abandoned, and what the body still does is a
/// zombie's work: it must ask ctx.fenced(), or an object that fences it, before it changes anything. `wake` is called
/// once a life, at its end, however that came: it must make a waiting body and those that wait for it notice, quickly
/// and without throwing; it runs on a control thread.
[[nodiscard]] child_spec compute_child(std::string id, std::function<void(child_context)> body,
                                       std::function<void(const child_context&)> wake);

}  // namespace planaria
