// How a tree goes down.
#include "stand.hpp"

#include <algorithm>

namespace planaria::conformance {

PLANARIA_CONFORMANCE("stop-order",
                     "children are stopped in the reverse of their start order, each once the one after is down") {
  s.node().start(supervisor("s", {}, {s.worker("a"), s.worker("b", {.asked = manners::linger}), s.worker("c")}));
  s.node().stop("s");
  CHECK(s.notes("asked ") == texts{"s/c", "s/b", "s/a"});
  CHECK(s.paths(event_kind::stopped) == texts{"s/c", "s/b", "s/a", "s"});
}

PLANARIA_CONFORMANCE("stop-nested", "a tree is stopped depth first, in reverse") {
  s.node().start(supervisor(
      "s", {},
      {supervisor("x", {}, {s.worker("a"), s.worker("b")}), supervisor("y", {}, {s.worker("c"), s.worker("d")})}));
  s.node().stop("s");
  CHECK(s.paths(event_kind::stopped) == texts{"s/y/d", "s/y/c", "s/y", "s/x/b", "s/x/a", "s/x", "s"});
}

PLANARIA_CONFORMANCE("stop-brutal", "brutal kills at once: the child is not asked") {
  s.node().start(supervisor("s", {}, {stopped_by(s.worker("a", {.asked = manners::stay}), shutdown::brutal())}));
  s.node().stop("s");
  CHECK(s.notes("asked ").empty());
  CHECK(s.paths(event_kind::stopped) == texts{"s/a", "s"});
}

PLANARIA_CONFORMANCE("stop-timeout", "a child that does not end within its timeout is killed") {
  s.node().start(supervisor("s", {}, {stopped_by(s.worker("a", {.asked = manners::stay}), shutdown::timeout(50ms))}));
  s.node().stop("s");
  CHECK(s.notes("asked ") == texts{"s/a"});
  CHECK(s.life("s/a") == 0);
}

PLANARIA_CONFORMANCE("stop-slow", "a slow child within its timeout ends by itself") {
  s.node().start(supervisor("s", {}, {stopped_by(s.worker("a", {.asked = manners::linger}), shutdown::timeout(10s))}));
  CHECK(s.node().start(s.worker("b"), "s") == "s/b");
  s.node().stop("s/a");
  CHECK(s.status("s/a") == child_status::stopped);
  CHECK(s.count(event_kind::stopped, "s/a") == 1);
}

PLANARIA_CONFORMANCE("stop-infinite", "infinite waits for a child as long as it takes") {
  s.node().start(supervisor("s", {}, {stopped_by(s.worker("a", {.asked = manners::linger}), shutdown::infinite())}));
  s.node().stop("s");
  CHECK(s.paths(event_kind::stopped) == texts{"s/a", "s"});
}

PLANARIA_CONFORMANCE("stop-backlog", "a request to shut down comes before the messages that a child has not handled") {
  s.node().start(supervisor("s", {}, {s.worker("a", {.init = [&s](const child_context& me) {
                                                 for (int i = 0; i < 1000; ++i)
                                                   s.node().find(me.path()).send(crash_atom::value);
                                               }})}));
  s.node().stop("s/a");
  CHECK(s.status("s/a") == child_status::stopped);
}

PLANARIA_CONFORMANCE("stop-dynamic", "dynamic children are asked all at once") {
  s.node().start(dynamic_supervisor("s", {}, always(s.worker("any", {.asked = manners::linger}))));
  for (const auto* id : {"a", "b", "c"}) s.node().start_dynamic("s", "", id);
  s.node().stop("s");
  // One after the other would have them gone one by one.
  auto asked = s.notes("asked ");
  std::sort(asked.begin(), asked.end());
  CHECK(asked == texts{"s/a", "s/b", "s/c"});
  CHECK(s.paths(event_kind::stopped).size() == 4);
  CHECK(s.paths(event_kind::stopped).back() == "s");
}

PLANARIA_CONFORMANCE("stop-dynamic-brutal", "dynamic children of brutal shutdown are killed") {
  s.node().start(
      dynamic_supervisor("s", {}, always(stopped_by(s.worker("any", {.asked = manners::stay}), shutdown::brutal()))));
  for (const auto* id : {"a", "b"}) s.node().start_dynamic("s", "", id);
  s.node().stop("s");
  CHECK(s.notes("asked ").empty());
}

PLANARIA_CONFORMANCE("stop-dynamic-timeout", "dynamic children that do not end within the timeout are killed") {
  s.node().start(dynamic_supervisor(
      "s", {}, always(stopped_by(s.worker("any", {.asked = manners::stay}), shutdown::timeout(50ms)))));
  for (const auto* id : {"a", "b"}) s.node().start_dynamic("s", "", id);
  s.node().stop("s");
  CHECK(s.notes("asked ").size() == 2);
  CHECK(s.life("s/a") == 0);
}

PLANARIA_CONFORMANCE(
    "stop-crash", "a child that ends otherwise than asked is stopped all the same: its supervisor's end is orderly") {
  s.node().start(once(supervisor("s", {}, {s.worker("a"), s.worker("b", {.asked = manners::crash})})));
  s.node().stop("s");
  CHECK(s.end_of("s").empty());
  CHECK(s.notes("asked ") == texts{"s/b", "s/a"});
  CHECK(s.count(event_kind::escalated, "s") == 0);
}

PLANARIA_CONFORMANCE("stop-meanwhile",
                     "a child that dies while its supervisor waits for another is not started again") {
  const script last{.asked = manners::linger, .when_asked = [&s] { s.node().find("s/a").send(crash_atom::value); }};
  s.node().start(once(supervisor("s", {}, {s.worker("a"), s.worker("b"), s.worker("c", last)})));
  s.node().stop("s");
  CHECK(s.end_of("s").empty());
  CHECK(s.notes("init ") == texts{"s/a#1", "s/b#1", "s/c#1"});
  CHECK(s.count(event_kind::escalated, "s") == 0);
}

PLANARIA_CONFORMANCE("stop-killed", "a supervisor killed while it stops its children leaves none") {
  s.node().start(supervisor("top", {},
                            {supervisor("s", {.strategy = strategy::one_for_all},
                                        {s.worker("a"), s.worker("b", {.asked = manners::stay})})}));
  // The group's restart stops b, which does not end.
  s.tell("top/s/a", crash_atom::value);
  REQUIRE(s.eventually([&] { return s.notes("asked ") == texts{"top/s/b"}; }));
  s.node().kill("top/s");
  REQUIRE(s.lives("top/s/b", 2));
  CHECK(s.lives("top/s", 2));
  CHECK(s.notes("init ") == texts{"top/s/a#1", "top/s/b#1", "top/s/a#2", "top/s/b#2"});
}

PLANARIA_CONFORMANCE("stop-node", "a node's end stops its children in reverse order") {
  s.node().start(s.worker("a"));
  s.node().start(supervisor("s", {}, {s.worker("b")}));
  s.node().start(s.worker("c"));
  s.reboot();
  CHECK(s.notes("asked ") == texts{"c", "s/b", "a"});
}

}  // namespace planaria::conformance
