// Who else is restarted when one dies.
#include "stand.hpp"

namespace planaria::conformance {

PLANARIA_CONFORMANCE("one-for-one", "one_for_one restarts the dead child alone") {
  s.node().start(supervisor("s", {}, {s.worker("a"), s.worker("b"), s.worker("c")}));
  s.crash("s/b");
  CHECK(s.life("s/a") == 1);
  CHECK(s.life("s/c") == 1);
  CHECK(s.notes("asked ").empty());
}

PLANARIA_CONFORMANCE("one-for-one-escalation", "one_for_one at its limit stops the others in reverse order and ends") {
  s.node().start(once(supervisor("s", {.intensity = 1}, {s.worker("a"), s.worker("b"), s.worker("c")})));
  s.crash("s/b");
  s.tell("s/b", crash_atom::value);
  CHECK(s.end_of("s").find("more than 1 restarts") != std::string::npos);
  CHECK(s.notes("asked ") == texts{"s/c", "s/a"});
  CHECK(s.count(event_kind::escalated, "s") == 1);
}

PLANARIA_CONFORMANCE("one-for-all", "one_for_all stops the others in reverse order, then starts all in order") {
  s.node().start(supervisor("s", {.strategy = strategy::one_for_all}, {s.worker("a"), s.worker("b"), s.worker("c")}));
  s.crash("s/b");
  REQUIRE(s.lives("s/c", 2));
  CHECK(s.notes() == texts{"init s/a#1", "init s/b#1", "init s/c#1", "asked s/c", "asked s/a", "init s/a#2",
                           "init s/b#2", "init s/c#2"});
}

PLANARIA_CONFORMANCE("one-for-all-escalation", "one_for_all at its limit stops the others and ends") {
  s.node().start(
      once(supervisor("s", {.strategy = strategy::one_for_all, .intensity = 1}, {s.worker("a"), s.worker("b")})));
  s.crash("s/a");
  REQUIRE(s.lives("s/b", 2));
  s.tell("s/a", crash_atom::value);
  CHECK(s.end_of("s").find("more than 1 restarts") != std::string::npos);
  CHECK(s.notes("init ").size() == 4);
}

PLANARIA_CONFORMANCE("one-for-all-other-fails",
                     "another child that fails during the restart of all restarts all again") {
  s.node().start(supervisor("s", {.strategy = strategy::one_for_all, .intensity = 3},
                            {s.worker("a"), s.worker("b"), s.worker("c", {.init = failing(2, 2)})}));
  // Its second life is over as soon as the third child's fails.
  s.tell("s/a", crash_atom::value);
  REQUIRE(s.lives("s/c", 3));
  CHECK(s.life("s/a") == 3);
  CHECK(s.life("s/b") == 3);
}

PLANARIA_CONFORMANCE("one-for-all-stopped", "a child that had ended starts again when all are restarted") {
  s.node().start(supervisor("s", {.strategy = strategy::one_for_all},
                            {s.worker("a"), s.worker("t", restart::transient), s.worker("p")}));
  s.tell("s/t", finish_atom::value);
  REQUIRE(s.happens(event_kind::stopped, "s/t"));
  s.node().stop("s/p");
  s.crash("s/a");
  CHECK(s.lives("s/t", 2));
  CHECK(s.lives("s/p", 2));
}

PLANARIA_CONFORMANCE("rest-for-one", "rest_for_one restarts the dead child and those started after it") {
  s.node().start(supervisor("s", {.strategy = strategy::rest_for_one},
                            {s.worker("a"), s.worker("b"), s.worker("c"), s.worker("d")}));
  s.crash("s/b");
  REQUIRE(s.lives("s/d", 2));
  CHECK(s.life("s/a") == 1);
  CHECK(s.notes("asked ") == texts{"s/d", "s/c"});
  const auto inits = s.notes("init ");
  CHECK(texts(inits.begin() + 4, inits.end()) == texts{"s/b#2", "s/c#2", "s/d#2"});
}

PLANARIA_CONFORMANCE("rest-for-one-escalation", "rest_for_one at its limit stops all and ends") {
  s.node().start(once(supervisor("s", {.strategy = strategy::rest_for_one, .intensity = 0},
                                 {s.worker("a"), s.worker("b"), s.worker("c")})));
  s.tell("s/b", crash_atom::value);
  CHECK(s.end_of("s").find("more than 0 restarts") != std::string::npos);
  CHECK(s.notes("asked ") == texts{"s/c", "s/a"});
}

PLANARIA_CONFORMANCE("rest-for-one-other-fails",
                     "a later child that fails during the restart is tried again with those after it") {
  s.node().start(supervisor("s", {.strategy = strategy::rest_for_one, .intensity = 3},
                            {s.worker("a"), s.worker("b"), s.worker("c", {.init = failing(2, 2)}), s.worker("d")}));
  s.crash("s/b");
  REQUIRE(s.lives("s/c", 3));
  CHECK(s.lives("s/d", 2));
  CHECK(s.life("s/a") == 1);
  CHECK(s.life("s/b") == 2);
}

PLANARIA_CONFORMANCE("simple-one-for-one", "dynamic children are restarted one by one") {
  s.node().start(dynamic_supervisor("s", {}, always(s.worker("any"))));
  for (const auto* id : {"a", "b", "c"}) s.node().start_dynamic("s", "", id);
  s.crash("s/b");
  CHECK(s.life("s/a") == 1);
  CHECK(s.life("s/c") == 1);
}

PLANARIA_CONFORMANCE("simple-one-for-one-escalation", "a dynamic supervisor at its limit stops its children and ends") {
  s.node().start(once(dynamic_supervisor("s", {.intensity = 1}, always(s.worker("any")))));
  for (const auto* id : {"a", "b"}) s.node().start_dynamic("s", "", id);
  s.crash("s/b");
  s.tell("s/a", crash_atom::value);
  CHECK(s.end_of("s").find("more than 1 restarts") != std::string::npos);
  CHECK(s.notes("asked ") == texts{"s/b"});
}

PLANARIA_CONFORMANCE("dynamic-strategies", "one_for_all and rest_for_one are refused for dynamic children") {
  for (const auto how : {strategy::one_for_all, strategy::rest_for_one}) {
    const auto why =
        refused([&] { s.node().start(dynamic_supervisor("s", {.strategy = how}, always(s.worker("x")))); });
    CHECK(why.code == errc::invalid_input);
    CHECK(why.says("dynamic children are restarted one by one"));
  }
  CHECK(refused([&] {
          s.node().start(supervisor("s", {.strategy = strategy::simple_one_for_one}, {s.worker("x")}));
        }).code == errc::invalid_input);
}

PLANARIA_CONFORMANCE("restart-order", "a restarted child keeps its place in the order") {
  s.node().start(supervisor("s", {}, {s.worker("a"), s.worker("b"), s.worker("c")}));
  s.crash("s/a");
  CHECK(s.ids("s") == texts{"a", "b", "c"});
  s.node().stop("s");
  CHECK(s.notes("asked ") == texts{"s/c", "s/b", "s/a"});
}

}  // namespace planaria::conformance
