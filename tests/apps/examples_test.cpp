#include "training.hpp"

using namespace planaria::testing;

TEST_CASE("the embedding example trains while it works") {
  const auto done = run({PLANARIA_EXAMPLE_EMBED});
  require_success(done);
  check_says(done, "meanwhile");
}

TEST_CASE("the custom actor's count survives its deaths and the node's") {
  const temporary_directory dir;
  const auto done = run({PLANARIA_EXAMPLE_CUSTOM_ACTOR, (dir / "run").string()});
  require_success(done);
  check_says(done, "the disk of this example is on fire");
  check_says(done, "the count is 3, and 6 after");
}

TEST_CASE("the supervision example prints its tree before and after a death") {
  const auto done = run({PLANARIA_EXAMPLE_SUPERVISION});
  require_success(done);
  check_says(done, "    van  worker running, incarnation 1, restarts 0\n");
  check_says(done, "an apple costs 30, 99 are left");
  check_says(done,
             "      van  worker running, incarnation 2, restarts 1\n      bicycle  worker running, incarnation 2");
}
