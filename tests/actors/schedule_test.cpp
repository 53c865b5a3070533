#include "test.hpp"

#include <planaria/actors/schedule.hpp>

#include <cmath>

using namespace planaria;

TEST_CASE("the factor depends on the step alone") {
  CHECK(schedule{}.factor(0) == 1.0);
  CHECK(schedule{}.factor(1'000'000) == 1.0);
  const schedule step{.how = schedule::kind::step, .step_size = 10, .gamma = 0.5};
  CHECK(step.factor(9) == 1.0);
  CHECK(step.factor(10) == 0.5);
  CHECK(step.factor(25) == 0.25);
  const schedule cosine{.how = schedule::kind::cosine, .total_steps = 100, .floor = 0.1};
  CHECK(cosine.factor(0) == doctest::Approx(1.0));
  CHECK(cosine.factor(50) == doctest::Approx(0.55));
  CHECK(cosine.factor(100) == doctest::Approx(0.1));
  CHECK(cosine.factor(1000) == doctest::Approx(0.1));
}

TEST_CASE("warm-up grows to the full rate") {
  const schedule warm{.warmup_steps = 4};
  CHECK(warm.factor(0) == 0.25);
  CHECK(warm.factor(3) == 1.0);
  CHECK(warm.factor(4) == 1.0);
}

TEST_CASE("different schedules describe themselves differently") {
  const schedule a{.how = schedule::kind::step, .step_size = 10};
  auto b = a;
  b.gamma = 0.2;
  auto c = a;
  c.warmup_steps = 1;
  CHECK(a.describe() != b.describe());
  CHECK(a.describe() != c.describe());
  CHECK(a.describe() == schedule{.how = schedule::kind::step, .step_size = 10}.describe());
}
