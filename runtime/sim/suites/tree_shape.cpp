#include <planaria/runtime/sim/suites/tree_shape.hpp>

#include <utility>

namespace planaria::sim {
namespace {

using namespace std::chrono_literals;

constexpr int deepest = 3;

planaria::restart draw_restart(dice& chance) {
  const auto drawn = chance.below(10);
  return drawn < 6 ? restart::permanent : drawn < 8 ? restart::transient : restart::temporary;
}

shutdown draw_shutdown(dice& chance) {
  const auto drawn = chance.below(10);
  if (drawn < 2) return shutdown::brutal();
  if (drawn < 4) return shutdown::infinite();
  return shutdown::timeout(std::chrono::milliseconds(chance.between(20, 200)));
}

supervisor_options draw_options(dice& chance) {
  supervisor_options options;
  const auto drawn = chance.below(10);
  options.strategy = drawn < 5 ? strategy::one_for_one : drawn < 8 ? strategy::one_for_all : strategy::rest_for_one;
  options.intensity = chance.below(5);
  options.period = std::chrono::milliseconds(chance.between(50, 2000));
  options.backoff = {.initial = std::chrono::milliseconds(chance.chance(0.5) ? 0 : chance.between(1, 40)),
                     .step = 20ms,
                     .maximum = 200ms,
                     .reset_after = 300ms};
  const auto when = chance.below(6);
  options.auto_shutdown = when == 0   ? auto_shutdown::any_significant
                          : when == 1 ? auto_shutdown::all_significant
                                      : auto_shutdown::never;
  return options;
}

void draw_children(tree_shape& all, dice& chance, const std::string& path, int depth);

void draw_supervisor(tree_shape& all, dice& chance, const std::string& path, const supervisor_options& above,
                     int depth) {
  tree_shape::supervisor one{.path = path, .options = draw_options(chance)};
  one.dynamic = depth > 1 && chance.chance(0.3);
  if (one.dynamic) {
    one.options.strategy = strategy::simple_one_for_one;
    one.options.auto_shutdown = auto_shutdown::never;
    one.keep = chance.chance(0.5) ? dynamic_children::kept : dynamic_children::forgotten;
  }
  if (depth > 1 && chance.chance(0.2)) one.restart = restart::transient;
  one.significant =
      one.restart == restart::transient && above.auto_shutdown != auto_shutdown::never && chance.chance(0.5);
  const bool dynamic = one.dynamic;
  all.supervisors.emplace(path, std::move(one));
  if (!dynamic) draw_children(all, chance, path, depth);
}

void draw_children(tree_shape& all, dice& chance, const std::string& path, int depth) {
  const auto above = all.supervisors.at(path).options;
  const auto count = chance.below(4) + (depth == 1 ? 2 : 1);
  for (std::size_t i = 0; i < count; ++i) {
    const auto id = std::string(1, static_cast<char>('a' + i));
    const auto child = path + "/" + id;
    all.supervisors.at(path).children.push_back(id);
    if (depth < deepest && chance.chance(0.35)) {
      draw_supervisor(all, chance, child, above, depth + 1);
      continue;
    }
    auto one = draw_worker(chance, child);
    one.significant =
        one.restart != restart::permanent && above.auto_shutdown != auto_shutdown::never && chance.chance(0.5);
    all.workers.emplace(child, std::move(one));
  }
}

}  // namespace

tree_shape draw_tree(dice& chance) {
  tree_shape all;
  draw_supervisor(all, chance, "top", {}, 1);
  return all;
}

tree_shape::worker draw_worker(dice& chance, std::string path) {
  tree_shape::worker one{.path = std::move(path), .restart = draw_restart(chance), .shutdown = draw_shutdown(chance)};
  one.computes = chance.chance(0.25);
  if (chance.chance(0.3)) one.progress_deadline = std::chrono::milliseconds(chance.between(60, 150));
  return one;
}

}  // namespace planaria::sim
