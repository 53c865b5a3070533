// Planaria's benchmarks: each subcommand prints figures as lines of JSON. compare.py runs them beside PyTorch's.
#include "bench.hpp"

#include <planaria/actors/tensor_memory.hpp>

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <exception>
#include <iostream>

int main(int argc, char** argv) {
  namespace bench = planaria::bench;
  CLI::App app{"Planaria's benchmarks"};
  app.require_subcommand(1);
  std::int64_t ranks = 2;
  std::int64_t kills = 200;
  std::string name = "cnn";
  std::string folder;
  auto* all_reduce = app.add_subcommand("all-reduce", "in-process all-reduce of several sizes");
  all_reduce->add_option("--ranks", ranks);
  auto* mesh = app.add_subcommand("mesh", "samples a second of a mesh");
  mesh->add_option("--model", name, "cnn, mlp or wide");
  mesh->add_option("--peers", ranks);
  auto* floor = app.add_subcommand("floor", "as `mesh`, but plain loops that do not communicate");
  floor->add_option("--model", name);
  floor->add_option("--peers", ranks);
  auto* overhead = app.add_subcommand("overhead", "one peer against a plain LibTorch loop");
  overhead->add_option("--model", name);
  auto* snapshots = app.add_subcommand("snapshots", "the cost of a snapshot every 50 steps");
  snapshots->add_option("--model", name);
  snapshots->add_option("--folder", folder, "where the run directories go; removed afterwards")->required();
  auto* recovery = app.add_subcommand("recovery", "times from a peer's kill to its replacement's contribution");
  recovery->add_option("--kills", kills);
  auto* respawn = app.add_subcommand("respawn", "times from a stateless child's crash to its successor");
  respawn->add_option("--kills", kills);
  try {
    app.parse(argc, argv);
    planaria::keep_freed_memory();
    if (all_reduce->parsed()) bench::run_all_reduce(ranks);
    if (mesh->parsed()) bench::run_mesh(name, ranks);
    if (floor->parsed()) bench::run_floor(name, ranks);
    if (overhead->parsed()) bench::run_overhead(name);
    if (snapshots->parsed()) bench::run_snapshots(name, folder);
    if (recovery->parsed()) bench::run_recovery(kills);
    if (respawn->parsed()) bench::run_respawn(kills);
    return EXIT_SUCCESS;
  } catch (const CLI::ParseError& bad) {
    return app.exit(bad) == 0 ? EXIT_SUCCESS : 2;
  } catch (const std::exception& failed) {
    std::cerr << "planaria-bench: " << failed.what() << '\n';
    return EXIT_FAILURE;
  }
}
