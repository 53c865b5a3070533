#include "bench.hpp"

#include <filesystem>

namespace planaria::bench {
namespace {

constexpr int rounds = 10;
constexpr std::uint64_t window = 50;
constexpr std::uint64_t pairs = 8;

double total(const std::vector<double>& ends) { return ends.back() - ends[ends.size() / 10]; }

void report_ratios(const char* what, const std::string& name, const std::vector<double>& ratios) {
  report({{"what", what},
          {"model", name},
          {"ratio", median(ratios)},
          {"lowest", quantile(ratios, 0)},
          {"highest", quantile(ratios, 1)}});
}

}  // namespace

// Each round measures both, one after the other and in turns first, so that a change of the machine's speed meets both
// alike.
void run_overhead(const std::string& name) {
  const auto what = workload_named(name);
  const auto steps = (what.steps / window + 1) * window;
  std::vector<double> ratios;
  for (int i = 0; i < rounds; ++i) {
    double mesh = 0;
    double plain = 0;
    for (const bool is_mesh : {i % 2 == 0, i % 2 != 0})
      (is_mesh ? mesh : plain) = total(is_mesh ? step_ends(mesh_for(what, 1, steps), {}) : plain_loop(what, steps));
    ratios.push_back(mesh / plain);
  }
  report_ratios("one peer / plain loop", name, ratios);
}

// One run with a snapshot every two windows: of each two neighbours one bears a snapshot, its copy and the writing
// behind, and the other none. The machine's speed changes more slowly than that.
void run_snapshots(const std::string& name, const std::string& folder) {
  const auto run_dir = std::filesystem::path(folder) / "run";
  auto options = mesh_for(workload_named(name), 2, (2 * pairs + 3) * window);
  options.snapshot_every = 2 * window;
  const auto ends = step_ends(std::move(options), run_dir.string());
  std::filesystem::remove_all(run_dir);
  std::vector<double> ratios;
  for (std::uint64_t pair = 1; pair <= pairs; ++pair) {
    const auto snapshot = pair * 2 * window - 1;  // taken after this step's end
    const auto bearing = ends[snapshot + window] - ends[snapshot];
    ratios.push_back(bearing / (ends[snapshot + 2 * window] - ends[snapshot + window]));
  }
  report_ratios("a snapshot in 50 steps / none", name, ratios);
}

}  // namespace planaria::bench
