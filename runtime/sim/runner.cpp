#include <planaria/runtime/detail/down_reason.hpp>
#include <planaria/runtime/sim/runner.hpp>
#include <planaria/storage/error.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

namespace planaria::sim {

run_report run_seed(const suite& what, std::uint64_t seed, bool traced) {
  simulation world({.seed = seed, .traced = traced});
  run_report report{.seed = seed};
  const auto run = [&] {
    what.run(world);
    world.verify();
  };
  if (const auto failed = detail::run_guarded(run)) report.failure = detail::to_ending(failed).text;
  report.turns = world.turns();
  report.trace = world.trace();
  return report;
}

range_report run_seeds(const suite& what, const seed_range& range, const std::function<void(const run_report&)>& told) {
  if (range.last < range.first)
    throw error(errc::invalid_input, "seeds " + std::to_string(range.first) + ".." + std::to_string(range.last) +
                                         ": the last comes before the first");
  range_report all;
  std::mutex turn;
  std::atomic<std::uint64_t> next{range.first};
  const auto work = [&] {
    while (true) {
      const auto seed = next.fetch_add(1);
      if (seed > range.last || seed < range.first) return;
      auto one = run_seed(what, seed);
      const std::lock_guard lock(turn);
      if (all.failures.size() >= range.most_failures) return;
      ++all.runs;
      all.turns += one.turns;
      if (told) told(one);
      if (one.failure) all.failures.push_back(std::move(one));
    }
  };
  const auto cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < (range.threads == 0 ? cores : range.threads); ++i) others.emplace_back(work);
  work();
  for (auto& one : others) one.join();
  std::sort(all.failures.begin(), all.failures.end(), [](const auto& a, const auto& b) { return a.seed < b.seed; });
  return all;
}

}  // namespace planaria::sim
