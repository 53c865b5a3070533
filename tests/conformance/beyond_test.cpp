// Where the contract goes beyond OTP's.
#include "stand.hpp"

#include <algorithm>

namespace planaria::conformance {

PLANARIA_CONFORMANCE("backoff",
                     "pauses between restarts in a row grow, and begin anew with a child that lives long enough") {
  supervisor_options options{.intensity = 100};
  options.backoff = {.initial = 0ms, .step = 40ms, .factor = 2.0, .maximum = 80ms, .jitter = 0.0, .reset_after = 10h};
  s.node().start(supervisor("s", options, {s.worker("a")}));
  for (int i = 0; i < 4; ++i) s.crash("s/a");
  std::vector<std::int64_t> pauses;
  std::int64_t died = 0;
  for (const auto& one : s.node().events().events()) {
    if (one.path != "s/a") continue;
    if (one.kind == event_kind::detected) died = one.ticks;
    if (one.kind == event_kind::respawned) pauses.push_back((one.ticks - died) / 1'000'000);
  }
  REQUIRE(pauses.size() == 4);
  CHECK(pauses[1] >= 40);
  CHECK(pauses[2] >= 80);
  CHECK(pauses[3] >= 80);
}

PLANARIA_CONFORMANCE("progress", "a child that says no progress within its deadline is dead: fenced and replaced") {
  const auto first = std::make_shared<std::optional<child_context>>();
  auto spec = s.worker("a", {.init = keep_first(first)});
  spec.progress_deadline = 60ms;
  s.node().start(supervisor("s", {.intensity = 1'000'000, .period = 1ms}, {spec}));
  REQUIRE(s.eventually([&] { return s.life("s/a") >= 2; }));
  CHECK((*first)->fenced());
  CHECK(refused([&] { (*first)->state().put("k", "v"); }).code == errc::fenced);
  CHECK_FALSE((*first)->state().get("k").has_value());
  s.node().stop("s");
  first->reset();
}

PLANARIA_CONFORMANCE("progress-in-time", "a child that says progress in time lives") {
  auto spec = child("a", [](caf::event_based_actor* self, child_context me) -> caf::behavior {
    self->delayed_send(self, 10ms, finish_atom::value, 20);
    return {[self, me](finish_atom, int left) {
      me.progress();
      if (left == 0) self->quit();
      self->delayed_send(self, 10ms, finish_atom::value, left - 1);
    }};
  });
  spec.progress_deadline = 10s;
  spec.restart = restart::transient;
  s.node().start(std::move(spec));
  CHECK(s.end_of("a").empty());
  CHECK(s.count(event_kind::detected, "a") == 0);
}

PLANARIA_CONFORMANCE("incarnations",
                     "incarnations grow over every restart, and over the processes of one run directory") {
  s.reboot();
  s.node().start(s.worker("a"));
  s.crash("a");
  s.reboot();
  s.node().start(s.worker("a"));
  CHECK(s.life("a") == 3);
}

PLANARIA_CONFORMANCE("rebuilt", "the next process starts the dynamic children that a supervisor kept") {
  s.reboot();
  const auto tree = [&s] {
    return dynamic_supervisor(
        "s", {},
        [&s](const std::string& argument) {
          return s.worker("any", {.init = [&s, argument](const child_context&) { s.note("argument " + argument); }});
        },
        dynamic_children::kept);
  };
  s.node().start(tree());
  s.node().start_dynamic("s", "one", "a");
  s.node().start_dynamic("s", "two", "b");
  s.node().start_dynamic("s", "three", "c");
  s.node().stop("s/b");
  s.reboot();
  s.node().start(tree());
  CHECK(s.ids("s") == texts{"a", "c"});
  CHECK(s.life("s/a") == 2);
  auto arguments = s.notes("argument ");
  REQUIRE(arguments.size() == 5);
  // They begin in this order, but the init of one does not wait for the other's.
  std::sort(arguments.begin() + 3, arguments.end());
  CHECK(arguments == texts{"one", "two", "three", "one", "three"});
}

PLANARIA_CONFORMANCE("durable-state", "what a child has put it finds again in its next life, and in the next process") {
  const script counting{.init = [&s](const child_context& me) {
    const auto kept = me.state().get("count").value_or("");
    s.note("found " + kept);
    me.state().put("count", kept + "x");
  }};
  s.reboot();
  s.node().start(s.worker("a", counting));
  s.crash("a");
  s.reboot();
  s.node().start(s.worker("a", counting));
  CHECK(s.notes("found ") == texts{"", "x", "xx"});
}

PLANARIA_CONFORMANCE("quarantine",
                     "an input on which a child keeps failing is set aside, and the child goes on without it") {
  auto spec = child("a", [](caf::event_based_actor* self, child_context me) -> caf::behavior {
    for (const auto* part : {"good", "poison"}) {
      if (me.quarantined(part)) continue;
      me.working_on(part);
      if (std::string(part) == "poison") self->send(self, crash_atom::value);
    }
    return {[](crash_atom) { throw std::runtime_error("it tastes bad"); }, [self](finish_atom) { self->quit(); }};
  });
  spec.quarantine_after = 2;
  s.node().start(supervisor("s", {.intensity = 5}, {spec}));
  REQUIRE(s.happens(event_kind::quarantined, "s/a"));
  REQUIRE(s.lives("s/a", 3));
  CHECK(s.status("s/a") == child_status::running);
  CHECK(s.count(event_kind::detected, "s/a") == 2);
}

PLANARIA_CONFORMANCE("fenced", "what is below a dead supervisor is fenced with it and can change nothing any more") {
  const auto first = std::make_shared<std::optional<child_context>>();
  s.node().start(supervisor("top", {}, {supervisor("s", {}, {s.worker("a", {.init = keep_first(first)})})}));
  s.node().kill("top/s");
  REQUIRE(s.lives("top/s/a", 2));
  CHECK((*first)->fenced());
  CHECK(refused([&] { (*first)->state().put("k", "v"); }).code == errc::fenced);
  first->reset();
}

PLANARIA_CONFORMANCE(
    "ref", "a ref follows a child over its lives, and one of a child that does not live fails at its deadline") {
  s.node().start(s.worker("a"));
  const auto name = s.node().find("a");
  const auto before = name.wait(10s);
  s.tell("a", crash_atom::value);
  CHECK(name.wait(10s, before) != before);
  CHECK(name.incarnation() == 2);
  s.node().stop("a");
  CHECK_FALSE(name.send(crash_atom::value));
  CHECK(refused([&] { static_cast<void>(name.wait(20ms)); }).code == errc::timeout);
}

PLANARIA_CONFORMANCE("tree-as-data", "the living tree can be had as text and as JSON") {
  s.node().start(supervisor("s", {}, {s.worker("a"), s.worker("b")}));
  s.crash("s/a");
  s.node().stop("s/b");
  CHECK(to_text(s.node().tree()).find("running") != std::string::npos);
  CHECK(to_json(s.node().tree())
            .find(R"({"path":"s/a","type":"worker","status":"running","incarnation":2,"restarts":1)") !=
        std::string::npos);
  CHECK(to_json(s.node().tree()).find(R"("path":"s/b","type":"worker","status":"stopped")") != std::string::npos);
}

namespace {

using ask_atom = caf::atom_constant<caf::atom("ask")>;
using typed = caf::typed_actor<caf::reacts_to<crash_atom>, caf::replies_to<ask_atom>::with<int>>;

class counter : public caf::event_based_actor {
 public:
  counter(caf::actor_config& config, const child_context&, int from) : caf::event_based_actor(config), from_(from) {}
  caf::behavior make_behavior() override {
    if (from_ < 0) throw std::runtime_error("it counts from 0 on");
    return {[](crash_atom) { throw std::runtime_error("boom"); }};
  }

 private:
  int from_;
};

}  // namespace

PLANARIA_CONFORMANCE("typed", "a statically typed actor is supervised as any other") {
  s.node().start(child<typed>("t", [](typed::pointer, child_context) -> typed::behavior_type {
    return {[](crash_atom) { throw std::runtime_error("boom"); }, [](ask_atom) { return 42; }};
  }));
  s.crash("t");
  CHECK(s.node().find("t").as<typed>());
}

PLANARIA_CONFORMANCE("class", "an actor of a class is supervised as any other, and its arguments come to each life") {
  s.node().start(child<counter>("c", 1));
  s.crash("c");
  CHECK(refused([&] { s.node().start(child<counter>("d", -1)); }).text == "it counts from 0 on");
}

}  // namespace planaria::conformance
