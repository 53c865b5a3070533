#include "bench.hpp"

#include <planaria/runtime/event_log.hpp>
#include <planaria/runtime/node.hpp>

namespace planaria::bench {

// The 1.2 M-parameter CNN with two peers, one of which is killed every few steps.
void run_recovery(std::int64_t kills) {
  const auto what = workload_named("cnn");
  constexpr std::uint64_t gap = 5;
  const auto steps = (static_cast<std::uint64_t>(kills) * gap / 50 + 1) * 50;
  auto options = mesh_for(what, 2, steps);
  options.intensity = static_cast<std::size_t>(kills) + 1;
  for (std::uint64_t k = 0; k < static_cast<std::uint64_t>(kills); ++k)
    options.kills.push_back({"peer-" + std::to_string(k % 2), k * gap + 3});
  node where;
  mesh_job job(where, std::move(options));
  job.start();
  static_cast<void>(job.wait(std::chrono::minutes(10)));
  std::vector<double> detected, recovered, beyond, caught_up;
  for (const auto& r : recovery_table(where.events().events())) {
    if (r.caught_up_us < 0) continue;
    detected.push_back(r.detected_us / 1e3);
    recovered.push_back(r.recovered_us / 1e3);
    caught_up.push_back(r.caught_up_us / 1e3);
    beyond.push_back((r.caught_up_us - r.recomputed_us) / 1e3);
  }
  const auto line = [](const char* phase, const std::vector<double>& ms) {
    report({{"what", "recovery"},
            {"phase", phase},
            {"count", ms.size()},
            {"p50_ms", median(ms)},
            {"p99_ms", quantile(ms, 0.99)}});
  };
  line("kill to detected", detected);
  line("kill to recovered", recovered);
  line("kill to contributing, less the recomputation", beyond);
  line("kill to contributing", caught_up);
}

}  // namespace planaria::bench
