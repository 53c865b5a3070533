#include "commands.hpp"

#include <planaria/storage/error.hpp>

#include <CLI/CLI.hpp>

#include <exception>
#include <iostream>

namespace {

// 2: the input was refused and nothing was changed; 1: the run failed.
int exit_code(planaria::errc code) {
  using planaria::errc;
  switch (code) {
    case errc::invalid_input:
    case errc::not_found:
    case errc::already_exists:
    case errc::in_use:
    case errc::schema_mismatch:
    case errc::newer_format:
    case errc::corrupt:
    case errc::io:
    case errc::disk_full: return 2;
    default: return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Planaria: distributed training that heals itself"};
  app.require_subcommand(1);
  planaria::apps::train_arguments train;
  planaria::apps::inspect_arguments inspect;
  planaria::apps::sim_arguments simulate;
  planaria::apps::add_train(app, train);
  planaria::apps::add_inspect(app, inspect);
  planaria::apps::add_sim(app, simulate);
  try {
    app.parse(argc, argv);
    if (app.got_subcommand("train")) return planaria::apps::run_train(train);
    if (app.got_subcommand("sim")) return planaria::apps::run_sim(simulate);
    return planaria::apps::run_inspect(inspect);
  } catch (const CLI::ParseError& bad) {
    return app.exit(bad) == 0 ? 0 : 2;
  } catch (const planaria::error& refused) {
    std::cerr << "planaria: " << refused.what() << '\n';
    return exit_code(refused.code());
  } catch (const std::exception& failed) {
    std::cerr << "planaria: " << failed.what() << '\n';
    return 1;
  }
}
