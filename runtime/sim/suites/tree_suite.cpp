#include <planaria/runtime/event_log.hpp>
#include <planaria/runtime/node.hpp>
#include <planaria/runtime/registry.hpp>
#include <planaria/runtime/sim/suites/suites.hpp>
#include <planaria/runtime/sim/suites/tree_board.hpp>
#include <planaria/runtime/sim/suites/tree_shape.hpp>
#include <planaria/runtime/sim/suites/tree_worker.hpp>
#include <planaria/storage/error.hpp>

#include <memory>
#include <string>
#include <vector>

namespace planaria::sim {
namespace {

using namespace std::chrono_literals;

// What the run and its drivers share; the last of them ends the node.
struct tree_run {
  explicit tree_run(simulation& in)
      : world(in),
        shape(draw_tree(in.dice())),
        mood(std::make_shared<tree_mood>(
            tree_mood{.board = std::make_shared<tree_board>(in, shape), .chance = dice(in.dice().roll())})),
        node({.root = {.intensity = 10'000, .period = 10s}, .log_level = "off"}, in.environment()) {
    for (const auto& [path, one] : shape.supervisors) paths.push_back(path);
    for (const auto& [path, one] : shape.workers) paths.push_back(path);
    for (const auto& [path, one] : shape.supervisors)
      if (one.dynamic) dynamic.push_back(path);
  }

  simulation& world;
  const tree_shape shape;
  const std::shared_ptr<tree_mood> mood;
  planaria::node node;
  std::vector<std::string> paths;
  std::vector<std::string> dynamic;
  int added = 0;
};

std::chrono::milliseconds while_away(simulation& world) {
  return std::chrono::milliseconds(world.dice().between(0, 60));
}

// Kills, and tells workers to crash, to finish or to fall silent.
void torment(tree_run& run) {
  auto& chance = run.world.dice();
  const auto rounds = chance.between(3, 12);
  for (int i = 0; i < rounds; ++i) {
    run.world.pass(while_away(run.world));
    const auto path = chance.chance(0.02) ? std::string() : chance.pick(run.paths);
    const auto name = run.node.find(path);
    const bool listens = !path.empty() && !run.shape.supervisors.contains(path) && !run.mood->bodies.contains(path);
    switch (listens ? chance.below(5) : 0) {
      case 0:
      case 1: static_cast<void>(run.node.kill(path)); break;
      case 2: static_cast<void>(name.send(crash_atom::value)); break;
      case 3: static_cast<void>(name.send(finish_atom::value)); break;
      default: static_cast<void>(name.send(silence_atom::value)); break;
    }
  }
}

// One request; which one, and for whom, is drawn. Refusals are answers too, but a missed deadline is not.
void request(tree_run& run) {
  auto& chance = run.world.dice();
  auto path = chance.pick(run.paths);
  const auto what = chance.below(run.dynamic.empty() ? 6 : 9);
  if (what >= 6) path = chance.pick(run.dynamic);
  const auto fresh = "x" + std::to_string(++run.added);
  if (what >= 6) run.paths.push_back(path + "/" + fresh);
  if (what < 4) run.mood->board->requests(path);
  try {
    switch (what) {
      case 0: run.node.stop(path); break;
      case 1: run.node.restart(path); break;
      case 2: run.node.remove(path); break;
      case 3: run.node.start(make_worker(draw_worker(chance, path + "/" + fresh), run.mood), path); break;
      case 4: static_cast<void>(run.node.tree()); break;
      case 5: static_cast<void>(run.node.count(path)); break;
      default: run.node.start_dynamic(path, fresh, fresh); break;
    }
  } catch (const error& refused) {
    const std::string why = refused.what();
    if (refused.code() == errc::timeout && why.find("init missed its deadline") == std::string::npos)
      run.world.fail("deadline: " + why);
  }
  if (what < 4) run.mood->board->answered(path);
}

void administer(tree_run& run) {
  const auto rounds = run.world.dice().between(0, 6);
  for (int i = 0; i < rounds; ++i) {
    run.world.pass(while_away(run.world));
    request(run);
  }
}

// Until the tree is whole, or has had far more time than it needs.
void heal(tree_run& run) {
  std::string wrong = "complete: the tree does not answer";
  for (int i = 0; i < 300; ++i) {
    try {
      const auto missing = run.mood->board->incomplete(run.node.tree());
      if (!missing) return;
      wrong = *missing;
    } catch (const error& refused) {
      // The root is being restarted.
      wrong = "complete: " + std::string(refused.what());
    }
    run.world.pass(100ms);
  }
  run.world.fail(wrong);
}

weather draw_weather(dice& chance) {
  static const std::vector<std::chrono::microseconds> slowness{1ms, 10ms, 50ms, 250ms};
  return {.slow = 0.01 * static_cast<double>(chance.below(15)),
          .slowest = chance.pick(slowness),
          .hurry = 0.01 * static_cast<double>(chance.below(8)),
          .late = 0.2};
}

void drive(const std::shared_ptr<tree_run>& run) {
  auto& world = run->world;
  run->node.start(make_tree(run->shape, "top", run->mood));
  for (std::uint64_t i = 0; i < 1 + world.dice().below(2); ++i) world.launch([run] { torment(*run); });
  world.launch([run] { administer(*run); });
  if (!world.until(10min, [&] { return world.idle(); })) world.fail("deadline: a driver's request is never answered");
}

void calm_down(tree_run& run) {
  run.mood->calm = true;
  run.world.set_weather({.slow = 0.0, .hurry = 0.0});
}

}  // namespace

void run_tree(simulation& world) {
  world.set_weather(draw_weather(world.dice()));
  auto run = std::make_shared<tree_run>(world);
  const auto mood = run->mood;
  const auto seen = run->node.events().subscribe([mood, &world](const event& one) {
    world.note(std::string(to_string(one.kind)) + " " + one.path + "#" + std::to_string(one.incarnation) + " " +
               one.reason);
    mood->board->saw(one);
  });
  world.check([mood, watched = std::weak_ptr(run)] {
    if (const auto lives = watched.lock()) mood->board->check(lives->node);
  });
  try {
    drive(run);
  } catch (const error& refused) {
    // A tree whose first start fails is not started: nothing of it may be left.
    static_cast<void>(refused);
  }
  calm_down(*run);
  heal(*run);
  run->node.events().unsubscribe(seen);
  run.reset();
  if (mood->board->living() != 0) world.fail("complete: children outlive their node");
  world.verify();
}

}  // namespace planaria::sim
