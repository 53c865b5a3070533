// What a supervisor's core does by request, when it shuts down, and when significant children end.
#include "refusal.hpp"
#include "stage.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace planaria::detail {
namespace {

using namespace planaria::testing;

child_rules significant(std::string id, restart rule) {
  auto one = rules(std::move(id), rule);
  one.significant = true;
  return one;
}

}  // namespace

TEST_CASE("a child is added, stopped, started again and removed by request") {
  stage s;
  s.run({rules("a")});
  CHECK(s.add(rules("b")) == "start b");
  CHECK(s.started("b") == "started b");
  CHECK(s.stop("b") == "request_stop b");
  CHECK(s.down("b", told) == "ended b");
  CHECK(s.stop("b") == "ended b");
  CHECK(s.restart("b") == "start b");
  CHECK(s.started("b") == "started b");
  s.stop("b");
  s.down("b", told);
  CHECK(s.remove("b") == "removed b");
  CHECK(s.core.find("b") == nullptr);
  CHECK(s.add(rules("b")) == "start b");
}

TEST_CASE("requests that cannot be met are refused and change nothing") {
  stage s;
  s.run({rules("a")});
  CHECK(refused([&] { s.add(rules("a")); }).code == errc::already_exists);
  CHECK(refused([&] { s.stop("x"); }).code == errc::not_found);
  CHECK(refused([&] { s.restart("x"); }).code == errc::not_found);
  CHECK(refused([&] { s.remove("x"); }).code == errc::not_found);
  CHECK(refused([&] { s.restart("a"); }).code == errc::invalid_input);
  CHECK(refused([&] { s.remove("a"); }).code == errc::invalid_input);
  s.shut_down();
  CHECK(refused([&] { s.add(rules("b")); }).code == errc::stopped);
  CHECK(refused([&] { s.stop("a"); }).code == errc::stopped);
  CHECK(refused([&] { s.restart("a"); }).code == errc::stopped);
  CHECK(s.down("a", told) == "ended a, end orderly");
}

TEST_CASE("a child added by request whose start fails is forgotten without a restart") {
  stage s;
  s.run({rules("a")});
  s.add(rules("b"));
  CHECK(s.down("b") == "start_failed b, ended b, removed b");
  CHECK(s.state("a") == child_state::running);
}

TEST_CASE("a child added while the first children start can fail without ending the supervisor") {
  stage s;
  s.begin({rules("a")});
  CHECK(s.add(rules("b")) == "");
  CHECK(s.started("a") == "started a, start b");
  CHECK(s.down("b") == "start_failed b, ended b, removed b, ready");
}

TEST_CASE("a stopped child whose start fails by request stays stopped") {
  stage s;
  s.run({rules("a")});
  s.stop("a");
  s.down("a", told);
  s.restart("a");
  CHECK(s.down("a") == "start_failed a, ended a");
  CHECK(s.state("a") == child_state::stopped);
}

TEST_CASE("a child stopped during its first start tells both who started and who stopped it") {
  stage s;
  s.run({});
  s.add(rules("a"));
  CHECK(s.stop("a") == "request_stop a");
  CHECK(s.down("a", told) == "start_failed a, ended a");
  s.restart("a");
  CHECK(s.started("a") == "started a");
}

TEST_CASE("a child that is being added while its group restarts is started with it, and told of once") {
  for (const bool second_start : {true, false}) {
    CAPTURE(second_start);
    stage s({.strategy = strategy::one_for_all, .intensity = 5});
    s.run({rules("a")});
    CHECK(s.add(rules("b")) == "start b");
    CHECK(s.down("a") == "request_stop b");
    CHECK(s.down("b", told) == "start a");
    CHECK(s.started("a") == "started a, start b");
    if (second_start)
      CHECK(s.started("b") == "started b");
    else
      CHECK(s.down("b") == "start_failed b, ended b, removed b");
  }
}

TEST_CASE("a child stopped during its pause is not started again") {
  stage s({.intensity = 100, .backoff = {.initial = 10ms}});
  s.run({rules("a")});
  CHECK(s.down("a") == "");
  CHECK(s.stop("a") == "ended a");
  CHECK(s.pass(1h) == "");
}

TEST_CASE("a child stopped by request starts again when its siblings are restarted") {
  stage s({.strategy = strategy::one_for_all, .intensity = 100});
  s.run({rules("a"), rules("b"), rules("c")});
  s.stop("b");
  s.down("b", told);
  CHECK(s.down("a") == "request_stop c");
  CHECK(s.down("c", told) == "start a");
  CHECK(s.started("a") == "started a, start b");
  CHECK(s.started("b") == "started b, start c");
}

TEST_CASE("a child that is stopped by request waits for nobody, and its crash meanwhile is its stop") {
  stage s;
  s.run({rules("a"), rules("b")});
  CHECK(s.stop("b") == "request_stop b");
  CHECK(s.stop("a") == "request_stop a");
  CHECK(s.down("a") == "ended a");
  CHECK(s.down("b", told) == "ended b");
  CHECK(s.state("a") == child_state::stopped);
}

TEST_CASE("shutting down stops what runs in reverse order and starts nothing more") {
  stage s({.strategy = strategy::one_for_all, .intensity = 100});
  s.run({rules("a"), rules("b"), rules("c")});
  SUBCASE("while siblings are being stopped for a restart") {
    CHECK(s.down("b") == "request_stop c");
    CHECK(s.shut_down() == "ended b");
    CHECK(s.down("c", told) == "ended c, request_stop a");
    CHECK(s.down("a", told) == "ended a, end orderly");
  }
  SUBCASE("while one is starting again") {
    s.down("b");
    s.down("c", told);
    CHECK(s.down("a", told) == "start a");
    CHECK(s.shut_down() == "ended b, ended c, request_stop a");
    CHECK(s.started("a") == "");
    CHECK(s.down("a", told) == "ended a, end orderly");
  }
  CHECK(s.pass(1h) == "");
}

TEST_CASE("a child that crashes during the shutdown is not a reason to give up") {
  stage s({.intensity = 0});
  s.run({rules("a"), rules("b"), rules("c")});
  CHECK(s.shut_down() == "request_stop c");
  CHECK(s.down("a") == "ended a");
  CHECK(s.down("c", told) == "ended c, request_stop b");
  CHECK(s.down("b") == "ended b, end orderly");
}

TEST_CASE("shutting down during the first start stops those that have started") {
  stage s;
  s.begin({rules("a"), rules("b"), rules("c")});
  s.started("a");
  CHECK(s.shut_down() == "ended c, request_stop b");
  CHECK(s.down("b", told) == "ended b, request_stop a");
  CHECK(s.down("a", told) == "ended a, end orderly");
}

TEST_CASE("any_significant ends the supervisor at the first significant child that ends by itself") {
  stage s({.auto_shutdown = auto_shutdown::any_significant});
  s.run({rules("a"), significant("b", restart::transient), significant("c", restart::temporary),
         rules("d", restart::temporary)});
  CHECK(s.down("d", normal) == "ended d, removed d");
  CHECK(s.down("b", normal) == "ended b, request_stop c");
  CHECK(s.down("c", told) == "ended c, request_stop a");
  CHECK(s.down("a", told) == "ended a, end orderly");
}

TEST_CASE("all_significant ends the supervisor at the last significant child that ends by itself") {
  stage s({.auto_shutdown = auto_shutdown::all_significant});
  s.run({rules("a"), significant("b", restart::transient), significant("c", restart::temporary)});
  CHECK(s.down("c", normal) == "ended c, removed c");
  CHECK(s.down("b", normal) == "ended b, request_stop a");
}

TEST_CASE("significance counts only when auto_shutdown says so, and not for ends that a supervisor causes or mends") {
  stage never;
  never.run({rules("a"), significant("b", restart::transient)});
  CHECK(never.down("b", normal) == "ended b");

  stage s({.auto_shutdown = auto_shutdown::any_significant});
  s.run({rules("a"), significant("b", restart::transient)});
  CHECK(s.down("b", crash) == "start b");
  s.started("b");
  s.stop("b");
  CHECK(s.down("b", told) == "ended b");
  CHECK(s.state("a") == child_state::running);
}

TEST_CASE("a significant temporary child that crashes has ended for good and counts") {
  stage s({.auto_shutdown = auto_shutdown::any_significant});
  s.run({rules("a"), significant("b", restart::temporary)});
  CHECK(s.down("b", crash) == "ended b, removed b, request_stop a");
}

}  // namespace planaria::detail
