#include "../temporary_directory.hpp"
#include "refusal.hpp"
#include "witness.hpp"

#include <planaria/runtime/compute_child.hpp>
#include <planaria/runtime/compute_pool.hpp>
#include <planaria/runtime/node.hpp>
#include <planaria/runtime/registry.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace planaria {
namespace {

using namespace std::chrono_literals;
using testing::patience;
using testing::refused;
using testing::signal;
using testing::witness;

node_options quiet() { return {.log_level = "off"}; }

// Bodies that hold their slots until they are let go, also when a test fails half-way.
struct blockade {
  std::shared_ptr<signal> gate = std::make_shared<signal>();
  ~blockade() { gate->raise(); }
  [[nodiscard]] std::function<void()> body() const {
    return [gate = gate] { static_cast<void>(gate->wait()); };
  }
};

// Runs a body and waits until its slot is idle again.
std::thread::id run_to_end(compute_pool& pool) {
  std::promise<std::thread::id> where;
  auto said = where.get_future();
  const auto handle = pool.run("one", [&] { where.set_value(std::this_thread::get_id()); });
  REQUIRE(said.wait_for(patience) == std::future_status::ready);
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!handle.done() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  REQUIRE(handle.done());
  return said.get();
}

// The pool has no event of its own: asked again until it says so.
template <class Condition>
bool comes_true(Condition&& condition) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!condition() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  return condition();
}

void no_wake(const child_context&) {}

}  // namespace

TEST_CASE("a pool grows a slot for each body at once and reuses those that are idle") {
  compute_pool pool;
  CHECK(pool.counts().slots == 0);
  for (int i = 0; i < 20; ++i) {
    run_to_end(pool);
    CHECK(pool.counts().slots <= 2);  // a slot that has just said "done" is not idle yet
  }
  blockade held;
  const auto a = pool.run("a", held.body());
  const auto b = pool.run("b", held.body());
  const auto c = pool.run("c", held.body());
  CHECK(comes_true([&] { return pool.counts().busy == 3; }));
  CHECK_FALSE(a.done());
  held.gate->raise();
  CHECK(comes_true([&] { return a.done() && b.done() && c.done(); }));
  CHECK(pool.counts().busy == 0);
}

TEST_CASE("each new slot runs on_thread_start first, once") {
  std::atomic<int> starts{0};
  compute_pool pool({.on_thread_start = [&] { ++starts; }});
  run_to_end(pool);
  CHECK(starts == static_cast<int>(pool.counts().slots));
}

TEST_CASE("an abandoned slot is counted until its body returns, and in total for ever") {
  compute_pool pool;
  blockade held;
  auto handle = pool.run("zombie", held.body());
  REQUIRE(comes_true([&] { return pool.counts().busy == 1; }));
  handle.abandon();
  handle.abandon();
  CHECK(handle.abandoned());
  CHECK(pool.counts().busy == 0);
  CHECK(pool.counts().abandoned == 1);
  run_to_end(pool);  // another slot takes its place
  held.gate->raise();
  CHECK(comes_true([&] { return handle.done(); }));
  CHECK_FALSE(handle.abandoned());
  handle.abandon();
  CHECK(pool.counts().abandoned == 0);
  CHECK(pool.counts().abandoned_total == 1);
}

TEST_CASE("an empty handle is done and cannot be abandoned") {
  compute_handle none;
  none.abandon();
  CHECK(none.done());
  CHECK_FALSE(none.abandoned());
}

TEST_CASE("a pool refuses a body at max_slots and at max_abandoned, and says which and for whom") {
  compute_pool pool({.max_slots = 3, .max_abandoned = 1});
  blockade held;
  auto zombie = pool.run("zombie", held.body());
  REQUIRE(comes_true([&] { return pool.counts().busy == 1; }));
  SUBCASE("max_abandoned") {
    zombie.abandon();
    const auto no = refused([&] { pool.run("train/late", [] {}); });
    CHECK(no.code == errc::limit_reached);
    CHECK(no.says("train/late"));
    CHECK(no.says("max_abandoned"));
    held.gate->raise();
    REQUIRE(comes_true([&] { return zombie.done(); }));
    run_to_end(pool);
  }
  SUBCASE("an abandoned body counts as hung only after its grace") {
    zombie.abandon(1h);
    CHECK(pool.counts().abandoned == 1);
    run_to_end(pool);
  }
  SUBCASE("max_slots") {
    pool.run("b", held.body());
    pool.run("c", held.body());
    const auto no = refused([&] { pool.run("train/late", [] {}); });
    CHECK(no.code == errc::limit_reached);
    CHECK(no.says("train/late"));
    CHECK(no.says("max_slots"));
  }
}

TEST_CASE("a closed pool takes no more bodies and has ended those that returned") {
  compute_pool pool;
  run_to_end(pool);
  CHECK(pool.close() == 0);
  CHECK(refused([&] { pool.run("late", [] {}); }).code == errc::stopped);
}

TEST_CASE("a body that returns ends its child normally: no slot is abandoned, and what the body holds is let go") {
  std::atomic<int> wakes{0};
  node n(quiet());
  witness seen(n.events());
  auto held = std::make_shared<int>(1);
  std::weak_ptr<int> alive = held;
  const auto gate = std::make_shared<signal>();
  auto spec = compute_child(
      "job", [held, gate](child_context) { static_cast<void>(gate->wait()); }, [&](const child_context&) { ++wakes; });
  held.reset();
  spec.restart = restart::temporary;
  CHECK(n.start(std::move(spec)) == "job");
  gate->raise();
  CHECK(n.wait("job", patience) == "");
  CHECK(seen.count(event_kind::detected, "job") == 0);
  CHECK(comes_true([&] { return alive.expired(); }));
  CHECK(wakes == 1);
  CHECK(n.compute().counts().abandoned_total == 0);
}

TEST_CASE("a body that returns at once has started and ended like any other") {
  node n(quiet());
  for (int i = 0; i < 50; ++i) {
    CAPTURE(i);
    auto spec = compute_child(
        "quick", [](child_context) {}, no_wake);
    spec.restart = restart::transient;
    CHECK(n.start(std::move(spec)) == "quick");
    CHECK(n.wait("quick", patience) == "");
    n.remove("quick");
  }
}

TEST_CASE("what a body throws becomes the down reason with its text, and the next life begins") {
  std::atomic<int> wakes{0};
  node n(quiet());
  witness seen(n.events());
  const auto started = std::make_shared<signal>();
  auto spec = compute_child(
      "job",
      [started](child_context me) {
        if (me.incarnation() > 1) return;
        static_cast<void>(started->wait());
        throw std::runtime_error("loss is nan");
      },
      [&](const child_context& me) { wakes += me.incarnation() == 1; });
  spec.restart = restart::transient;
  n.start(std::move(spec));
  started->raise();
  CHECK(seen.wait(event_kind::detected, "job").reason == "loss is nan");
  CHECK(n.wait("job", patience) == "");
  CHECK(wakes == 1);
  CHECK(n.compute().counts().abandoned_total == 0);
}

TEST_CASE("a kill wakes the body once, abandons its slot, and fences what it still does") {
  std::atomic<int> wakes{0};
  std::promise<bool> was_fenced;
  const auto woken = std::make_shared<signal>(), running = std::make_shared<signal>();
  node n(quiet());
  witness seen(n.events());
  auto spec = compute_child(
      "job",
      [&, woken, running](child_context me) {
        if (me.incarnation() > 1) {
          static_cast<void>(woken->wait());
          return;
        }
        running->raise();
        static_cast<void>(woken->wait());
        was_fenced.set_value(me.fenced());
      },
      [&, woken](const child_context& me) {
        if (me.incarnation() > 1) return;
        ++wakes;
        woken->raise();
      });
  spec.restart = restart::transient;
  n.start(std::move(spec));
  REQUIRE(running->wait());
  CHECK(n.kill("job", "drill"));
  auto fenced = was_fenced.get_future();
  REQUIRE(fenced.wait_for(patience) == std::future_status::ready);
  CHECK(fenced.get());
  CHECK(seen.wait(event_kind::detected, "job").reason == "drill");
  CHECK(n.wait("job", patience) == "");
  CHECK(wakes == 1);
  CHECK(comes_true([&] { return n.compute().counts().abandoned == 0; }));
}

TEST_CASE("a body that outlives its node still has the store, which is closed with the last of them") {
  const testing::temporary_directory dir;
  const auto stored = [&] { return store_options{.directory = dir / "run"}; };
  blockade held;
  const auto begun = std::make_shared<signal>();
  std::promise<std::string> read;
  auto found = read.get_future();
  {
    auto options = quiet();
    options.storage = stored();
    node n(options);
    n.start(compute_child(
        "late",
        [&, body = held.body(), begun](const child_context& me) {
          me.state().put("key", "value");
          begun->raise();
          body();
          read.set_value(me.state().get("key").value_or("nothing"));
        },
        no_wake));
    REQUIRE(begun->wait());
  }
  const auto open = [&] { return refused([&] { const store again(stored()); }).code; };
  CHECK(open() == errc::in_use);
  held.gate->raise();
  REQUIRE(found.wait_for(patience) == std::future_status::ready);
  CHECK(found.get() == "value");
  CHECK(comes_true([&] { return open() == errc{}; }));
}

TEST_CASE("a hung body is abandoned with its slot and replaced") {
  blockade held;
  node n(quiet());
  witness seen(n.events());
  auto spec = compute_child(
      "job",
      [body = held.body()](child_context me) {
        if (me.incarnation() == 1) body();
      },
      no_wake);
  spec.restart = restart::transient;
  spec.progress_deadline = 50ms;
  n.start(std::move(spec));
  CHECK(seen.wait(event_kind::detected, "job").reason.find("hung") == 0);
  CHECK(seen.wait(event_kind::slot_abandoned, "job").incarnation == 1);
  CHECK(n.wait("job", patience) == "");
  CHECK(n.compute().counts().abandoned == 1);
  held.gate->raise();
  CHECK(comes_true([&] { return n.compute().counts().abandoned == 0; }));
  CHECK(n.compute().counts().abandoned_total == 1);
}

TEST_CASE("a child that hangs again and again escalates once max_abandoned slots are lost") {
  blockade held;
  auto options = quiet();
  options.compute.max_abandoned = 2;
  node n(options);
  witness seen(n.events());
  auto spec = compute_child(
      "job", [body = held.body()](child_context) { body(); }, no_wake);
  spec.progress_deadline = 20ms;
  auto above = supervisor("above", {.intensity = 4, .period = 60s, .backoff = {.step = 0ms}}, {spec});
  above.restart = restart::temporary;
  n.start(std::move(above));
  CHECK(seen.wait(event_kind::detected, "above/job", 3).reason.find("max_abandoned") != std::string::npos);
  CHECK(seen.wait(event_kind::escalated, "above").reason.find("max_abandoned") != std::string::npos);
  CHECK(n.wait("above", patience).find("more than 4 restarts") == 0);
  held.gate->raise();
}

}  // namespace planaria
