#include "actors.hpp"
#include "files_do_not_grow.hpp"
#include "temporary_directory.hpp"

#include <planaria/runtime/detail/real_environment.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace planaria {

using namespace planaria::testing;
using namespace std::chrono_literals;

TEST_CASE("a node without children ends at once") {
  node n(quiet());
  CHECK(n.store() == nullptr);
  CHECK(n.tree().children.empty());
}

TEST_CASE("a node's end stops its children in reverse start order") {
  const auto kept = std::make_shared<traces>();
  {
    node n(quiet());
    n.start(puppet("a", kept));
    n.start(supervisor("s", {}, {puppet("b", kept), puppet("c", kept)}));
    n.start(puppet("d", kept), "s");
    n.start(puppet("e", kept));
  }
  CHECK(kept->ends() == std::vector<std::string>{"e", "s/d", "s/c", "s/b", "a"});
  CHECK(kept->of("a", 1).fenced());
}

TEST_CASE("names and specs that cannot be kept are refused") {
  node n(quiet());
  n.start(puppet("Ok-1_a.b"));
  for (const std::string id : {"", "a/b", "a b", "ä", "a\n"})
    CHECK(refused([&] { n.start(puppet(id)); }).code == errc::invalid_input);
  CHECK(refused([&] { n.start(puppet("Ok-1_a.b")); }).code == errc::already_exists);
  CHECK(refused([&] { n.start(puppet("x"), "nowhere"); }).code == errc::not_found);
  auto spec = puppet("x");
  spec.significant = true;
  CHECK(refused([&] { n.start(spec); }).says("significant"));
  spec = puppet("x");
  spec.start = nullptr;
  CHECK(refused([&] { n.start(spec); }).says("start function"));
  spec = puppet("x");
  spec.progress_deadline = -1ms;
  CHECK(refused([&] { n.start(spec); }).code == errc::invalid_input);
  spec = puppet("x");
  spec.start_deadline = 0ms;
  CHECK(refused([&] { n.start(spec); }).code == errc::invalid_input);
  spec = puppet("x");
  spec.shutdown = shutdown::timeout(-1ms);
  CHECK(refused([&] { n.start(spec); }).code == errc::invalid_input);
  CHECK(n.start(puppet("x")) == "x");
}

TEST_CASE("deadlines, limits and pauses that no clock can keep are refused") {
  node n(quiet());
  auto spec = puppet("x");
  spec.progress_deadline = std::chrono::milliseconds::max();
  CHECK(refused([&] { n.start(spec); }).says("progress deadline"));
  const auto options = [](auto change) {
    supervisor_options o;
    change(o);
    return o;
  };
  for (const auto& bad :
       {options([](auto& o) { o.period = -1ms; }), options([](auto& o) { o.period = 0ms; }),
        options([](auto& o) { o.period = std::chrono::milliseconds::max(); }),
        options([](auto& o) { o.backoff.step = -1ms; }), options([](auto& o) { o.backoff.factor = 0.5; }),
        options([](auto& o) { o.backoff.factor = std::nan(""); }), options([](auto& o) { o.backoff.jitter = 2.0; })}) {
    CHECK(refused([&] { static_cast<void>(supervisor("s", bad, std::vector<child_spec>{})); }).says("\"s\""));
    auto settings = quiet();
    settings.root = bad;
    CHECK(refused([&] { node other(settings); }).code == errc::invalid_input);
  }
  // For ever, as a number: waits, and does not overflow.
  n.start(with(puppet("y"), restart::temporary));
  n.find("y").send(finish_atom::value);
  CHECK(n.wait("y", std::chrono::milliseconds::max()) == "");
  n.start(puppet("z"));
  CHECK(n.find("z").wait(std::chrono::milliseconds::max()));
}

TEST_CASE("a store that takes no more writes ends no child that needs none") {
  temporary_directory run;
  auto options = quiet();
  options.storage.directory = run / "store";
  node n(options);
  witness seen(n.events());
  n.start(puppet("healthy"));
  n.start(supervisor("s", {}, {puppet("a")}));
  n.start(with(puppet("helper"), restart::transient));
  {
    const files_do_not_grow full;
    n.find("helper").send(finish_atom::value);
    CHECK(n.wait("helper", patience) == "");
    n.stop("s/a");
    // Its next life must be on record, so this one starts none.
    CHECK(refused([&] { n.restart("s/a"); }).code != errc{});
  }
  CHECK(n.find("healthy").incarnation() == 1);
  CHECK(n.find("s").incarnation() == 1);
  CHECK(n.tree().incarnation == 1);
  CHECK(seen.count(event_kind::detected, "") == 0);
}

TEST_CASE("a child is stopped, started again and removed by its path") {
  node n(quiet());
  witness seen(n.events());
  n.start(supervisor("s", {}, {puppet("a")}));
  CHECK(refused([&] { n.restart("s/a"); }).code == errc::invalid_input);
  CHECK(refused([&] { n.remove("s/a"); }).code == errc::invalid_input);
  n.stop("s/a");
  n.stop("s/a");
  CHECK(seen.count(event_kind::stopped, "s/a") == 1);
  CHECK_FALSE(n.find("s/a").current());
  CHECK_FALSE(n.kill("s/a"));
  n.restart("s/a");
  CHECK(n.find("s/a").incarnation() == 2);
  n.stop("s/a");
  n.remove("s/a");
  CHECK(refused([&] { n.stop("s/a"); }).code == errc::not_found);
  CHECK(n.start(puppet("a"), "s") == "s/a");
  CHECK(n.find("s/a").incarnation() == 3);
}

TEST_CASE("stopping a supervisor stops what is below it") {
  const auto kept = std::make_shared<traces>();
  node n(quiet());
  n.start(supervisor("s", {}, {puppet("a", kept), puppet("b", kept)}));
  n.stop("s");
  CHECK(kept->ends() == std::vector<std::string>{"s/b", "s/a"});
  CHECK(refused([&] { n.stop("s/a"); }).code == errc::not_found);
  n.restart("s");
  CHECK(n.find("s/a").incarnation() == 2);
}

TEST_CASE("a worker has no children: requests that name it as a supervisor are refused") {
  node n(quiet());
  n.start(puppet("a"));
  for (const auto& ask : std::vector<std::function<void()>>{
           [&] { n.start(puppet("b"), "a"); }, [&] { n.stop("a/b"); }, [&] { n.restart("a/b"); },
           [&] { n.remove("a/b"); }, [&] { static_cast<void>(n.children("a")); },
           [&] { static_cast<void>(n.count("a")); }, [&] { n.start_dynamic("a", "b"); },
           [&] { n.wait("a/b", patience); }, [&] { static_cast<void>(n.spec("a/b")); }}) {
    const auto why = refused(ask);
    CHECK(why.code == errc::invalid_input);
    CHECK(why.text == "\"a\" is no supervisor: it has no children");
  }
  CHECK(n.find("a").incarnation() == 1);
}

TEST_CASE("wait returns the last reason of a child that has ended for good") {
  node n(quiet());
  n.start(with(puppet("good"), restart::transient));
  n.start(with(puppet("bad"), restart::temporary));
  CHECK(refused([&] { n.wait("good", 1ms); }).code == errc::timeout);
  n.find("good").send(finish_atom::value);
  n.find("bad").send(boom_atom::value);
  CHECK(n.wait("good", patience) == "");
  CHECK(n.wait("bad", patience) == "boom");
  CHECK(n.wait("bad", patience) == "boom");
  CHECK(refused([&] { n.wait("never", patience); }).code == errc::not_found);
  CHECK(refused([&] { n.wait("no/where", patience); }).code == errc::not_found);
}

TEST_CASE("a name made before the first start follows the child over its lives") {
  node n(quiet());
  witness seen(n.events());
  const auto name = n.find("a");
  CHECK_FALSE(name.current());
  CHECK(name.incarnation() == 0);
  CHECK_FALSE(name.send(boom_atom::value));
  CHECK(refused([&] { static_cast<void>(name.wait(1ms)); }).code == errc::timeout);
  n.start(puppet("a"));
  const auto first = name.wait(patience);
  CHECK(name.incarnation() == 1);
  n.kill("a");
  seen.wait(event_kind::respawned, "a");
  const auto second = name.wait(patience);
  CHECK(name.incarnation() == 2);
  CHECK(first != second);
  CHECK(n.registry().paths() == std::vector<std::string>{"", "a"});
  n.stop("a");
  CHECK_FALSE(name.current());
}

TEST_CASE("whoever met a dead incarnation is not given it again") {
  node where(quiet());
  // With an argument: without any, CAF's header binds a reference to nothing.
  const auto behaviour = [](caf::event_based_actor*, int) -> caf::behavior { return {[](int) {}}; };
  const auto first = where.system().spawn(behaviour, 1);
  const auto second = where.system().spawn(behaviour, 2);
  // A registry of its own: here nobody hears of the first one's death until the test says so.
  registry names(std::make_shared<detail::real_environment>());
  const auto name = names.find("a");
  names.bind(name, first, 1);
  CHECK(name.wait(0ms) == first);
  const auto refusal = refused([&] { static_cast<void>(name.wait(1ms, first)); });
  CHECK(refusal.code == errc::timeout);
  CHECK(refusal.says("a: no other incarnation"));
  std::thread supervisor([&] {
    names.unbind(name, 1);
    names.bind(name, second, 2);
  });
  CHECK(name.wait(patience, first) == second);
  supervisor.join();
  for (const auto& actor : {first, second}) caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
}

TEST_CASE("a killed root is built anew with the children it had") {
  node n(quiet());
  witness seen(n.events());
  n.start(puppet("a"));
  n.start(supervisor("s", {}, {puppet("b")}));
  n.start(puppet("removed"));
  n.stop("removed");
  n.remove("removed");
  CHECK(n.kill("", "drill"));
  CHECK(seen.wait(event_kind::detected, "").reason == "drill");
  CHECK(seen.wait(event_kind::respawned, "").incarnation == 2);
  CHECK(seen.wait(event_kind::started, "s", 2).incarnation == 2);
  CHECK(n.find("a").incarnation() == 2);
  CHECK(n.find("s/b").incarnation() == 2);
  const auto top = n.tree();
  CHECK(top.incarnation == 2);
  CHECK(top.children.size() == 2);
}

TEST_CASE("a root that gives up ends, and the node says that nothing lives in it") {
  auto options = quiet();
  options.root = {.intensity = 0};
  node n(options);
  witness seen(n.events());
  n.start(puppet("a"));
  n.kill("a", "drill");
  seen.wait(event_kind::escalated, "");
  seen.wait(event_kind::detected, "");
  CHECK(refused([&] { n.start(puppet("b")); }).says("root"));
}

TEST_CASE("a kill is recorded before the death and says why") {
  node n(quiet());
  witness seen(n.events());
  n.start(puppet("a"));
  CHECK_FALSE(n.kill("b"));
  CHECK(n.kill("a", "drill 7"));
  seen.wait(event_kind::respawned, "a");
  const auto kill = seen.wait(event_kind::killed, "a"), death = seen.wait(event_kind::detected, "a");
  CHECK(kill.reason == "drill 7");
  CHECK(death.reason == "drill 7");
  CHECK(kill.sequence < death.sequence);
  CHECK(recovery_table(n.events().events()).at(0).respawned_us >= 0);
}

TEST_CASE("incarnations and state live on in the run directory") {
  temporary_directory run;
  auto options = quiet();
  options.storage.directory = run / "store";
  for (std::uint64_t life : {1, 3}) {
    const auto kept = std::make_shared<traces>();
    node n(options);
    witness seen(n.events());
    n.start(supervisor("s", {}, {puppet("a", kept)}));
    CHECK(n.find("s/a").incarnation() == life);
    const auto state = kept->of("s/a", life).state();
    CHECK(state.get("step") == (life == 1 ? std::nullopt : std::optional<std::string>("40")));
    state.put("step", "40");
    CHECK_FALSE(state.get("other"));
    n.kill("s/a");
    CHECK(seen.wait(event_kind::respawned, "s/a").incarnation == life + 1);
    CHECK(kept->of("s/a", life + 1).state().get("step") == "40");
  }
}

TEST_CASE("the state of a node without a store lives as long as the node") {
  const auto kept = std::make_shared<traces>();
  node n(quiet());
  witness seen(n.events());
  n.start(puppet("a", kept));
  kept->of("a", 1).state().put("step", "5");
  n.kill("a");
  seen.wait(event_kind::respawned, "a");
  CHECK(kept->of("a", 2).state().get("step") == "5");
}

TEST_CASE("the tree shows what lives, and its record says the same") {
  temporary_directory run;
  auto options = quiet();
  options.storage.directory = run / "store";
  node n(options);
  witness seen(n.events());
  n.start(supervisor("s", {}, {puppet("b"), puppet("a")}));
  n.start(puppet("w"));
  n.kill("s/a");
  seen.wait(event_kind::respawned, "s/a");
  n.stop("w");
  for (const auto& top : {n.tree(), node::tree(*n.store())}) {
    REQUIRE(top.children.size() == 2);
    const auto& s = top.children[0];
    CHECK(s.path == "s");
    CHECK(s.type == child_type::supervisor);
    CHECK(s.status == child_status::running);
    REQUIRE(s.children.size() == 2);
    CHECK(s.children[0].path == "s/b");
    CHECK(s.children[1].path == "s/a");
    CHECK(s.children[1].incarnation == 2);
    CHECK(s.children[1].restarts == 1);
    CHECK(top.children[1].path == "w");
    CHECK(top.children[1].status == child_status::stopped);
  }
}

TEST_CASE("two nodes in one process know nothing of each other") {
  node left(quiet()), right(quiet());
  witness seen(left.events());
  left.start(puppet("a"));
  right.start(puppet("a"));
  left.kill("a");
  seen.wait(event_kind::respawned, "a");
  CHECK(left.find("a").incarnation() == 2);
  CHECK(right.find("a").incarnation() == 1);
  CHECK(right.events().events().size() == 1);
}

TEST_CASE("two nodes cannot hold one run directory") {
  temporary_directory run;
  auto options = quiet();
  options.storage.directory = run / "store";
  node n(options);
  CHECK(refused([&] { node other(options); }).code == errc::in_use);
}

}  // namespace planaria
