// Supervisors below supervisors: escalation, storms, deaths of the supervisors themselves.
#include "stand.hpp"

namespace planaria::conformance {

PLANARIA_CONFORMANCE("escalation", "a supervisor that gives up is started again by its own, with all of its children") {
  s.node().start(
      supervisor("top", {.intensity = 5}, {supervisor("s", {.intensity = 0}, {s.worker("a"), s.worker("b")})}));
  s.tell("top/s/b", crash_atom::value);
  CHECK(s.lives("top/s/b", 2));
  CHECK(s.life("top/s/a") == 2);
  CHECK(s.lives("top/s", 2));
  CHECK(s.life("top") == 1);
  CHECK(s.count(event_kind::escalated, "top/s") == 1);
}

PLANARIA_CONFORMANCE("escalation-chain", "failures climb as many levels as give up") {
  s.node().start(
      once(supervisor("top", {.intensity = 0},
                      {supervisor("x", {.intensity = 0}, {supervisor("y", {.intensity = 0}, {s.worker("a")})})})));
  s.tell("top/x/y/a", crash_atom::value);
  CHECK(s.end_of("top").find("more than 0 restarts") != std::string::npos);
  CHECK(s.paths(event_kind::escalated) == texts{"top/x/y", "top/x", "top"});
}

PLANARIA_CONFORMANCE("storm", "a restart storm across levels ends: each level makes all of its restarts, and no more") {
  // Each life crashes as soon as it has started.
  auto leaf = s.worker("a");
  leaf.start = [](caf::actor_system& system, child_context me) {
    return system.spawn(
        [](caf::event_based_actor* self, const child_context&) -> caf::behavior {
          self->send(self, crash_atom::value);
          return {[self](crash_atom) { self->quit(caf::exit_reason::unhandled_exception); }};
        },
        me);
  };
  const auto started = [&s] {
    return s.count(event_kind::started, "top/x/a") + s.count(event_kind::respawned, "top/x/a");
  };
  try {
    s.node().start(once(supervisor("top", {.intensity = 2, .backoff = {.step = 0ms}},
                                   {supervisor("x", {.intensity = 3, .backoff = {.step = 0ms}}, {leaf})})));
    CHECK(s.end_of("top").find("more than 2 restarts") != std::string::npos);
  } catch (const error& refusal) {
    // It gave up before anybody heard that it had started.
    CHECK(std::string(refusal.what()) != "");
  }
  CHECK(s.eventually([&] { return s.life("top/x/a") == 0; }));
  // Four lives in each of x's three, if none of them died in its start.
  CHECK(started() <= 12);
}

PLANARIA_CONFORMANCE("supervisor-killed", "a killed supervisor takes its children down, and comes back with them") {
  s.node().start(supervisor("top", {}, {supervisor("s", {}, {s.worker("a"), s.worker("b")})}));
  s.node().kill("top/s");
  REQUIRE(s.lives("top/s", 2));
  CHECK(s.life("top/s/a") == 2);
  CHECK(s.life("top/s/b") == 2);
  CHECK(s.notes("asked ").empty());
}

PLANARIA_CONFORMANCE("supervisor-killed-restarting",
                     "a supervisor killed while it waits to restart a child comes back with all of them") {
  s.node().start(supervisor("top", {}, {supervisor("s", long_pauses(), {s.worker("a"), s.worker("b")})}));
  s.die("top/s/a");
  s.node().kill("top/s");
  REQUIRE(s.lives("top/s", 2));
  CHECK(s.life("top/s/a") == 2);
  CHECK(s.life("top/s/b") == 2);
}

PLANARIA_CONFORMANCE("group-of-supervisors", "one_for_all restarts whole trees, each from its first child") {
  s.node().start(supervisor("top", {.strategy = strategy::one_for_all},
                            {supervisor("x", {}, {s.worker("a")}), supervisor("y", {}, {s.worker("b")})}));
  s.node().kill("top/x");
  REQUIRE(s.lives("top/y/b", 2));
  CHECK(s.life("top/x/a") == 2);
  CHECK(s.notes("asked ") == texts{"top/y/b"});
}

PLANARIA_CONFORMANCE("root-killed", "a killed root comes back with the children that it was given") {
  s.node().start(s.worker("a"));
  s.node().start(supervisor("s", {}, {s.worker("b")}));
  REQUIRE(s.node().kill(""));
  CHECK(s.lives("s/b", 2));
  CHECK(s.lives("a", 2));
  CHECK(s.lives("", 2));
}

}  // namespace planaria::conformance
