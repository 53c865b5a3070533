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

#include <iostream>

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

mesh_result train_once(const mesh_options& options, node& where, run_summary& summary) {
  progress_display display;
  const auto subscription = where.events().subscribe([&](const event& e) { display.show(e); });
  mesh_job job(where, options);
  job.on_step([&](const mesh_progress& now) { display.show(now); });
  interrupt_guard interrupts;
  job.start();
  auto result = wait_for(job, interrupts);
  display.finish();
  summary.progress = job.progress();
  where.events().unsubscribe(subscription);
  return result;
}

std::string fault_free_hash(const train_config& config) {
  std::cout << "\ntraining again without faults, to compare the hashes" << std::endl;
  auto options = make_mesh_options(config);
  options.kills.clear();
  options.test = nullptr;
  options.start = start_from::fresh;
  node plain;
  run_summary ignored;
  return train_once(options, plain, ignored).weights_hash;
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
  command->add_option("--kill-random", to.random_kills, "kills this many peers at random steps");
  command->add_option("--seed", to.fault_seed, "the seed of --kill-random");
  command->add_option("--peers", to.peers, "the number of peers");
  command->add_option("--summary", to.summary, "writes the outcome to this JSON file");
  command->add_flag("--resume", to.resume, "goes on from the newest snapshot that verifies");
}

int run_train(const train_arguments& arguments) {
  warn_about_blas(std::cerr);
  keep_freed_memory();
  const auto config = config_of(arguments);
  const auto options = make_mesh_options(config);
  // Before the run directory is made: a refused run leaves nothing behind.
  check_options(options);
  run_summary summary;
  mesh_result result;
  {
    node_options node_options;
    node_options.storage.directory = config.run_dir;
    node where(node_options);
    result = train_once(options, where, summary);
    summary.recoveries = recovery_table(where.events().events());
  }
  summary.result = &result;
  print_result(result, summary);
  bool differs = false;
  if (config.compare_fault_free && result.complete && !result.already_complete) {
    summary.fault_free_hash = fault_free_hash(config);
    differs = summary.fault_free_hash != result.weights_hash;
    std::cout << "fault-free     " << summary.fault_free_hash << (differs ? "  DIFFERENT" : "  identical") << '\n';
  }
  if (!arguments.summary.empty()) write_summary(arguments.summary, summary);
  return differs ? 1 : 0;
}

}  // namespace planaria::apps
