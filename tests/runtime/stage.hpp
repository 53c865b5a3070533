#pragma once

#include <planaria/runtime/detail/supervisor_core.hpp>
#include <planaria/storage/error.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace planaria::testing {

using namespace std::chrono_literals;

inline const detail::ending crash{false, errc::user_error, "boom"};
inline const detail::ending normal{};
inline const detail::ending told{true, errc::stopped, "shut down"};

[[nodiscard]] inline detail::child_rules rules(std::string id, restart rule = restart::permanent) {
  return {.id = std::move(id), .restart = rule};
}

/// Drives a supervisor's core by hand, in virtual time. Each event returns what the core wants done then, as in
/// "ended b, request_stop a".
class stage {
 public:
  explicit stage(
      supervisor_options options = {}, std::function<double()> random = [] { return 0.5; })
      : core(options, std::move(random)) {}

  std::string begin(std::vector<detail::child_rules> first) {
    core.begin(std::move(first), now);
    return said();
  }
  /// Begins and starts everything.
  void run(std::vector<detail::child_rules> first) {
    begin(first);
    for (const auto& one : first) started(one.id);
  }
  std::string started(const std::string& id) {
    core.started(id, now);
    return said();
  }
  std::string down(const std::string& id, const detail::ending& how = crash) {
    core.down(id, how, now);
    return said();
  }
  std::string pass(std::chrono::nanoseconds time) {
    now += std::chrono::duration_cast<detail::instant::duration>(time);
    core.tick(now);
    return said();
  }
  std::string add(detail::child_rules one) {
    core.add(std::move(one), now);
    return said();
  }
  std::string stop(const std::string& id) {
    core.stop(id, now);
    return said();
  }
  std::string restart(const std::string& id) {
    core.restart(id, now);
    return said();
  }
  std::string remove(const std::string& id) {
    core.remove(id);
    return said();
  }
  std::string shut_down() {
    core.shut_down(now);
    return said();
  }
  /// How long until the next tick is due; -1 ns when none is.
  [[nodiscard]] std::chrono::nanoseconds due() const {
    const auto next = core.next_tick(now);
    return next ? std::chrono::nanoseconds(*next - now) : std::chrono::nanoseconds(-1);
  }
  [[nodiscard]] detail::child_state state(const std::string& id) const { return core.find(id)->state; }

  static std::string to_text(const detail::core_action& action) {
    static const char* const names[] = {"start",   "request_stop", "kill",  "abandon", "started", "start_failed",
                                        "ignored", "quarantine",   "ended", "removed", "ready",   "end"};
    std::string text = names[static_cast<int>(action.what)];
    if (!action.id.empty()) text.append(" ").append(action.id);
    if (action.what == detail::core_action::kind::end)
      text.append(" ").append(action.how.orderly ? "orderly" : to_string(action.how.code));
    return text;
  }

  detail::supervisor_core core;
  detail::instant now{std::chrono::hours(1)};
  std::string last_text;  ///< of the last action's ending

 private:
  std::string said() {
    std::string all;
    for (const auto& action : core.take_actions()) {
      all.append(all.empty() ? "" : ", ").append(to_text(action));
      last_text = action.how.text;
    }
    return all;
  }
};

}  // namespace planaria::testing
