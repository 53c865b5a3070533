// Which ends a child is started again after.
#include "stand.hpp"

namespace planaria::conformance {
namespace {

enum class way : std::uint8_t { normal, shutdown, crash, kill };

// Starts one child beside another, ends it so, and waits until its supervisor has dealt with that.
void end_one(stand& s, restart when, way how) {
  s.node().start(supervisor("s", {.intensity = 5}, {s.worker("a", when), s.worker("other")}));
  switch (how) {
    case way::normal: s.tell("s/a", finish_atom::value); break;
    case way::shutdown: s.tell("s/a", leave_atom::value); break;
    case way::crash: s.tell("s/a", crash_atom::value); break;
    case way::kill: REQUIRE(s.node().kill("s/a")); break;
  }
  const bool orderly = how == way::normal || how == way::shutdown;
  REQUIRE(s.happens(orderly ? event_kind::stopped : event_kind::detected, "s/a"));
}

void is_restarted(stand& s) {
  CHECK(s.lives("s/a", 2));
  CHECK(s.status("s/a") == child_status::running);
  CHECK(s.life("s/other") == 1);
}

void stays_down(stand& s) {
  CHECK(s.status("s/a") == child_status::stopped);
  CHECK(s.life("s/a") == 0);
  CHECK(s.life("s/other") == 1);
}

void is_forgotten(stand& s) {
  CHECK_FALSE(s.status("s/a").has_value());
  CHECK(s.life("s/a") == 0);
  CHECK(s.life("s/other") == 1);
}

}  // namespace

PLANARIA_CONFORMANCE("permanent-normal", "a permanent child is started again after a normal end") {
  end_one(s, restart::permanent, way::normal);
  is_restarted(s);
}
PLANARIA_CONFORMANCE("permanent-shutdown", "a permanent child is started again after a shutdown") {
  end_one(s, restart::permanent, way::shutdown);
  is_restarted(s);
}
PLANARIA_CONFORMANCE("permanent-abnormal", "a permanent child is started again after a crash") {
  end_one(s, restart::permanent, way::crash);
  is_restarted(s);
}
PLANARIA_CONFORMANCE("transient-normal",
                     "a transient child is not started again after a normal end, and its spec stays") {
  end_one(s, restart::transient, way::normal);
  stays_down(s);
}
PLANARIA_CONFORMANCE("transient-shutdown", "a transient child is not started again after a shutdown") {
  end_one(s, restart::transient, way::shutdown);
  stays_down(s);
}
PLANARIA_CONFORMANCE("transient-abnormal", "a transient child is started again after a crash") {
  end_one(s, restart::transient, way::crash);
  is_restarted(s);
}
PLANARIA_CONFORMANCE("temporary-normal", "a temporary child is forgotten after a normal end") {
  end_one(s, restart::temporary, way::normal);
  is_forgotten(s);
}
PLANARIA_CONFORMANCE("temporary-shutdown", "a temporary child is forgotten after a shutdown") {
  end_one(s, restart::temporary, way::shutdown);
  is_forgotten(s);
}
PLANARIA_CONFORMANCE("temporary-abnormal", "a temporary child is forgotten after a crash, and never started again") {
  end_one(s, restart::temporary, way::crash);
  is_forgotten(s);
}
PLANARIA_CONFORMANCE("killed", "a kill is an abnormal end: permanent and transient children are started again") {
  end_one(s, restart::transient, way::kill);
  is_restarted(s);
}

PLANARIA_CONFORMANCE("temporary-sibling",
                     "a temporary child that is stopped with its siblings is forgotten with its spec") {
  s.node().start(supervisor("s", {.strategy = strategy::one_for_all},
                            {s.worker("a"), s.worker("t", restart::temporary), s.worker("b")}));
  s.crash("s/a");
  REQUIRE(s.lives("s/b", 2));
  CHECK(s.ids("s") == texts{"a", "b"});
  CHECK(s.notes("asked ") == texts{"s/b", "s/t"});
}

PLANARIA_CONFORMANCE("temporary-bystander",
                     "a temporary child is left alone by a sibling's restart under one_for_one") {
  s.node().start(supervisor("s", {}, {s.worker("t", restart::temporary), s.worker("a")}));
  s.crash("s/a");
  CHECK(s.life("s/t") == 1);
  CHECK(s.ids("s") == texts{"t", "a"});
}

PLANARIA_CONFORMANCE("temporary-cause", "a temporary child's crash restarts no sibling, whatever the strategy") {
  s.node().start(
      supervisor("s", {.strategy = strategy::one_for_all}, {s.worker("a"), s.worker("t", restart::temporary)}));
  s.die("s/t");
  CHECK(s.ids("s") == texts{"a"});
  CHECK(s.life("s/a") == 1);
  CHECK(s.status("s/a") == child_status::running);
}

}  // namespace planaria::conformance
