#include <planaria/runtime/deadline.hpp>
#include <planaria/runtime/detail/down_reason.hpp>
#include <planaria/runtime/detail/tree_plan.hpp>
#include <planaria/storage/error.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace planaria::detail {
namespace {

using namespace std::chrono_literals;

// Trees are a few levels deep: a function that returns supervisors with itself below would never end.
constexpr std::size_t deepest = 64;
// More is a negative number that was converted.
constexpr std::size_t most_restarts = 1'000'000'000;

// Where a walk down a tree stands.
struct walk {
  std::vector<const supervisor_plan*> plans;
  std::string path;  // of the supervisor whose children are looked at; empty at the top
};

std::string below(const walk& at, const std::string& id) { return at.path.empty() ? id : at.path + "/" + id; }

void check_spec(const child_spec& spec, const supervisor_options& above, const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    throw error(errc::invalid_input, "child \"" + path + "\": " + why);
  };
  const bool plain = std::all_of(spec.id.begin(), spec.id.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
  if (spec.id.empty() || !plain) refuse("an id is one or more letters, digits, '-', '_' and '.'");
  if (!spec.start) refuse("it has no start function");
  if (spec.significant && spec.restart == restart::permanent)
    refuse("a permanent child never ends, so it cannot be significant");
  if (spec.significant && above.auto_shutdown == auto_shutdown::never)
    refuse("it is significant, but its supervisor's auto_shutdown is never");
  if (spec.quarantine_after > above.intensity)
    refuse("its input is set aside after " + std::to_string(spec.quarantine_after) +
           " failures, but its supervisor gives up after " + std::to_string(above.intensity) + " restarts");
  const auto whose = "child \"" + path + "\": its ";
  check_duration(whose + "progress deadline", spec.progress_deadline, 0ms);
  check_duration(whose + "start deadline", spec.start_deadline, 1ms);
  check_duration(whose + "shutdown timeout", spec.shutdown.after, 0ms);
}

planned_child plan_child(std::shared_ptr<const child_spec> spec, const supervisor_options& above, walk& at);

std::vector<planned_child> plan_all(std::vector<child_spec> specs, const supervisor_plan& plan, walk& at) {
  std::vector<planned_child> all;
  all.reserve(specs.size());
  std::unordered_set<std::string_view> ids;
  for (auto& one : specs) {
    all.push_back(plan_child(std::make_shared<const child_spec>(std::move(one)), plan.options, at));
    const auto& id = all.back().spec->id;
    if (!ids.insert(id).second)
      throw error(errc::already_exists, (at.path.empty() ? "" : "supervisor \"" + at.path + "\": ") +
                                            "two children are called \"" + id + "\"");
  }
  return all;
}

planned_child plan_child(std::shared_ptr<const child_spec> spec, const supervisor_options& above, walk& at) {
  const auto path = below(at, spec->id);
  check_spec(*spec, above, path);
  const auto* plan = spec->plan.get();
  if (plan == nullptr || !plan->children) return {std::move(spec), nullptr, std::nullopt};
  const auto refuse = [&](const std::string& why) {
    throw error(errc::invalid_input, "supervisor \"" + path + "\": " + why);
  };
  if (std::find(at.plans.begin(), at.plans.end(), plan) != at.plans.end()) refuse("it is below itself");
  if (at.plans.size() >= deepest)
    refuse("more than " + std::to_string(deepest) + " supervisors stand above each other: is the tree below itself?");
  std::vector<child_spec> specs;
  if (const auto failed = run_guarded([&] { specs = plan->children(); })) {
    const auto how = to_ending(failed);
    return {std::move(spec), nullptr, error(how.code, how.text)};
  }
  at.plans.push_back(plan);
  const auto above_path = std::exchange(at.path, path);
  auto all = std::make_shared<const std::vector<planned_child>>(plan_all(std::move(specs), *plan, at));
  at.path = above_path;
  at.plans.pop_back();
  return {std::move(spec), std::move(all), std::nullopt};
}

}  // namespace

planned_child plan_child(std::shared_ptr<const child_spec> spec, const supervisor_options& above) {
  walk top;
  return plan_child(std::move(spec), above, top);
}

std::vector<planned_child> plan_children(const supervisor_plan& plan) {
  if (!plan.children) return {};
  walk top;
  top.plans.push_back(&plan);
  return plan_all(plan.children(), plan, top);
}

void check_options(const supervisor_options& options, const std::string& whose) {
  const auto text = "supervisor \"" + whose + "\": its ";
  const auto refuse = [&](const std::string& why) { throw error(errc::invalid_input, text + why); };
  const auto& b = options.backoff;
  if (options.intensity > most_restarts)
    refuse("intensity must be between 0 and " + std::to_string(most_restarts) + ", not " +
           std::to_string(static_cast<std::ptrdiff_t>(options.intensity)));
  check_duration(text + "period", options.period, 1ms);
  for (const auto& [what, pause] :
       {std::pair{"initial", b.initial}, {"step", b.step}, {"maximum", b.maximum}, {"reset_after", b.reset_after}})
    check_duration(text + "backoff's " + what, pause, 0ms);
  if (!(b.factor >= 1.0) || !std::isfinite(b.factor)) refuse("backoff's factor is not a number of 1 or more");
  if (!(b.jitter >= 0.0 && b.jitter <= 1.0)) refuse("backoff's jitter is not between 0 and 1");
}

}  // namespace planaria::detail
