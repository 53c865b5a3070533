#include "stage.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace planaria::detail {
namespace {

using namespace planaria::testing;

supervisor_options patient(strategy how) { return {.strategy = how, .intensity = 100}; }

}  // namespace

TEST_CASE("children start in order, each once the one before it has started") {
  stage s;
  CHECK(s.begin({rules("a"), rules("b"), rules("c")}) == "start a");
  CHECK(s.started("a") == "started a, start b");
  CHECK(s.started("b") == "started b, start c");
  CHECK(s.started("c") == "started c, ready");
}

TEST_CASE("a supervisor without children is ready at once") { CHECK(stage().begin({}) == "ready"); }

TEST_CASE("a failed first start stops those before it in reverse order and ends the supervisor with its reason") {
  stage s;
  s.begin({rules("a"), rules("b"), rules("c"), rules("d")});
  s.started("a");
  s.started("b");
  CHECK(s.down("c", {false, errc::corrupt, "no weights"}) == "start_failed c, ended d, request_stop b");
  CHECK(s.down("b", told) == "ended b, request_stop a");
  CHECK(s.down("a", told) == "ended a, end corrupt");
  CHECK(s.last_text == "the child \"c\" could not be started: no weights");
}

TEST_CASE("that a child gave up in its first start is no reason for its supervisor to give up") {
  stage s;
  s.begin({rules("below")});
  CHECK(s.down("below", {false, errc::limit_reached, "more than 1 restarts"}) == "start_failed below, end user_error");
}

TEST_CASE("an init that misses its start deadline is abandoned and fails the start") {
  stage s;
  auto slow = rules("a");
  slow.start_deadline = 3s;
  CHECK(s.begin({slow}) == "start a");
  CHECK(s.due() == 3s);
  CHECK(s.pass(2999ms) == "");
  CHECK(s.pass(1ms) == "abandon a, start_failed a, end timeout");
}

TEST_CASE("the restart kind and the way it ended decide whether a child starts again") {
  struct row {
    restart rule;
    ending how;
    std::string then;
  };
  for (const auto& [rule, how, then] : std::vector<row>{{restart::permanent, normal, "start a"},
                                                        {restart::permanent, told, "start a"},
                                                        {restart::permanent, crash, "start a"},
                                                        {restart::transient, normal, "ended a"},
                                                        {restart::transient, told, "ended a"},
                                                        {restart::transient, crash, "start a"},
                                                        {restart::temporary, normal, "ended a, removed a"},
                                                        {restart::temporary, told, "ended a, removed a"},
                                                        {restart::temporary, crash, "ended a, removed a"}}) {
    CAPTURE(static_cast<int>(rule));
    CAPTURE(how.text);
    stage s;
    s.run({rules("a", rule), rules("other")});
    CHECK(s.down("a", how) == then);
    CHECK(s.state("other") == child_state::running);
  }
}

TEST_CASE("one_for_one restarts only the dead child") {
  stage s(patient(strategy::one_for_one));
  s.run({rules("a"), rules("b"), rules("c")});
  CHECK(s.down("b") == "start b");
  CHECK(s.down("a") == "start a");
  CHECK(s.started("b") == "started b");
  CHECK(s.started("a") == "started a");
}

TEST_CASE("one_for_all stops the others in reverse order and starts all in order") {
  stage s(patient(strategy::one_for_all));
  s.run({rules("a"), rules("b"), rules("c"), rules("d")});
  CHECK(s.down("b") == "request_stop d");
  CHECK(s.down("d", told) == "request_stop c");
  CHECK(s.down("c", told) == "request_stop a");
  CHECK(s.down("a", told) == "start a");
  CHECK(s.started("a") == "started a, start b");
  CHECK(s.started("b") == "started b, start c");
  CHECK(s.started("c") == "started c, start d");
  CHECK(s.started("d") == "started d");
}

TEST_CASE("rest_for_one restarts the dead child and those after it") {
  stage s(patient(strategy::rest_for_one));
  s.run({rules("a"), rules("b"), rules("c"), rules("d")});
  CHECK(s.down("b") == "request_stop d");
  CHECK(s.down("d", told) == "request_stop c");
  CHECK(s.down("c", told) == "start b");
  CHECK(s.started("b") == "started b, start c");
  CHECK(s.started("c") == "started c, start d");
  CHECK(s.started("d") == "started d");
  CHECK(s.state("a") == child_state::running);
}

TEST_CASE("simple_one_for_one restarts children one by one, as one_for_one") {
  stage s(patient(strategy::simple_one_for_one));
  CHECK(s.begin({}) == "ready");
  CHECK(s.add(rules("a")) == "start a");
  CHECK(s.add(rules("b")) == "start b");
  s.started("b");
  s.started("a");
  CHECK(s.down("a") == "start a");
}

TEST_CASE("a group restart forgets temporary siblings and restarts transient ones") {
  for (const auto how : {strategy::one_for_all, strategy::rest_for_one}) {
    stage s(patient(how));
    s.run({rules("a"), rules("once", restart::temporary), rules("c", restart::transient)});
    CHECK(s.down("a") == "request_stop c");
    CHECK(s.down("c", told) == "request_stop once");
    CHECK(s.down("once", told) == "ended once, removed once, start a");
    CHECK(s.started("a") == "started a, start c");
  }
}

TEST_CASE("a temporary child's death leaves its siblings alone") {
  for (const auto how : {strategy::one_for_all, strategy::rest_for_one}) {
    stage s(patient(how));
    s.run({rules("once", restart::temporary), rules("b")});
    CHECK(s.down("once") == "ended once, removed once");
    CHECK(s.state("b") == child_state::running);
  }
}

TEST_CASE("a sibling that fails while a group restarts restarts the group again") {
  stage s(patient(strategy::one_for_all));
  s.run({rules("a"), rules("b"), rules("c")});
  s.down("c");
  s.down("b", told);
  CHECK(s.down("a", told) == "start a");
  s.started("a");
  CHECK(s.down("b") == "start_failed b, request_stop a");
  CHECK(s.down("a", told) == "start a");
  CHECK(s.started("a") == "started a, start b");
  CHECK(s.core.find("c")->state == child_state::waiting);
}

TEST_CASE("a sibling that dies by itself while a group is being stopped counts as stopped, not as a restart") {
  stage s({.strategy = strategy::one_for_all, .intensity = 1});
  s.run({rules("a"), rules("b"), rules("c")});
  CHECK(s.down("a") == "request_stop c");
  CHECK(s.down("b") == "");
  CHECK(s.down("c", told) == "start a");
  CHECK(s.started("a") == "started a, start b");
}

TEST_CASE("shutdown by brutal, timeout and infinite ask, wait and kill as they say") {
  auto child = rules("a");
  SUBCASE("brutal kills at once") {
    child.shutdown = shutdown::brutal();
    stage s;
    s.run({child});
    CHECK(s.shut_down() == "kill a");
    CHECK(s.down("a", crash) == "ended a, end orderly");
  }
  SUBCASE("timeout asks, and kills at the deadline") {
    child.shutdown = shutdown::timeout(700ms);
    stage s;
    s.run({child});
    CHECK(s.shut_down() == "request_stop a");
    CHECK(s.due() == 700ms);
    CHECK(s.pass(699ms) == "");
    CHECK(s.pass(1ms) == "kill a");
    CHECK(s.down("a", crash) == "ended a, end orderly");
  }
  SUBCASE("infinite asks and has no deadline") {
    child.shutdown = shutdown::infinite();
    stage s;
    s.run({child});
    CHECK(s.shut_down() == "request_stop a");
    CHECK(s.due() < 0ns);
    CHECK(s.pass(24h) == "");
    CHECK(s.down("a", told) == "ended a, end orderly");
  }
}

TEST_CASE("a child that does not die when it is killed is abandoned after the grace time") {
  for (const bool brutal : {true, false}) {
    auto child = rules("a");
    child.shutdown = brutal ? shutdown::brutal() : shutdown::timeout(0ms);
    stage s;
    s.run({rules("first"), child});
    CHECK(s.shut_down() == (brutal ? "kill a" : "request_stop a"));
    if (!brutal) CHECK(s.pass(0ms) == "kill a");
    const auto grace = s.due();
    CHECK(grace > 0ns);
    CHECK(s.pass(grace) == "abandon a, ended a, request_stop first");
    CHECK(s.down("a") == "");
    CHECK(s.down("first", told) == "ended first, end orderly");
  }
}

TEST_CASE("a supervisor gives up at one restart more than its intensity, in reverse order") {
  for (const std::size_t intensity : {0, 1, 3}) {
    CAPTURE(intensity);
    stage s({.intensity = intensity, .period = 5s, .backoff = {.step = 0ms}});
    s.run({rules("a"), rules("b")});
    for (std::size_t i = 0; i < intensity; ++i) {
      CHECK(s.down("a") == "start a");
      s.started("a");
    }
    CHECK(s.down("a") == "request_stop b");
    CHECK(s.down("b", told) == "ended b, end limit_reached");
    CHECK(s.last_text.find("\"a\": boom") != std::string::npos);
  }
}

TEST_CASE("restarts older than the period no longer count") {
  stage s({.intensity = 2, .period = 5s});
  s.run({rules("a")});
  const auto die = [&] {
    const auto said = s.down("a");
    s.started("a");
    return said;
  };
  CHECK(die() == "start a");
  s.pass(3s);
  CHECK(die() == "start a");
  s.pass(2001ms);  // the first is outside, the second inside
  CHECK(die() == "start a");
  s.pass(2999ms);
  CHECK(s.down("a") == "end limit_reached");
}

TEST_CASE("a restart that fails counts as a restart and is tried again until the limit") {
  stage s({.intensity = 3, .backoff = {.step = 0ms}});
  s.run({rules("a")});
  CHECK(s.down("a") == "start a");
  CHECK(s.down("a") == "start_failed a, start a");
  CHECK(s.down("a") == "start_failed a, start a");
  CHECK(s.down("a") == "start_failed a, end limit_reached");
}

TEST_CASE("pauses grow from initial by step and factor up to the maximum") {
  stage s(
      {.intensity = 100, .backoff = {.initial = 5ms, .step = 10ms, .factor = 3.0, .maximum = 200ms, .jitter = 0.0}});
  s.run({rules("a")});
  s.down("a");
  for (const auto expected : {5ms, 10ms, 30ms, 90ms, 200ms, 200ms}) {
    CHECK(s.due() == expected);
    CHECK(s.pass(expected - 1ns) == "");
    CHECK(s.pass(1ns) == "start a");
    s.down("a");
  }
}

TEST_CASE("jitter draws a pause shorter or longer by at most its share") {
  double drawn = 0.0;
  for (const auto& [number, expected] : {std::pair{0.0, 80ms}, {0.5, 100ms}, {0.999999999, 120ms}}) {
    drawn = number;
    stage s({.intensity = 100, .backoff = {.step = 100ms, .jitter = 0.2}}, [&] { return drawn; });
    s.run({rules("a")});
    s.down("a");
    s.down("a");
    CHECK(std::chrono::abs(s.due() - expected) < 1us);
  }
}

TEST_CASE("a child that lived long enough starts again without a pause") {
  stage s({.intensity = 100, .backoff = {.step = 50ms, .jitter = 0.0, .reset_after = 1s}});
  s.run({rules("a")});
  CHECK(s.down("a") == "start a");
  s.started("a");
  s.pass(999ms);
  CHECK(s.down("a") == "");
  CHECK(s.pass(50ms) == "start a");
  s.started("a");
  s.pass(1s);
  CHECK(s.down("a") == "start a");
}

TEST_CASE("a pause that has passed before its alarm was set is still due") {
  stage s({.intensity = 100, .backoff = {.initial = 10ms}});
  s.run({rules("a")});
  CHECK(s.down("a") == "");
  s.now += 11ms;
  REQUIRE(s.core.next_tick(s.now).has_value());
  CHECK(s.pass(0ms) == "start a");
}

}  // namespace planaria::detail
