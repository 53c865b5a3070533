// What a simulated world promises to whoever runs a node in it.
#include <planaria/runtime/child_context.hpp>
#include <planaria/runtime/compute_child.hpp>
#include <planaria/runtime/node.hpp>
#include <planaria/runtime/registry.hpp>
#include <planaria/runtime/sim/simulation.hpp>

#include <doctest/doctest.h>
#include <caf/all.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace planaria::sim {
namespace {

using namespace std::chrono_literals;
using boom_atom = caf::atom_constant<caf::atom("boom")>;
using add_atom = caf::atom_constant<caf::atom("addone")>;

node_options quiet() { return {.log_level = "off"}; }

child_spec counter(std::string id, std::shared_ptr<int> count = nullptr) {
  return child(std::move(id), [count](caf::event_based_actor*, child_context) -> caf::behavior {
    return {[](boom_atom) { throw std::runtime_error("boom"); }, [count](add_atom) { ++*count; }};
  });
}

// A small run with a bit of everything: compute children, a kill, a crash, a stop.
std::vector<std::string> traced_run(std::uint64_t seed) {
  simulation s({.seed = seed, .traced = true});
  node n(quiet(), s.environment());
  n.start(supervisor("group", {.strategy = strategy::one_for_all, .intensity = 5},
                     std::vector{counter("a"), counter("b"),
                                 compute_child(
                                     "c",
                                     [](const child_context& me) {
                                       while (me.pause(3ms)) me.progress();
                                     },
                                     [](const child_context&) {})}));
  n.kill("group/a");
  s.pass(100ms);
  n.find("group/b").send(boom_atom::value);
  s.pass(100ms);
  n.stop("group");
  return s.trace();
}

}  // namespace

TEST_CASE("a node lives in a simulated world, and its time is virtual") {
  simulation s;
  node n(quiet(), s.environment());
  n.start(counter("a"));
  const auto first = n.find("a").wait(1s);
  CHECK(n.kill("a"));
  CHECK(n.find("a").wait(1s, first) != first);
  CHECK(n.find("a").incarnation() == 2);
  const auto before = std::chrono::steady_clock::now();
  const auto begun = s.time();
  s.pass(24h);
  CHECK(s.time() - begun == 24h);
  CHECK(std::chrono::steady_clock::now() - before < 1h);
}

TEST_CASE("the body of a compute child takes turns with the others, and pauses in virtual time") {
  simulation s;
  node n(quiet(), s.environment());
  const auto rounds = std::make_shared<int>(0);
  n.start(compute_child(
      "body",
      [rounds](const child_context& me) {
        while (me.pause(10ms)) ++*rounds;
      },
      [](const child_context&) {}));
  s.pass(1s);
  CHECK(*rounds >= 50);
  CHECK(*rounds <= 100);
  n.stop("body");
  const auto last = *rounds;
  s.pass(1s);
  CHECK(*rounds == last);
}

TEST_CASE("a body that hangs is declared dead at its progress deadline, in virtual time") {
  simulation s;
  node n(quiet(), s.environment());
  auto spec = compute_child(
      "sleeper", [](const child_context& me) { static_cast<void>(me.pause(1h)); }, [](const child_context&) {});
  spec.progress_deadline = 500ms;
  n.start(std::move(spec));
  CHECK(n.find("sleeper").incarnation() == 1);
  CHECK(s.until(2s, [&] { return n.find("sleeper").incarnation() == 2; }));
  CHECK(s.time() >= 500ms);
}

TEST_CASE("the same seed gives the same trace, byte for byte, and another seed another") {
  const auto one = traced_run(7);
  CHECK(one.size() > 50);
  CHECK(one == traced_run(7));
  CHECK(one != traced_run(8));
}

TEST_CASE("messages through a ref are lost, doubled and delayed as the weather says") {
  simulation s({.seed = 3, .weather = {.lost = 0.3, .doubled = 0.3, .late = 0.3}});
  node n(quiet(), s.environment());
  const auto count = std::make_shared<int>(0);
  n.start(counter("a", count));
  for (int i = 0; i < 1000; ++i) CHECK(n.find("a").send(add_atom::value));
  s.pass(1s);
  CHECK(*count > 800);
  CHECK(*count < 1000);
}

TEST_CASE("a check that fails ends the turn it fails in with its text, and the world can still be cleared up") {
  simulation s;
  node n(quiet(), s.environment());
  const auto lives = n.find("a");
  s.check([&] {
    if (lives.incarnation() == 2) throw violation("a second life");
  });
  n.start(counter("a"));
  n.kill("a");
  CHECK_THROWS_WITH_AS(s.pass(1s), "a second life", violation);
  n.stop("a");
}

TEST_CASE("a simulation in which everybody waits for ever says so") {
  simulation s({.most_turns = 1000});
  node n(quiet(), s.environment());
  const auto busy = n.find("busy");
  n.start(child("busy", [busy](caf::event_based_actor*, child_context) -> caf::behavior {
    busy.send(add_atom::value);
    return {[busy](add_atom) { busy.send(add_atom::value); }};
  }));
  n.find("busy").send(add_atom::value);
  CHECK_THROWS_WITH_AS(s.pass(1h), doctest::Contains("no end after"), violation);
  n.kill("busy");
}

}  // namespace planaria::sim
