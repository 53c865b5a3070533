#include "commands.hpp"

#include <planaria/runtime/sim/suites/suites.hpp>
#include <planaria/storage/error.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <iostream>

namespace planaria::apps {
namespace {

using clock = std::chrono::steady_clock;

std::uint64_t parse_seed(const std::string& text, const std::string& all) {
  std::uint64_t value = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || bad != std::errc() || end != text.data() + text.size())
    throw error(errc::invalid_input, fmt::format("--seeds {}: a seed, or FIRST..LAST, is wanted", all));
  return value;
}

sim::seed_range parse_seeds(const sim_arguments& arguments) {
  const auto& text = arguments.seeds;
  const auto dots = text.find("..");
  sim::seed_range range{.first = parse_seed(text.substr(0, dots), text), .threads = arguments.threads};
  range.last = dots == std::string::npos ? range.first : parse_seed(text.substr(dots + 2), text);
  if (range.last < range.first)
    throw error(errc::invalid_input, fmt::format("--seeds {}: the last comes before the first", text));
  return range;
}

std::vector<sim::suite> chosen(const std::vector<std::string>& names) {
  const auto& all = sim::runtime_suites();
  std::vector<sim::suite> picked;
  std::string known;
  for (const auto& one : all) known += (known.empty() ? "" : ", ") + one.name;
  for (const auto& name : names) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
    if (found == all.end())
      throw error(errc::invalid_input, fmt::format("--suite {}: there is no such suite; known are {}", name, known));
    picked.push_back(*found);
  }
  return picked.empty() ? all : picked;
}

// Every second: how far it has come.
class progress_line {
 public:
  progress_line(std::string name, const sim::seed_range& range) : name_(std::move(name)), range_(range) {}

  void count() {
    ++runs_;
    if (clock::now() - told_ < std::chrono::seconds(1)) return;
    told_ = clock::now();
    std::cerr << fmt::format("{}: {} of {} seeds\n", name_, runs_, range_.last - range_.first + 1);
  }

 private:
  const std::string name_;
  const sim::seed_range range_;
  std::uint64_t runs_ = 0;
  clock::time_point told_ = clock::now();
};

bool run_suite(const sim::suite& what, const sim::seed_range& range) {
  const auto begun = clock::now();
  progress_line progress(what.name, range);
  const auto report = sim::run_seeds(what, range, [&](const sim::run_report&) { progress.count(); });
  const std::chrono::duration<double> took = clock::now() - begun;
  std::cout << fmt::format("{:<10} seeds {}..{}: {} runs, {} turns, {:.1f} s, {} failed\n", what.name, range.first,
                           range.last, report.runs, report.turns, took.count(), report.failures.size());
  for (const auto& one : report.failures)
    std::cout << fmt::format("  seed {}, turn {}: {}\n    again: planaria sim --suite {} --seeds {} --trace FILE\n",
                             one.seed, one.turns, *one.failure, what.name, one.seed);
  return report.failures.empty();
}

// One run with every turn written down.
bool run_traced(const sim::suite& what, std::uint64_t seed, const std::string& path) {
  std::ofstream file(path);
  if (!file) throw error(errc::io, fmt::format("--trace {}: cannot be written", path));
  const auto report = sim::run_seed(what, seed, true);
  for (const auto& line : report.trace) file << line << '\n';
  file.close();
  if (!file) throw error(errc::io, fmt::format("--trace {}: writing failed", path));
  std::cout << fmt::format("{} seed {}: {} turns, {}\n", what.name, seed, report.turns,
                           report.failure.value_or("every property held"));
  return !report.failure;
}

}  // namespace

void add_sim(CLI::App& app, sim_arguments& to) {
  auto* command = app.add_subcommand("sim", "Runs the real actors in simulated worlds, one for every seed");
  command->add_option("--suite", to.suites, "what to simulate; all suites when it is not given");
  command->add_option("--seeds", to.seeds, "a seed, or FIRST..LAST")->capture_default_str();
  command->add_option("--threads", to.threads, "seeds that run side by side; as many as cores when it is not given");
  command->add_option("--trace", to.trace, "writes every turn of one suite's one seed to this file");
  command->add_flag("--list", to.list, "only names the suites");
}

int run_sim(const sim_arguments& arguments) {
  if (arguments.list) {
    for (const auto& one : sim::runtime_suites()) std::cout << fmt::format("{:<10} {}\n", one.name, one.about);
    return 0;
  }
  const auto range = parse_seeds(arguments);
  const auto suites = chosen(arguments.suites);
  if (!arguments.trace.empty()) {
    if (suites.size() != 1 || range.first != range.last)
      throw error(errc::invalid_input, "--trace: wants one --suite and one seed");
    return run_traced(suites.front(), range.first, arguments.trace) ? 0 : 1;
  }
  bool good = true;
  for (const auto& one : suites) good = run_suite(one, range) && good;
  return good ? 0 : 1;
}

}  // namespace planaria::apps
