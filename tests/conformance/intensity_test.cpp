// How many restarts a supervisor makes before it gives up.
#include "stand.hpp"

namespace planaria::conformance {
namespace {

std::vector<child_spec> twenty(const stand& s) {
  std::vector<child_spec> many;
  for (int i = 0; i < 20; ++i) many.push_back(s.worker(std::string("w").append(std::to_string(i))));
  return many;
}

}  // namespace

PLANARIA_CONFORMANCE("intensity-0", "an intensity of 0 ends the supervisor at the first failure") {
  s.node().start(once(supervisor("s", {.intensity = 0}, {s.worker("a")})));
  s.tell("s/a", crash_atom::value);
  CHECK(s.end_of("s") == "more than 0 restarts within 5000 ms; the last for \"a\": boom");
  CHECK(s.notes("init ") == texts{"s/a#1"});
}

PLANARIA_CONFORMANCE("intensity-1", "an intensity of 1 allows one restart within the period, and ends at the second") {
  s.node().start(once(supervisor("s", {.intensity = 1}, {s.worker("a")})));
  s.crash("s/a");
  s.tell("s/a", crash_atom::value);
  CHECK(s.end_of("s").find("more than 1 restarts") != std::string::npos);
  CHECK(s.notes("init ") == texts{"s/a#1", "s/a#2"});
}

PLANARIA_CONFORMANCE("intensity-period", "restarts older than the period do not count") {
  s.node().start(supervisor("s", {.intensity = 1, .period = 50ms}, {s.worker("a")}));
  for (int i = 0; i < 4; ++i) {
    s.crash("s/a");
    s.pass(60ms);
  }
  CHECK(s.life("s") == 1);
  CHECK(s.life("s/a") == 5);
}

PLANARIA_CONFORMANCE("intensity-shared", "the restarts of all children count together") {
  s.node().start(once(supervisor("s", {.intensity = 2}, {s.worker("a"), s.worker("b"), s.worker("c")})));
  s.crash("s/a");
  s.crash("s/b");
  s.tell("s/c", crash_atom::value);
  CHECK(s.end_of("s").find("the last for \"c\"") != std::string::npos);
}

PLANARIA_CONFORMANCE("intensity-one-instant",
                     "as many failures in one instant as the intensity allows are all mended") {
  s.node().start(supervisor("s", {.intensity = 20}, twenty(s)));
  for (int i = 0; i < 20; ++i) s.tell("s/w" + std::to_string(i), crash_atom::value);
  for (int i = 0; i < 20; ++i) CHECK(s.lives("s/w" + std::to_string(i), 2));
  CHECK(s.life("s") == 1);
}

PLANARIA_CONFORMANCE("intensity-one-instant-too-many", "one failure more in one instant ends the supervisor") {
  s.node().start(once(supervisor("s", {.intensity = 19}, twenty(s))));
  for (int i = 0; i < 20; ++i) REQUIRE(s.node().kill("s/w" + std::to_string(i)));
  CHECK(s.end_of("s").find("more than 19 restarts") != std::string::npos);
}

PLANARIA_CONFORMANCE("intensity-normal", "the restart of a permanent child that ended normally counts too") {
  s.node().start(once(supervisor("s", {.intensity = 0}, {s.worker("a")})));
  s.tell("s/a", finish_atom::value);
  CHECK(s.end_of("s").find("more than 0 restarts") != std::string::npos);
}

PLANARIA_CONFORMANCE("intensity-none", "ends after which nothing is started again do not count") {
  s.node().start(supervisor("s", {.intensity = 0},
                            {s.worker("a", restart::transient), s.worker("b", restart::temporary), s.worker("c")}));
  s.tell("s/a", finish_atom::value);
  s.tell("s/b", crash_atom::value);
  REQUIRE(s.happens(event_kind::stopped, "s/a"));
  REQUIRE(s.happens(event_kind::detected, "s/b"));
  s.node().stop("s/c");
  s.node().restart("s/c");
  CHECK(s.life("s") == 1);
  CHECK(s.life("s/c") == 2);
}

}  // namespace planaria::conformance
