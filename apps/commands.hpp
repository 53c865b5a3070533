#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace planaria::apps {

/// What `planaria train` was asked for.
struct train_arguments {
  std::string config;
  std::vector<std::string> settings;
  std::vector<std::string> kills;
  std::optional<std::int64_t> random_kills;
  std::optional<std::int64_t> fault_seed;
  std::optional<std::int64_t> peers;
  std::string summary;
  bool resume = false;
};
void add_train(CLI::App& app, train_arguments& to);
/// Trains as the configuration says; returns the exit code.
int run_train(const train_arguments& arguments);

/// What `planaria inspect` was asked for.
struct inspect_arguments {
  std::string run_dir;
  std::size_t events = 20;
  bool json = false;
};
void add_inspect(CLI::App& app, inspect_arguments& to);
/// Prints a run directory's supervision tree, snapshots and events, also beside a live run; returns the exit code.
int run_inspect(const inspect_arguments& arguments);

/// What `planaria sim` was asked for.
struct sim_arguments {
  std::vector<std::string> suites;
  std::string seeds = "1..1000";
  std::size_t threads = 0;
  std::string trace;
  bool list = false;
};
void add_sim(CLI::App& app, sim_arguments& to);
/// Simulates the suites with every seed; returns the exit code: 1 when a property did not hold.
int run_sim(const sim_arguments& arguments);

}  // namespace planaria::apps
