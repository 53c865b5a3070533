// Children whose end ends their supervisor.
#include "stand.hpp"

namespace planaria::conformance {
namespace {

constexpr supervisor_options any{.intensity = 5, .auto_shutdown = auto_shutdown::any_significant};
constexpr supervisor_options all{.intensity = 5, .auto_shutdown = auto_shutdown::all_significant};

}  // namespace

PLANARIA_CONFORMANCE("significant-any",
                     "any_significant: the first significant child that ends normally ends the supervisor in order") {
  s.node().start(once(supervisor("s", any,
                                 {s.worker("a"), significant(s.worker("b", restart::transient)),
                                  significant(s.worker("c", restart::transient))})));
  s.tell("s/b", finish_atom::value);
  CHECK(s.end_of("s").empty());
  CHECK(s.notes("asked ") == texts{"s/c", "s/a"});
  CHECK(s.count(event_kind::escalated, "s") == 0);
}

PLANARIA_CONFORMANCE("significant-all", "all_significant: the last significant child that ends ends the supervisor") {
  s.node().start(once(supervisor("s", all,
                                 {s.worker("a"), significant(s.worker("b", restart::transient)),
                                  significant(s.worker("c", restart::transient))})));
  s.tell("s/b", finish_atom::value);
  REQUIRE(s.happens(event_kind::stopped, "s/b"));
  CHECK(s.status("s/c") == child_status::running);
  s.tell("s/c", leave_atom::value);
  CHECK(s.end_of("s").empty());
  CHECK(s.notes("asked ") == texts{"s/a"});
}

PLANARIA_CONFORMANCE("significant-crash", "a significant transient child's crash is mended and ends nothing") {
  s.node().start(supervisor("s", any, {significant(s.worker("a", restart::transient))}));
  s.crash("s/a");
  CHECK(s.life("s") == 1);
  CHECK(s.status("s/a") == child_status::running);
}

PLANARIA_CONFORMANCE("significant-temporary", "a significant temporary child ends the supervisor however it ends") {
  s.node().start(once(supervisor("s", any, {significant(s.worker("a", restart::temporary)), s.worker("b")})));
  s.tell("s/a", crash_atom::value);
  CHECK(s.end_of("s").empty());
  CHECK(s.notes("asked ") == texts{"s/b"});
}

PLANARIA_CONFORMANCE("significant-not", "a child that is not significant ends nothing") {
  s.node().start(supervisor("s", any,
                            {s.worker("a", restart::transient), s.worker("t", restart::temporary),
                             significant(s.worker("b", restart::transient))}));
  s.tell("s/a", finish_atom::value);
  s.tell("s/t", crash_atom::value);
  REQUIRE(s.happens(event_kind::stopped, "s/a"));
  REQUIRE(s.happens(event_kind::detected, "s/t"));
  CHECK(s.status("s/b") == child_status::running);
}

PLANARIA_CONFORMANCE("significant-asked", "a significant child that is stopped by request ends nothing") {
  s.node().start(supervisor("s", any, {significant(s.worker("a", restart::transient)), s.worker("b")}));
  s.node().stop("s/a");
  CHECK(s.status("s/a") == child_status::stopped);
  CHECK(s.status("s/b") == child_status::running);
}

PLANARIA_CONFORMANCE("significant-sibling", "a significant child that is stopped with its siblings ends nothing") {
  auto options = any;
  options.strategy = strategy::one_for_all;
  s.node().start(supervisor("s", options, {s.worker("a"), significant(s.worker("b", restart::transient))}));
  s.crash("s/a");
  CHECK(s.lives("s/b", 2));
  CHECK(s.life("s") == 1);
}

PLANARIA_CONFORMANCE("significant-dynamic", "a significant dynamic child ends its supervisor") {
  s.node().start(once(dynamic_supervisor("s", any, always(significant(s.worker("any", restart::transient))))));
  s.node().start_dynamic("s", "", "a");
  s.node().start_dynamic("s", "", "b");
  s.tell("s/a", finish_atom::value);
  CHECK(s.end_of("s").empty());
  CHECK(s.notes("asked ") == texts{"s/b"});
}

PLANARIA_CONFORMANCE("significant-escalation",
                     "a permanent supervisor that ended by auto_shutdown is started again, a transient one is not") {
  const auto below = [&s](std::string id) {
    return supervisor(std::move(id), any, {significant(s.worker("a", restart::transient))});
  };
  auto transient = below("t");
  transient.restart = restart::transient;
  s.node().start(supervisor("top", {.intensity = 5}, {below("p"), transient}));
  s.tell("top/p/a", finish_atom::value);
  CHECK(s.lives("top/p/a", 2));
  s.tell("top/t/a", finish_atom::value);
  REQUIRE(s.happens(event_kind::stopped, "top/t"));
  CHECK(s.status("top/t") == child_status::stopped);
}

PLANARIA_CONFORMANCE("significant-chain", "a significant supervisor's orderly end ends the one above it") {
  auto below = supervisor("below", any, {significant(s.worker("a", restart::transient))});
  below.restart = restart::transient;
  s.node().start(once(supervisor("s", any, {s.worker("b"), significant(std::move(below))})));
  s.tell("s/below/a", finish_atom::value);
  CHECK(s.end_of("s").empty());
  CHECK(s.notes("asked ") == texts{"s/b"});
}

PLANARIA_CONFORMANCE("significant-added", "a significant child that was added later counts") {
  s.node().start(once(supervisor("s", all, {s.worker("a")})));
  s.node().start(significant(s.worker("b", restart::transient)), "s");
  s.tell("s/b", finish_atom::value);
  CHECK(s.end_of("s").empty());
}

}  // namespace planaria::conformance
