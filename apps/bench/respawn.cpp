#include "bench.hpp"

#include <planaria/runtime/child_context.hpp>
#include <planaria/runtime/event_log.hpp>
#include <planaria/runtime/node.hpp>
#include <planaria/runtime/registry.hpp>

#include <atomic>
#include <stdexcept>
#include <thread>

namespace planaria::bench {

// From the kill until the successor is registered, as its users would find it.
void run_respawn(std::int64_t kills) {
  node_options settings;
  settings.root.intensity = static_cast<std::size_t>(kills) + 1;
  settings.root.backoff = {.step = std::chrono::milliseconds(0)};
  node where(settings);
  const auto path = where.start(child("victim", [](caf::event_based_actor*, const child_context&) -> caf::behavior {
    return {[](int value) { return value; }};
  }));
  const auto victim = where.find(path);
  std::vector<double> times;
  for (std::int64_t i = 0; i < kills; ++i) {
    const auto before = victim.incarnation();
    const auto begin = std::chrono::steady_clock::now();
    where.kill(path);
    while (victim.incarnation() <= before) {
      if (seconds_since(begin) > 10) throw std::runtime_error("no successor after 10 s");
      std::this_thread::yield();
    }
    times.push_back(seconds_since(begin) * 1e6);
  }
  report({{"what", "respawn"}, {"count", times.size()}, {"p50_us", median(times)}, {"p99_us", quantile(times, 0.99)}});
}

}  // namespace planaria::bench
