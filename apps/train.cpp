#include "commands.hpp"
#include "config.hpp"
#include "progress.hpp"
#include "signals.hpp"
#include "summary.hpp"

#include <planaria/actors/tensor_memory.hpp>
#include <planaria/actors/torch_setup.hpp>
#include <planaria/runtime/node.hpp>
#include <planaria/storage/error.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>

namespace planaria::apps {
namespace {

train_config config_of(const train_arguments& a) {
  auto config = read_config(a.config, a.settings);
  if (a.peers) config.mesh.peers = *a.peers;
  if (a.random_kills) config.random_kills = *a.random_kills;
  if (a.fault_seed) config.fault_seed = *a.fault_seed;
  if (!a.kills.empty()) config.kills = a.kills;
  if (a.resume) config.mesh.start = start_from::resume;
  return config;
}

node_options node_for(const mesh_options& mesh) {
  node_options options;
  options.compute.max_slots = std::max(options.compute.max_slots, mesh_slots(mesh.peers));
  return options;
}

// Waits for the end, passing on the first interrupt as an orderly stop.
mesh_result wait_for(mesh_job& job, const interrupt_guard& interrupts) {
  bool stopping = false;
  for (;;) {
    try {
      return job.wait(std::chrono::milliseconds{100});
    } catch (const error& waiting) {
      if (waiting.code() != errc::timeout) throw;
    }
    if (interrupts.raised() && !std::exchange(stopping, true)) {
      std::cout << "\nstopping after this step, with a snapshot; interrupt again to give up at once" << std::endl;
      job.stop();
    }
  }
}

// Why a run that had begun came to nothing: unlike a refusal, it has left something behind.
struct run_failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

mesh_result train_once(const mesh_options& options, node& where, run_summary& summary) {
  // Shared: a peer that hangs, and the node's last words, may come after this function's end.
  auto display = std::make_shared<progress_display>();
  const auto subscription = where.events().subscribe([display](const event& e) { display->show(e); });
  mesh_job job(where, options);
  job.on_step([display](const mesh_progress& now) { display->show(now); });
  interrupt_guard interrupts;
  job.start();
  mesh_result result;
  try {
    result = wait_for(job, interrupts);
  } catch (const error& failed) {
    display->finish();
    throw run_failed(failed.what());
  }
  display->finish();
  summary.progress = job.progress();
  where.events().unsubscribe(subscription);
  return result;
}

mesh_result train_without_faults(const train_config& config) {
  std::cout << "\ntraining again without faults, to compare the hashes" << std::endl;
  auto options = make_mesh_options(config);
  options.kills.clear();
  options.test = nullptr;
  options.start = start_from::fresh;
  node plain(node_for(options));
  run_summary ignored;
  return train_once(options, plain, ignored);
}

// Returns false when the bits differ; an interrupted comparison says nothing.
bool compare(const train_config& config, const mesh_result& result, run_summary& summary) {
  const auto plain = train_without_faults(config);
  if (!plain.complete) {
    std::cout << "fault-free     not compared: the second training was stopped early\n";
    return true;
  }
  summary.fault_free_hash = plain.weights_hash;
  const bool same = plain.weights_hash == result.weights_hash;
  std::cout << "fault-free     " << plain.weights_hash << (same ? "  identical" : "  DIFFERENT") << '\n';
  return same;
}

// The summary is written last, after hours perhaps: that it can be is known first.
void check_summary_path(const std::filesystem::path& file) {
  if (file.empty()) return;
  const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  if (std::filesystem::is_directory(file) || !std::filesystem::is_directory(folder) ||
      ::access(folder.c_str(), W_OK | X_OK) != 0)
    throw error(errc::invalid_input, "--summary " + file.string() + ": cannot be written there");
}

void print_result(const mesh_result& result, const run_summary& summary) {
  if (result.already_complete) std::cout << "the run is complete already: nothing was left to do\n";
  if (!result.complete) std::cout << fmt::format("stopped at step {}; go on with --resume\n", result.steps);
  if (result.test.samples > 0)
    std::cout << fmt::format("test accuracy  {:.2f} % of {} samples, loss {:.4f}\n", 100 * result.test.accuracy,
                             result.test.samples, result.test.loss);
  std::cout << "weights hash   " << result.weights_hash << '\n';
  std::cout << fmt::format("samples        {} lost, {} duplicated in {} complete epochs\n", summary.lost(),
                           summary.duplicated(), summary.complete_epochs());
  if (!summary.recoveries.empty()) std::cout << '\n' << recovery_text(summary.recoveries);
}

}  // namespace

void add_train(CLI::App& app, train_arguments& to) {
  auto* command = app.add_subcommand("train", "Trains as a TOML configuration says, and heals what dies meanwhile");
  command->add_option("config", to.config, "the configuration file")->required();
  command->add_option("--set", to.settings, "key=value, overrides the file; repeatable")->take_all();
  command->add_option("--kill", to.kills, "peer-N@step=S or mesh@step=S, overrides the file's; repeatable")->take_all();
  command->add_option("--kill-random", to.random_kills, "kills this many peers at random steps")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--seed", to.fault_seed, "the seed of --kill-random")->check(CLI::NonNegativeNumber);
  command->add_option("--peers", to.peers, "the number of peers");
  command->add_option("--summary", to.summary, "writes the outcome to this JSON file");
  command->add_flag("--resume", to.resume, "goes on from the newest snapshot that verifies");
}

int run_train(const train_arguments& arguments) {
  check_summary_path(arguments.summary);
  warn_about_blas(std::cerr);
  keep_freed_memory();
  const auto config = config_of(arguments);
  const auto options = make_mesh_options(config);
  // Before the run directory is made: a refused run leaves nothing behind.
  check_options(options);
  run_summary summary;
  mesh_result result;
  {
    auto node_options = node_for(options);
    node_options.storage.directory = config.run_dir;
    node where(node_options);
    result = train_once(options, where, summary);
    summary.recoveries = recovery_table(where.events().events());
  }
  summary.result = &result;
  print_result(result, summary);
  const bool compared = config.compare_fault_free && result.complete && !result.already_complete;
  const bool same = !compared || compare(config, result, summary);
  if (!arguments.summary.empty()) write_summary(arguments.summary, summary);
  return same ? 0 : 1;
}

}  // namespace planaria::apps
