#include "commands.hpp"
#include "progress.hpp"

#include <planaria/runtime/event_log.hpp>
#include <planaria/runtime/node.hpp>
#include <planaria/storage/snapshot.hpp>
#include <planaria/storage/store.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>

namespace planaria::apps {
namespace {

void print_tree(const child_view& view, int depth) {
  const auto slash = view.path.rfind('/');
  const auto name = view.path.substr(slash == std::string::npos ? 0 : slash + 1);
  std::cout << fmt::format("{:>{}}{:<{}} {:<10} incarnation {:<4} restarts {}\n", "", 2 * depth + 2, name,
                           30 - 2 * depth, to_string(view.status), view.incarnation, view.restarts);
  for (const auto& child : view.children) print_tree(child, depth + 1);
}

std::string time_text(std::chrono::system_clock::time_point at) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(std::chrono::system_clock::to_time_t(at)));
}

}  // namespace

void add_inspect(CLI::App& app, inspect_arguments& to) {
  auto* command =
      app.add_subcommand("inspect", "Shows a run directory: tree, snapshots, events; works beside a live run");
  command->add_option("run_dir", to.run_dir, "the run directory")->required();
  command->add_option("--events", to.events, "how many of the newest events to show");
  command->add_flag("--json", to.json, "the supervision tree alone, as one JSON object");
}

int run_inspect(const inspect_arguments& arguments) {
  store kept({.directory = arguments.run_dir, .mode = open_mode::read_only});
  if (arguments.json) {
    std::cout << to_json(node::tree(kept)) << '\n';
    return 0;
  }
  const auto holder = store::holder(arguments.run_dir);
  std::cout << arguments.run_dir << ": " << (holder ? "held by " + *holder : std::string("no process holds it"))
            << "\n\n";
  std::cout << (holder ? "supervision tree\n" : "supervision tree, as last seen\n");
  for (const auto& child : node::tree(kept).children) print_tree(child, 0);
  std::cout << "\nsnapshots\n";
  for (const auto& s : snapshots(kept).list())
    std::cout << fmt::format("  {:>6}  {:<12} step {:<8} {:>12} bytes  {} parts  {} UTC  {}\n", snapshot_name(s.id),
                             s.run, s.step, s.bytes, s.parts.size(), time_text(s.committed_at),
                             s.verified_at ? "verified" : "not verified");
  const auto events = event_log::history(kept);
  std::cout << fmt::format("\nevents by boot (newest {} of {})\n", std::min(arguments.events, events.size()),
                           events.size());
  for (auto i = events.size() - std::min(arguments.events, events.size()); i < events.size(); ++i) {
    const auto& e = events[i];
    std::cout << fmt::format("  {:>3}  {} UTC  {:<14} {} #{}  {}\n", e.boot, time_text(e.at), to_string(e.kind), e.path,
                             e.incarnation, e.reason);
  }
  const auto recoveries = recovery_table(events);
  if (!recoveries.empty()) std::cout << '\n' << recovery_text(recoveries);
  return 0;
}

}  // namespace planaria::apps
