#pragma once

#include <planaria/actors/mesh_job.hpp>
#include <planaria/actors/module_trainer.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace planaria::bench {

/// Prints one figure as a line of JSON.
void report(const nlohmann::json& figure);

[[nodiscard]] inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The value below which `share` of the sorted values lie.
[[nodiscard]] inline double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0.0 : values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}
[[nodiscard]] inline double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

/// One of the models of the PyTorch peer: its input, its batch a rank, and how many steps are timed.
struct workload {
  std::string name;
  std::vector<std::int64_t> input;
  std::int64_t batch = 0;
  std::uint64_t steps = 0;
};
[[nodiscard]] workload workload_named(const std::string& name);
[[nodiscard]] model make_workload_model(const std::string& name);

/// A mesh over random data of the workload's shape, `steps` steps long.
[[nodiscard]] mesh_options mesh_for(const workload& what, std::int64_t peers, std::uint64_t steps);
/// Trains it in a node of its own and returns each step's end, in seconds since the first one.
[[nodiscard]] std::vector<double> step_ends(mesh_options options, const std::string& run_dir);
/// The same training as a plain LibTorch loop; returns each step's end likewise.
[[nodiscard]] std::vector<double> plain_loop(const workload& what, std::uint64_t steps);

/// Subcommands; each prints its figures.
void run_all_reduce(std::int64_t ranks);
void run_mesh(const std::string& name, std::int64_t peers);
/// As many plain loops at once as there are peers, without any communication: what a mesh cannot be faster than.
void run_floor(const std::string& name, std::int64_t peers);
void run_overhead(const std::string& name);
void run_snapshots(const std::string& name, const std::string& folder);
void run_recovery(std::int64_t kills);
void run_respawn(std::int64_t kills);

}  // namespace planaria::bench
