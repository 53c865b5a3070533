// How a tree comes to life: order, failure, ignore.
#include "stand.hpp"

namespace planaria::conformance {
namespace {

// In this life its init does not come to its end.
child_spec never_starting(child_spec spec, std::uint64_t life) {
  spec.start = [life, good = spec.start](caf::actor_system& system, child_context me) {
    if (me.incarnation() != life) return good(system, me);
    detail::promise_to_tell(me);
    return system.spawn(
        [](caf::event_based_actor*, const child_context&) -> caf::behavior { return {[](crash_atom) {}}; }, me);
  };
  return spec;
}

}  // namespace

PLANARIA_CONFORMANCE("start-order",
                     "children start in the order of their specs, each once the one before has initialised") {
  s.node().start(supervisor("s", {}, {s.worker("c"), s.worker("a"), s.worker("b")}));
  CHECK(s.notes("init ") == texts{"s/c#1", "s/a#1", "s/b#1"});
  CHECK(s.paths(event_kind::started) == texts{"s/c", "s/a", "s/b", "s"});
}

PLANARIA_CONFORMANCE("start-complete", "a supervisor has started when all of its children have") {
  CHECK(s.node().start(supervisor("s", {}, {s.worker("a"), s.worker("b")})) == "s");
  CHECK(s.life("s/a") == 1);
  CHECK(s.life("s/b") == 1);
  CHECK(s.node().start(supervisor("empty", {}, std::vector<child_spec>{})) == "empty");
}

PLANARIA_CONFORMANCE("start-fails", "an init that fails ends the start: what had started is stopped in reverse order") {
  const auto why = refused([&] {
    s.node().start(
        supervisor("s", {}, {s.worker("a"), s.worker("b"), s.worker("c", {.init = failing(1)}), s.worker("d")}));
  });
  CHECK(why.text == "the child \"c\" could not be started: no luck");
  CHECK(s.notes() == texts{"init s/a#1", "init s/b#1", "init s/c#1", "asked s/b", "asked s/a"});
  CHECK_FALSE(s.status("s").has_value());
}

PLANARIA_CONFORMANCE("start-fails-once", "a first start that fails is not tried again, whatever the intensity") {
  const auto why =
      refused([&] { s.node().start(supervisor("s", {.intensity = 100}, {s.worker("a", {.init = failing(1)})})); });
  CHECK(why.code == errc::user_error);
  CHECK(s.notes("init ") == texts{"s/a#1"});
}

PLANARIA_CONFORMANCE("start-fails-nested",
                     "a supervisor that cannot start fails its own supervisor's start with the reason") {
  const auto why = refused([&] {
    s.node().start(supervisor(
        "top", {}, {s.worker("a"), supervisor("below", {}, {s.worker("b"), s.worker("c", {.init = failing(1)})})}));
  });
  CHECK(why.says("no luck"));
  CHECK(s.notes("asked ") == texts{"top/below/b", "top/a"});
}

PLANARIA_CONFORMANCE("start-function-fails", "a start function that throws, or returns no actor, fails the start") {
  auto spec = s.worker("a");
  spec.start = [](caf::actor_system&, child_context) -> caf::actor { throw std::runtime_error("not today"); };
  CHECK(refused([&] { s.node().start(supervisor("s", {}, {spec})); }).says("not today"));
  spec.start = [](caf::actor_system&, child_context) { return caf::actor(); };
  CHECK(refused([&] { s.node().start(spec); }).code == errc::invalid_input);
}

PLANARIA_CONFORMANCE("start-late", "an init that misses its start deadline has failed") {
  auto slow = never_starting(s.worker("slow"), 1);
  slow.start_deadline = 50ms;
  const auto why = refused([&] { s.node().start(slow); });
  CHECK(why.code == errc::timeout);
  CHECK_FALSE(s.status("slow").has_value());
}

PLANARIA_CONFORMANCE("ignore-child", "a child that ignores its start is kept without a process, and the others start") {
  const script shy{.init = [](const child_context&) { throw ignore("not needed"); }};
  s.node().start(supervisor("s", {}, {s.worker("a"), s.worker("shy", shy), s.worker("b")}));
  CHECK(s.ids("s") == texts{"a", "shy", "b"});
  CHECK(s.status("s/shy") == child_status::stopped);
  CHECK(s.life("s/b") == 1);
  CHECK(s.count(event_kind::ignored, "s/shy") == 1);
}

PLANARIA_CONFORMANCE("ignore-temporary", "a temporary child that ignores its start is not kept") {
  const script shy{.init = [](const child_context&) { throw ignore("not needed"); }};
  s.node().start(supervisor("s", {}, {s.worker("a"), s.worker("shy", restart::temporary, shy)}));
  CHECK(s.ids("s") == texts{"a"});
}

PLANARIA_CONFORMANCE("ignore-dynamic", "a dynamic child that ignores its start is not kept") {
  const script shy{.init = [](const child_context&) { throw ignore("not needed"); }};
  s.node().start(dynamic_supervisor("s", {}, always(s.worker("any", shy))));
  CHECK(s.node().start_dynamic("s", "x") != "");
  CHECK(s.ids("s").empty());
}

PLANARIA_CONFORMANCE("ignore-supervisor", "a supervisor that ignores its own start is kept as stopped") {
  s.node().start(supervisor("s", {}, std::function<std::vector<child_spec>()>([]() -> std::vector<child_spec> {
                              throw ignore("nothing to do");
                            })));
  CHECK(s.status("s") == child_status::stopped);
}

PLANARIA_CONFORMANCE("ignore-restart-child", "one that ignored its start can be started by request") {
  const script shy{.init = [](const child_context& me) {
    if (me.incarnation() == 1) throw ignore("not yet");
  }};
  s.node().start(supervisor("s", {}, {s.worker("shy", shy)}));
  s.node().restart("s/shy");
  CHECK(s.life("s/shy") == 2);
}

PLANARIA_CONFORMANCE("start-supervisor-fails", "a supervisor whose init throws fails the start with its text") {
  const auto why = refused([&] {
    s.node().start(supervisor("s", {}, std::function<std::vector<child_spec>()>([]() -> std::vector<child_spec> {
                                throw std::runtime_error("no plan");
                              })));
  });
  CHECK(why.says("no plan"));
}

PLANARIA_CONFORMANCE("start-killed",
                     "a supervisor killed while it starts leaves none of its children, and starts again") {
  s.node().start(supervisor("kept", {}, {supervisor("s", {}, {s.worker("a"), never_starting(s.worker("b"), 2)})}));
  s.node().kill("kept/s");
  REQUIRE(s.lives("kept/s/a", 2));
  s.node().kill("kept");
  REQUIRE(s.lives("kept/s/b", 3));
  CHECK(s.notes("init ") == texts{"kept/s/a#1", "kept/s/b#1", "kept/s/a#2", "kept/s/a#3", "kept/s/b#3"});
  CHECK(s.life("kept/s/a") == 3);
}

PLANARIA_CONFORMANCE("restart-fails", "a restart whose init fails counts as a restart and is tried again") {
  s.node().start(supervisor("s", {.intensity = 3}, {s.worker("a", {.init = failing(2, 3)})}));
  s.tell("s/a", crash_atom::value);
  REQUIRE(s.lives("s/a", 4));
  CHECK(s.life("s") == 1);
  CHECK(s.count(event_kind::start_failed, "s/a") == 2);
}

PLANARIA_CONFORMANCE("restart-fails-too-often", "restarts that keep failing end the supervisor at its limit") {
  s.node().start(once(supervisor("s", {.intensity = 3}, {s.worker("a", {.init = failing(2)})})));
  s.tell("s/a", crash_atom::value);
  CHECK(s.end_of("s").find("more than 3 restarts within 5000 ms; the last for \"a\": no luck") != std::string::npos);
  CHECK(s.notes("init ") == texts{"s/a#1", "s/a#2", "s/a#3", "s/a#4"});
}

PLANARIA_CONFORMANCE("restart-ignores", "a child that ignores its restart stays without a process") {
  const script shy{.init = [](const child_context& me) {
    if (me.incarnation() == 2) throw ignore("had enough");
  }};
  s.node().start(supervisor("s", {}, {s.worker("a", shy), s.worker("b")}));
  s.tell("s/a", crash_atom::value);
  REQUIRE(s.happens(event_kind::ignored, "s/a"));
  CHECK(s.status("s/a") == child_status::stopped);
  CHECK(s.life("s/b") == 1);
}

PLANARIA_CONFORMANCE("restart-child-fails",
                     "a start by request that fails is refused with the reason, and the spec is kept") {
  s.node().start(supervisor("s", {}, {s.worker("a", {.init = failing(2, 2)})}));
  s.node().stop("s/a");
  CHECK(refused([&] { s.node().restart("s/a"); }).text == "no luck");
  CHECK(s.status("s/a") == child_status::stopped);
  s.node().restart("s/a");
  CHECK(s.life("s/a") == 3);
}

}  // namespace planaria::conformance
