#include "expect_error.hpp"

#include <planaria/actors/sampler.hpp>

#include <algorithm>
#include <map>

using namespace planaria;
using testing::expect_error;

TEST_CASE("every sample is dealt exactly once an epoch, for every number of ranks and every tail") {
  for (const std::int64_t samples : {12, 13, 17, 24, 25})
    for (const std::int64_t ranks : {1, 2, 3, 5})
      for (const std::int64_t batch : {1, 2}) {
        CAPTURE(samples);
        CAPTURE(ranks);
        CAPTURE(batch);
        const sampler plan({.seed = 4, .samples = samples, .batch = batch, .ranks = ranks});
        for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
          std::map<std::int64_t, int> uses;
          for (std::uint64_t s = 0; s < plan.steps_per_epoch(); ++s)
            for (std::int64_t r = 0; r < ranks; ++r)
              for (const auto index : plan.samples(epoch * plan.steps_per_epoch() + s, r)) ++uses[index];
          CHECK(static_cast<std::int64_t>(uses.size()) == samples);
          CHECK(std::all_of(uses.begin(), uses.end(), [](const auto& u) { return u.second == 1; }));
        }
      }
}

TEST_CASE("a step's samples depend on the seed, the epoch, the step and the rank alone") {
  const sampler_options options{.seed = 9, .samples = 100, .batch = 4, .ranks = 3};
  const sampler one(options);
  const sampler other(options);
  for (const std::uint64_t step : {30, 2, 17, 8, 0}) CHECK(one.samples(step, 1) == other.samples(step, 1));
  auto changed = options;
  changed.seed = 10;
  CHECK(one.samples(0, 0) != sampler(changed).samples(0, 0));
  CHECK(*one.order(0) != *one.order(1));
}

TEST_CASE("the tail is dealt evenly, lower ranks first") {
  const sampler plan({.seed = 1, .samples = 14, .batch = 2, .ranks = 5});
  REQUIRE(plan.steps_per_epoch() == 2);
  CHECK(plan.samples(1, 0).size() == 1);
  CHECK(plan.samples(1, 3).size() == 1);
  CHECK(plan.samples(1, 4).empty());
}

TEST_CASE("without shuffling the samples come in order") {
  const sampler plan({.seed = 1, .samples = 8, .batch = 2, .ranks = 2, .shuffle = false});
  CHECK(plan.samples(0, 0) == std::vector<std::int64_t>{0, 1});
  CHECK(plan.samples(0, 1) == std::vector<std::int64_t>{2, 3});
  CHECK(plan.samples(3, 1) == std::vector<std::int64_t>{6, 7});
}

TEST_CASE("the order of a seed is what it was") {
  // Snapshots are resumed by later versions: the order is part of what is stored.
  CHECK(*sampler({.seed = 7, .samples = 8, .batch = 1}).order(3) ==
        *sampler({.seed = 7, .samples = 8, .batch = 4}).order(3));
  const auto order = *sampler({.seed = 7, .samples = 8, .batch = 1}).order(3);
  const std::vector<std::int64_t> golden{3, 5, 7, 2, 0, 6, 4, 1};
  CHECK(order == golden);
}

TEST_CASE("impossible plans are refused") {
  expect_error(
      errc::invalid_input, [] { sampler plan({.samples = 10, .batch = 4, .ranks = std::int64_t{1} << 61}); },
      "more than can be counted");
  expect_error(
      errc::invalid_input, [] { sampler plan({.samples = 10, .batch = 2, .ranks = 0}); }, "peers");
  expect_error(
      errc::invalid_input, [] { sampler plan({.samples = 10, .batch = 0, .ranks = 1}); }, "batch");
  expect_error(
      errc::invalid_input, [] { sampler plan({.samples = 10, .batch = 11, .ranks = 1}); }, "11", "10");
}
