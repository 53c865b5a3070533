#include "actors.hpp"
#include "temporary_directory.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace planaria {

using namespace planaria::testing;
using namespace std::chrono_literals;

TEST_CASE("an exception in init fails the start with its code and text") {
  node n(quiet());
  witness seen(n.events());
  const auto foreign = refused([&] { n.start(broken("a", "no such file")); });
  CHECK(foreign.code == errc::user_error);
  CHECK(foreign.text == "no such file");
  CHECK(seen.count(event_kind::start_failed, "a") == 1);
  const auto ours = refused([&] {
    n.start(child("b", [](caf::event_based_actor*, child_context) -> caf::behavior {
      throw error(errc::schema_mismatch, "w1 has another shape");
    }));
  });
  CHECK(ours.code == errc::schema_mismatch);
  CHECK(ours.text == "w1 has another shape");
  CHECK(n.tree().children.empty());
}

TEST_CASE("a start function that throws or returns nothing fails the start") {
  node n(quiet());
  auto spec = puppet("a");
  spec.start = [](caf::actor_system&, child_context) -> caf::actor { throw std::runtime_error("not today"); };
  CHECK(refused([&] { n.start(spec); }).text == "not today");
  spec.start = [](caf::actor_system&, child_context) { return caf::actor(); };
  CHECK(refused([&] { n.start(spec); }).code == errc::invalid_input);
}

TEST_CASE("an init that misses its start deadline fails the start") {
  const auto gate = std::make_shared<signal>();
  node n(quiet());
  auto slow = child("slow", [gate](caf::event_based_actor*, child_context) -> caf::behavior {
    static_cast<void>(gate->wait());
    return {[](boom_atom) {}};
  });
  slow.start_deadline = 30ms;
  CHECK(refused([&] { n.start(slow); }).code == errc::timeout);
  CHECK(n.tree().children.empty());
  gate->raise();
}

TEST_CASE("an exception in a handler becomes the down reason with its text, and the child starts again") {
  node n(quiet());
  witness seen(n.events());
  n.start(puppet("a"));
  CHECK(n.find("a").send(boom_atom::value));
  const auto death = seen.wait(event_kind::detected, "a");
  CHECK(death.reason == "boom");
  CHECK(death.incarnation == 1);
  CHECK(seen.wait(event_kind::respawned, "a").incarnation == 2);
  CHECK(n.find("a").incarnation() == 2);
}

TEST_CASE("a restart whose init fails counts and is tried again until the supervisor gives up") {
  node n(quiet());
  witness seen(n.events());
  n.start(with(supervisor("s", {.intensity = 2, .backoff = {.step = 1ms}}, {broken("a", "still broken", 2)}),
               restart::temporary));
  n.find("s/a").send(boom_atom::value);
  CHECK(seen.wait(event_kind::escalated, "s").reason.find("still broken") != std::string::npos);
  CHECK(seen.count(event_kind::start_failed, "s/a") == 2);
  CHECK(n.wait("s", patience).find("more than 2 restarts") == 0);
}

TEST_CASE("a tree starts in order, children before their supervisor says that it has started") {
  node n(quiet());
  witness seen(n.events());
  CHECK(n.start(supervisor("s", {}, {puppet("a"), supervisor("t", {}, {puppet("b")}), puppet("c")})) == "s");
  CHECK(seen.paths(event_kind::started) == std::vector<std::string>{"s/a", "s/t/b", "s/t", "s/c", "s"});
}

TEST_CASE("a tree starts fully or not at all") {
  const auto kept = std::make_shared<traces>();
  node n(quiet());
  const auto no = refused([&] {
    n.start(supervisor("s", {}, {puppet("a", kept), puppet("b", kept), broken("c", "no disk")}));
  });
  CHECK(no.code == errc::user_error);
  CHECK(no.says("\"c\""));
  CHECK(no.says("no disk"));
  CHECK(kept->ends() == std::vector<std::string>{"s/b", "s/a"});
  CHECK_FALSE(n.find("s/a").current());
  CHECK(n.tree().children.empty());
}

TEST_CASE("two first children of one name are refused") {
  node n(quiet());
  CHECK(refused([&] { n.start(supervisor("s", {}, {puppet("a"), puppet("a")})); }).code == errc::already_exists);
}

TEST_CASE("a killed supervisor takes its children down and comes back with them") {
  const auto kept = std::make_shared<traces>();
  node n(quiet());
  witness seen(n.events());
  n.start(supervisor("s", {}, {puppet("a", kept), puppet("b", kept)}));
  n.start(puppet("bystander"));
  CHECK(n.kill("s", "drill"));
  CHECK(seen.wait(event_kind::detected, "s").reason == "drill");
  CHECK(seen.wait(event_kind::respawned, "s").incarnation == 2);
  for (const std::string path : {"s/a", "s/b"}) {
    CHECK(n.find(path).incarnation() == 2);
    CHECK(kept->of(path, 1).fenced());
    CHECK_FALSE(kept->of(path, 2).fenced());
  }
  CHECK(n.find("bystander").incarnation() == 1);
}

TEST_CASE("a supervisor that gives up tells it, and its own supervisor starts it again") {
  node n(quiet());
  witness seen(n.events());
  n.start(supervisor("s", {.intensity = 1, .period = 60s}, {puppet("a"), puppet("b")}));
  n.find("s/a").send(boom_atom::value);
  seen.wait(event_kind::respawned, "s/a");
  n.find("s/b").send(boom_atom::value);
  CHECK(seen.wait(event_kind::escalated, "s").reason.find("more than 1 restarts within 60000 ms") == 0);
  CHECK(seen.wait(event_kind::respawned, "s").incarnation == 2);
  CHECK(n.find("s/a").incarnation() == 3);
}

TEST_CASE("one_for_all restarts the siblings of a dead child") {
  const auto kept = std::make_shared<traces>();
  node n(quiet());
  witness seen(n.events());
  n.start(
      supervisor("s", {.strategy = strategy::one_for_all}, {puppet("a", kept), puppet("b", kept), puppet("c", kept)}));
  n.find("s/b").send(boom_atom::value);
  seen.wait(event_kind::started, "s/c", 2);
  CHECK(kept->ends() == std::vector<std::string>{"s/b", "s/c", "s/a"});
  for (const auto* path : {"s/a", "s/b", "s/c"}) CHECK(n.find(path).incarnation() == 2);
}

TEST_CASE("a hung child is replaced, and its zombie can change nothing any more") {
  temporary_directory run;
  const auto gate = std::make_shared<signal>();
  const auto kept = std::make_shared<traces>();
  auto options = quiet();
  SUBCASE("with a store") { options.storage.directory = run / "store"; }
  SUBCASE("without a store"){} {
    node n(options);
    witness seen(n.events());
    auto spec = puppet("a", kept, gate);
    spec.progress_deadline = 200ms;
    n.start(spec);
    kept->of("a", 1).state().put("step", "1");
    n.find("a").send(block_atom::value);
    CHECK(seen.wait(event_kind::detected, "a").reason == "hung: no progress for 200 ms");
    seen.wait(event_kind::respawned, "a");
    const auto zombie = kept->of("a", 1), living = kept->of("a", 2);
    CHECK(zombie.fenced());
    const auto no = refused([&] { zombie.state().put("step", "7"); });
    CHECK(no.code == errc::fenced);
    CHECK(no.says("incarnation 1"));
    CHECK(living.state().get("step") == "1");
    gate->raise();
  }
}

TEST_CASE("what is below a supervisor that was taken for dead is fenced with it, though it does not know yet") {
  const auto kept = std::make_shared<traces>();
  const auto gate = std::make_shared<signal>();
  auto options = quiet();
  options.control_threads = 4;
  node n(options);
  witness seen(n.events());
  // The supervisor's second life hangs on its own thread while it starts b.
  auto b = puppet("b");
  b.start = [inner = b.start, gate](caf::actor_system& system, child_context me) {
    if (me.incarnation() == 2) static_cast<void>(gate->wait());
    return inner(system, std::move(me));
  };
  auto s = supervisor("s", {}, {puppet("a", kept), b});
  s.start_deadline = 1s;
  n.start(s);
  CHECK(n.kill("s"));
  CHECK(seen.wait(event_kind::respawned, "s").incarnation == 3);
  CHECK(n.find("s/a").incarnation() == 3);
  const auto zombie = kept->of("s/a", 2);
  CHECK(zombie.fenced());
  CHECK(refused([&] { zombie.state().put("step", "7"); }).code == errc::fenced);
  kept->of("s/a", 3).state().put("step", "8");
  gate->raise();
  // The zombie goes on with starting b, under a number and a name that are another's by now.
  seen.wait(event_kind::started, "s/b", 2);
  CHECK(n.find("s/b").incarnation() == 3);
}

TEST_CASE("an exception is no orderly end, whatever its code says") {
  node n(quiet());
  witness seen(n.events());
  n.start(with(child("c",
                     [](caf::event_based_actor*, child_context) -> caf::behavior {
                       return {[](boom_atom) { throw error(errc::stopped, "the pool is closed"); }};
                     }),
               restart::transient));
  n.find("c").send(boom_atom::value);
  CHECK(seen.wait(event_kind::detected, "c").reason == "the pool is closed");
  CHECK(seen.wait(event_kind::respawned, "c").incarnation == 2);
  const auto no = refused([&] {
    n.start(child(
        "d", [](caf::event_based_actor*, child_context) -> caf::behavior { throw error(errc::stopped, "no longer"); }));
  });
  CHECK(no.code == errc::user_error);
  CHECK(no.says("no longer"));
}

TEST_CASE("a child that says progress in time is not taken for hung") {
  const auto kept = std::make_shared<traces>();
  node n(quiet());
  witness seen(n.events());
  auto lively = puppet("lively", kept), silent = puppet("silent");
  silent.progress_deadline = 50ms;
  lively.progress_deadline = 24h;
  n.start(lively);
  n.start(silent);
  seen.wait(event_kind::respawned, "silent");
  CHECK(n.find("lively").incarnation() == 1);
}

TEST_CASE("a context ends its incarnation as failed or finished, and says once that it is fenced") {
  const auto kept = std::make_shared<traces>();
  const auto fenced = std::make_shared<std::atomic<int>>(0);
  node n(quiet());
  witness seen(n.events());
  n.start(with(puppet("a", kept), restart::transient));
  const auto first = kept->of("a", 1);
  first.on_fenced([fenced] { ++*fenced; });
  first.fail("out of memory");
  CHECK(seen.wait(event_kind::detected, "a").reason == "out of memory");
  seen.wait(event_kind::respawned, "a");
  CHECK(*fenced == 1);
  first.on_fenced([fenced] { ++*fenced; });
  CHECK(*fenced == 2);
  first.fail("a zombie's word counts for nothing");
  kept->of("a", 2).finish();
  CHECK(n.wait("a", patience) == "");
  CHECK(seen.count(event_kind::detected, "a") == 1);
}

TEST_CASE("a significant child's end ends its supervisor in order") {
  const auto kept = std::make_shared<traces>();
  node n(quiet());
  auto done = with(puppet("done", kept), restart::transient);
  done.significant = true;
  auto s =
      supervisor("s", {.auto_shutdown = auto_shutdown::any_significant}, {puppet("a", kept), done, puppet("z", kept)});
  n.start(with(std::move(s), restart::transient));
  n.find("s/done").send(finish_atom::value);
  CHECK(n.wait("s", patience) == "");
  CHECK(kept->ends() == std::vector<std::string>{"s/done", "s/z", "s/a"});
}

TEST_CASE("a child that ends in its init has started and ended") {
  node n(quiet());
  auto spec = child("once", [](caf::event_based_actor* self, child_context) -> caf::behavior {
    self->quit();
    return {[](boom_atom) {}};
  });
  CHECK(n.start(with(std::move(spec), restart::transient)) == "once");
  CHECK(n.wait("once", patience) == "");
}

TEST_CASE("a child stopped during its init fails the start that waits for it") {
  const auto gate = std::make_shared<signal>(), entered = std::make_shared<signal>();
  node n(quiet());
  auto slow = child("slow", [gate, entered](caf::event_based_actor*, child_context) -> caf::behavior {
    entered->raise();
    static_cast<void>(gate->wait());
    return {[](boom_atom) {}};
  });
  refusal no;
  std::thread starter([&] { no = refused([&] { n.start(slow); }); });
  CHECK(entered->wait());
  std::thread stopper([&] { n.stop("slow"); });
  gate->raise();
  stopper.join();
  starter.join();
  CHECK((no.code == errc::stopped || no.says("not refused")));  // it may have been started just before
  CHECK(n.tree().children.at(0).status == child_status::stopped);
}

}  // namespace planaria
