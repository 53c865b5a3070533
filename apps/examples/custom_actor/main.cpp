// An actor of one's own under supervision: a counter of events whose count survives its death. It is crashed and killed
// on purpose, and once more by ending the whole node, and goes on counting each time.
#include <planaria/runtime/child_context.hpp>
#include <planaria/runtime/event_log.hpp>
#include <planaria/runtime/node.hpp>
#include <planaria/runtime/registry.hpp>

#include <caf/all.hpp>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <stdexcept>

using namespace std::chrono_literals;

// [actor]
using count_atom = caf::atom_constant<caf::atom("count")>;
using read_atom = caf::atom_constant<caf::atom("read")>;
using fail_atom = caf::atom_constant<caf::atom("fail")>;

// Called for each incarnation: takes up the durable state, then answers messages.
caf::behavior counter(caf::event_based_actor*, planaria::child_context context) {
  auto count = std::stol(context.state().get("count").value_or("0"));
  return {
      [=](count_atom) mutable {
        context.state().put("count", std::to_string(++count));
        return count;
      },
      [=](read_atom) { return std::stol(context.state().get("count").value_or("0")); },
      [](fail_atom) { throw std::runtime_error("the disk of this example is on fire"); },
  };
}
// [actor]

namespace {

// [ask]
// Asks whichever incarnation lives, and its successor when it dies before it answers.
template <class Atom>
long ask(planaria::node& node, Atom what) {
  caf::scoped_actor self(node.system());
  const auto name = node.find("counter");
  caf::actor asked;
  for (int attempt = 0; attempt < 5; ++attempt) {
    long answer = -1;
    asked = name.wait(10s, asked);
    self->request(asked, 10s, what).receive([&](long count) { answer = count; }, [](const caf::error&) {});
    if (answer >= 0) return answer;
  }
  throw std::runtime_error("the counter does not answer");
}
// [ask]

long count_three_times(const std::filesystem::path& run_dir) {
  // [supervise]
  planaria::node_options options;
  options.storage.directory = run_dir;
  planaria::node node(options);
  node.start(planaria::child("counter", counter));
  // [supervise]

  ask(node, count_atom::value);
  node.find("counter").send(fail_atom::value);
  ask(node, count_atom::value);
  node.kill("counter");
  ask(node, count_atom::value);
  for (const auto& death : planaria::recovery_table(node.events().events()))
    std::cout << death.path << " died (" << death.reason << ") and was back after " << death.respawned_us << " us\n";
  return ask(node, read_atom::value);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: example_custom_actor RUN_DIR\n";
    return 2;
  }
  const auto before = count_three_times(argv[1]);
  const auto after = count_three_times(argv[1]);
  std::cout << "the count is " << before << ", and " << after << " after the node was gone\n";
  return after == before + 3 ? EXIT_SUCCESS : EXIT_FAILURE;
}
