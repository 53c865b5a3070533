// Every suite of the runtime, over many seeds.
#include <planaria/runtime/sim/suites/suites.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

namespace planaria::sim {
namespace {

// PLANARIA_SEEDS, where sanitizers make a run many times slower.
std::uint64_t seeds() {
  const auto* asked = std::getenv("PLANARIA_SEEDS");
  return asked == nullptr ? 2000 : std::stoull(asked);
}

}  // namespace

TEST_CASE("every property of every suite holds for every seed") {
  for (const auto& one : runtime_suites()) {
    INFO("suite " << one.name << ", seeds 1.." << seeds());
    const auto report = run_seeds(one, {.first = 1, .last = seeds()});
    CHECK(report.runs == seeds());
    for (const auto& failed : report.failures) FAIL_CHECK("seed " << failed.seed << ": " << *failed.failure);
  }
}

TEST_CASE("a seed of a suite runs the same way twice, turn by turn") {
  for (const auto& one : runtime_suites())
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      INFO("suite " << one.name << ", seed " << seed);
      const auto first = run_seed(one, seed, true);
      CHECK(first.trace.size() > 5);
      CHECK(first.trace == run_seed(one, seed, true).trace);
    }
}

TEST_CASE("what a run throws is told with its seed, and a failure ends a range early") {
  const suite bad{"bad", "", [](simulation& world) {
                    if (world.seed() % 10 == 0) throw violation("every tenth");
                  }};
  const auto report = run_seeds(bad, {.first = 1, .last = 100, .threads = 2, .most_failures = 3});
  CHECK(report.failures.size() == 3);
  CHECK(report.failures[0].seed == 10);
  CHECK(report.failures[0].failure == "every tenth");
  CHECK(report.runs < 100);
  CHECK_THROWS_WITH(run_seeds(bad, {.first = 2, .last = 1}), doctest::Contains("2..1"));
}

}  // namespace planaria::sim
