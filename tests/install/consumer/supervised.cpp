// An application that links planaria::runtime alone: one child, killed once, that is there again.
#include <planaria/runtime/child_context.hpp>
#include <planaria/runtime/node.hpp>
#include <planaria/runtime/registry.hpp>

#include <caf/all.hpp>

#include <chrono>
#include <cstdlib>
#include <future>

int main() {
  using namespace std::chrono_literals;
  std::promise<void> respawned;
  planaria::node node;
  node.start(planaria::child("counter", [&](caf::event_based_actor*, planaria::child_context ctx) -> caf::behavior {
    if (ctx.incarnation() == 2) respawned.set_value();
    return {[](int value) { return value + 1; }};
  }));
  if (!node.kill("counter")) return EXIT_FAILURE;
  return respawned.get_future().wait_for(10s) == std::future_status::ready ? EXIT_SUCCESS : EXIT_FAILURE;
}
