#include <planaria/runtime/detail/down_reason.hpp>

#include <caf/actor_cast.hpp>
#include <caf/atom.hpp>
#include <caf/exit_reason.hpp>
#include <caf/message.hpp>
#include <caf/system_messages.hpp>

namespace planaria::detail {
namespace {

constexpr caf::atom_value category = caf::atom("planaria");
constexpr caf::atom_value exit_category = caf::atom("exit");

std::string text_of(const caf::error& reason) {
  const auto& context = reason.context();
  return context.match_elements<std::string>() ? context.get_as<std::string>(0) : std::string();
}

ending exit_ending(const caf::error& reason) {
  switch (static_cast<caf::exit_reason>(reason.code())) {
    case caf::exit_reason::normal: return {};
    case caf::exit_reason::user_shutdown:
    case caf::exit_reason::remote_link_unreachable: break;
    case caf::exit_reason::kill: {
      const auto text = text_of(reason);
      return {false, errc::user_error, text.empty() ? "killed" : text};
    }
    default: return {false, errc::user_error, caf::to_string(static_cast<caf::exit_reason>(reason.code()))};
  }
  const bool shut_down = reason.code() == static_cast<std::uint8_t>(caf::exit_reason::user_shutdown);
  return {shut_down, errc::stopped, shut_down ? "shut down" : "unreachable"};
}

}  // namespace

caf::error make_reason(errc code, std::string text) {
  // "Stopped" is how an orderly end is told, and a failure is none, whatever its code says.
  if (code == errc::stopped) code = errc::user_error;
  return {static_cast<std::uint8_t>(code), category, caf::make_message(std::move(text))};
}

caf::error orderly_reason() {
  return {static_cast<std::uint8_t>(errc::stopped), category, caf::make_message(std::string())};
}

caf::error make_reason(std::exception_ptr failed) {
  try {
    std::rethrow_exception(failed);
  } catch (const error& known) {
    return make_reason(known.code(), known.what());
  } catch (const std::exception& other) {
    return make_reason(errc::user_error, other.what());
  } catch (...) {
    return make_reason(errc::user_error, "an exception that is not a std::exception");
  }
}

caf::error kill_reason(std::string_view why) {
  return {static_cast<std::uint8_t>(caf::exit_reason::kill), exit_category, caf::make_message(std::string(why))};
}

ending to_ending(const caf::error& reason) {
  if (!reason) return {};
  if (reason.category() == category) {
    const auto code = static_cast<errc>(reason.code());
    return {code == errc::stopped, code, text_of(reason)};
  }
  if (reason.category() == exit_category) return exit_ending(reason);
  return {false, errc::user_error,
          "actor error " + std::to_string(reason.code()) + (text_of(reason).empty() ? "" : ": " + text_of(reason))};
}

caf::error run_guarded(const std::function<void()>& body) {
  try {
    body();
    return {};
  } catch (...) {
    return make_reason(std::current_exception());
  }
}

void end_actor(const caf::actor& whom, caf::error reason) {
  if (!whom) return;
  auto* target = caf::actor_cast<caf::abstract_actor*>(whom);
  target->enqueue(nullptr, caf::make_message_id(caf::message_priority::high),
                  caf::make_message(caf::exit_msg{whom.address(), std::move(reason)}), nullptr);
}

void end_actor(const caf::actor_addr& whom, caf::error reason) {
  end_actor(caf::actor_cast<caf::actor>(whom), std::move(reason));
}

void keep_exceptions(caf::scheduled_actor* self) {
  self->set_exception_handler([](std::exception_ptr& failed) -> caf::error { return make_reason(failed); });
}

}  // namespace planaria::detail
