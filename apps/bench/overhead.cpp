#include "bench.hpp"

#include <filesystem>

namespace planaria::bench {
namespace {

constexpr int rounds = 3;

double total(const std::vector<double>& ends) { return ends.back() - ends[ends.size() / 10]; }

// Each round measures both, one after the other, so that a change of the machine's speed meets both alike.
void compare(const char* what, const std::string& name, const std::function<double()>& base,
             const std::function<double()>& with) {
  std::vector<double> ratios;
  for (int i = 0; i < rounds; ++i) {
    const auto without = base();
    ratios.push_back(with() / without);
  }
  report({{"what", what},
          {"model", name},
          {"ratio", median(ratios)},
          {"lowest", quantile(ratios, 0)},
          {"highest", quantile(ratios, 1)}});
}

}  // namespace

void run_overhead(const std::string& name) {
  const auto what = workload_named(name);
  const auto steps = (what.steps / 50 + 1) * 50;
  compare(
      "one peer / plain loop", name, [&] { return total(plain_loop(what, steps)); },
      [&] { return total(step_ends(mesh_for(what, 1, steps), {})); });
}

void run_snapshots(const std::string& name, const std::string& folder) {
  const auto what = workload_named(name);
  const auto steps = (what.steps / 50 + 2) * 50;
  int runs = 0;
  const auto train = [&](std::uint64_t every) {
    const auto run_dir = std::filesystem::path(folder) / ("run-" + std::to_string(runs++));
    auto options = mesh_for(what, 2, steps);
    options.snapshot_every = every;
    const auto took = total(step_ends(std::move(options), run_dir.string()));
    std::filesystem::remove_all(run_dir);
    return took;
  };
  compare(
      "snapshots every 50 steps / none", name, [&] { return train(0); }, [&] { return train(50); });
}

}  // namespace planaria::bench
