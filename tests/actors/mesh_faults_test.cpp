#include "stage.hpp"

#include <atomic>
#include <functional>
#include <limits>
#include <set>
#include <utility>

using namespace planaria;
using namespace planaria::testing;

TEST_CASE("peers killed at many steps change no bit and no sample's count") {
  for (const std::uint64_t seed : {1, 2, 3}) {
    CAPTURE(seed);
    stage s;
    s.mesh.kills = mesh::random_kills(20, seed, 18, s.mesh.peers);
    node where;
    check_same_bits(s, where);
    CHECK(count_events(where, event_kind::killed) >= 10);
  }
}

TEST_CASE("the mesh's supervisor dies and the run goes on from the newest snapshot") {
  const temporary_directory dir;
  stage s;
  s.mesh.kills = {{"", 6}, {"", 7}, {"peer-1", 9}};
  node_options options;
  options.storage.directory = dir / "run";
  node where(options);
  check_same_bits(s, where);
}

TEST_CASE("without a store a mesh that lost every peer begins again and ends with the same bits") {
  stage s;
  s.mesh.kills = {{"", 5}};
  node where;
  check_same_bits(s, where);
}

TEST_CASE("the last peer to arrive dies just before the exchange") {
  stage s;
  counter arrived;
  at_most once(1);
  s.wrap = with_hook([&](moment at, const step_context* where, contribution*) {
    if (at != moment::computed || where->step != 4) return;
    if (where->rank != 2) {
      arrived.add();
      return;
    }
    arrived.wait_for(2);
    if (once()) throw std::runtime_error("died on the threshold");
  });
  node where;
  check_same_bits(s, where);
  CHECK(count_events(where, event_kind::detected) == 1);
}

TEST_CASE("two peers die in the same step") {
  stage s;
  at_most twice(2);
  counter both;
  s.wrap = with_hook([&](moment at, const step_context* where, contribution*) {
    if (at != moment::compute || where->step != 4 || where->rank == 1 || !twice()) return;
    both.add();
    both.wait_for(2);
    throw std::runtime_error("together");
  });
  node where;
  check_same_bits(s, where);
  CHECK(count_events(where, event_kind::detected) == 2);
}

TEST_CASE("every peer dies in the same step") {
  stage s;
  at_most all(3);
  counter together;
  s.wrap = with_hook([&](moment at, const step_context* where, contribution*) {
    if (at != moment::compute || where->step != 4 || !all()) return;
    together.add();
    together.wait_for(3);
    throw std::runtime_error("nobody is left");
  });
  node where;
  check_same_bits(s, where);
}

TEST_CASE("a peer dies while it recovers") {
  stage s;
  at_most first(1);
  at_most recovering(2);
  s.wrap = with_hook([&](moment at, const step_context* where, contribution*) {
    if (at == moment::compute && where->step == 4 && where->rank == 0 && first())
      throw std::runtime_error("first death");
    if (at == moment::load && recovering()) throw std::runtime_error("death while recovering");
  });
  node where;
  check_same_bits(s, where);
  CHECK(count_events(where, event_kind::detected) == 3);
}

TEST_CASE("a donor dies while it serves") {
  stage s(2);
  node where;
  at_most first(1);
  at_most donor(1);
  s.wrap = with_hook([&](moment at, const step_context* context, contribution*) {
    if (at == moment::compute && context->step == 4 && context->rank == 0 && first())
      throw std::runtime_error("first death");
    // The replacement of peer-0 is copying from the only other peer.
    if (at == moment::load && donor()) CHECK(where.kill("train/mesh/peer-1"));
  });
  check_same_bits(s, where);
}

TEST_CASE("a peer that dies while it applies is replaced from one that has applied, or not yet") {
  for (const std::int64_t rank : {0, 1, 2}) {
    CAPTURE(rank);
    stage s;
    at_most once(1);
    s.wrap = with_hook([&, rank](moment at, const step_context* where, contribution*) {
      if (at == moment::apply && where->step == 6 && where->rank == rank && once())
        throw std::runtime_error("between two steps");
    });
    node where;
    check_same_bits(s, where);
  }
}

TEST_CASE("an exception in forward on every third step is survived, its text kept") {
  stage s;
  std::mutex mutex;
  std::set<std::uint64_t> failed;
  s.wrap = with_hook([&](moment at, const step_context* where, contribution*) {
    if (at != moment::compute || where->rank != 1 || where->step % 3 != 0) return;
    std::lock_guard lock(mutex);
    if (failed.insert(where->step).second) throw std::runtime_error("every third step");
  });
  node where;
  check_same_bits(s, where);
  std::size_t told = 0;
  for (const auto& e : where.events().events())
    told += e.kind == event_kind::detected && e.reason == "every third step" ? 1 : 0;
  CHECK(told == failed.size());
}

TEST_CASE("a peer that always fails ends the job with the reason, after its limits") {
  stage s;
  s.mesh.intensity = 3;
  s.wrap = with_hook([&](moment at, const step_context* where, contribution*) {
    if (at == moment::compute && where->rank == 1) throw std::runtime_error("this never works");
  });
  node where;
  mesh_job job(where, s.options());
  job.start();
  expect_error(
      errc::limit_reached, [&] { static_cast<void>(job.wait(patience)); }, "restarts within", "\"train\"");
  CHECK(job.ended());
}

TEST_CASE("a contribution that is not as its parameters are ends its peer, named, and harms nobody else") {
  const std::pair<const char*, std::function<void(contribution&)>> faults[] = {
      {"3 gradients, not 4", [](contribution& c) { c.gradients.pop_back(); }},
      {"0 gradients, not 4", [](contribution& c) { c.gradients.clear(); }},
      {"0.weight is Float [15, 8], not Float [16, 8]",
       [](contribution& c) { c.gradients[0] = c.gradients[0].slice(0, 0, 15).contiguous(); }},
      {"0.bias is Double [16], not Float [16]",
       [](contribution& c) { c.gradients[1] = c.gradients[1].to(torch::kFloat64); }},
      {"2.weight is not a contiguous", [](contribution& c) { c.gradients[2] = c.gradients[2].t().contiguous().t(); }},
  };
  for (const auto& [text, spoil] : faults) {
    CAPTURE(text);
    stage s;
    at_most once(1);
    s.wrap = with_hook([&, &spoil = spoil](moment at, const step_context* where, contribution* found) {
      if (at == moment::computed && where->step == 4 && where->rank == 1 && once()) spoil(*found);
    });
    node where;
    check_same_bits(s, where);
    std::string told;
    for (const auto& e : where.events().events())
      if (e.kind == event_kind::detected) told = e.reason;
    CHECK(told.find("peer-1's contribution to step 4") != std::string::npos);
    CHECK(told.find(text) != std::string::npos);
  }
}

TEST_CASE("an averaging that breaks off fails the mesh, which starts again") {
  stage s;
  std::atomic<bool> spoiled{false};
  at_most once(1);
  s.wrap = with_hook([&](moment at, const step_context* where, contribution* found) {
    if (at == moment::computed && where->step == 3 && where->rank == 2) {
      found->gradients[1].fill_(std::numeric_limits<float>::quiet_NaN());
      spoiled = true;
    }
    // Asked for the name of the parameter that is not finite.
    if (at == moment::weights && spoiled && once()) throw std::runtime_error("no names today");
  });
  node where;
  const auto result = s.run(where);
  CHECK(result.complete);
  check_exactly_once(result, 3, 90);
  bool told = false;
  for (const auto& e : where.events().events())
    told = told || e.reason.find("the averaging of step 3 broke off: no names today") != std::string::npos;
  CHECK(told);
  node other;
  CHECK(s.run(other).weights_hash == result.weights_hash);
}

TEST_CASE("a peer that fails while it copies a snapshot leaves the duty to another") {
  for (const std::uint64_t every : {0, 6}) {
    CAPTURE(every);
    const temporary_directory dir;
    stage s;
    s.mesh.snapshot_every = every;
    std::atomic<bool> trained{false};
    at_most once(1);
    s.wrap = with_hook([&](moment at, const step_context*, contribution*) {
      if (at == moment::copy && trained && once()) throw std::runtime_error("died while copying");
      if (at == moment::compute) trained = true;
    });
    node_options options;
    options.storage.directory = dir / "run";
    node where(options);
    check_same_bits(s, where);
    CHECK(snapshots(*where.store()).recover("train")->info.step == 18);
  }
}

TEST_CASE("a hung peer counts as dead, its slot is abandoned and its late gradient fenced") {
  stage s;
  s.mesh.progress_deadline = std::chrono::milliseconds(100);
  late_gradient late;
  s.wrap = with_hook([&](moment at, const step_context* where, contribution*) { late(at, where); });
  node where;
  check_same_bits(s, where);
  bool told = false;
  for (const auto& e : where.events().events())
    told = told || (e.kind == event_kind::detected && e.reason.find("no progress") != std::string::npos);
  CHECK(told);
  CHECK(where.compute().counts().abandoned_total >= 1);
}

TEST_CASE("NaN on one peer only skips the step for all and says where it was") {
  stage s;
  s.wrap = with_hook([](moment at, const step_context* where, contribution* found) {
    if (at == moment::computed && where->step == 3 && where->rank == 2)
      found->gradients[1].fill_(std::numeric_limits<float>::quiet_NaN());
  });
  node where;
  mesh_job job(where, s.options());
  job.start();
  const auto result = job.wait(patience);
  CHECK(job.progress().skipped_steps == 1);
  for (const auto& w : result.weights) CHECK(torch::isfinite(w.tensor).all().item<bool>());
  std::string told;
  for (const auto& e : where.events().events())
    if (e.kind == event_kind::step_skipped) told = e.reason;
  CHECK(told.find("step 3") != std::string::npos);
  CHECK(told.find("peer-2") != std::string::npos);
  CHECK(told.find("0.bias") != std::string::npos);
  // Skipped together: with a kill the bits are the same.
  auto again = s;
  again.mesh.kills = {{"peer-0", 3}, {"peer-2", 4}};
  node other;
  CHECK(again.run(other).weights_hash == result.weights_hash);
}

TEST_CASE("two runs in one process, in one node and in two, do not disturb each other") {
  stage first;
  stage second(2, 60, 4, 2);
  first.mesh.name = "first";
  second.mesh.name = "second";
  first.mesh.kills = {{"peer-1", 3}};
  second.mesh.kills = {{"peer-0", 4}, {"", 6}};
  node shared;
  node other;
  mesh_job a(shared, first.options());
  mesh_job b(shared, second.options());
  mesh_job c(other, first.options());
  a.start();
  b.start();
  c.start();
  const auto expected = first.fault_free().weights_hash;
  CHECK(a.wait(patience).weights_hash == expected);
  CHECK(b.wait(patience).weights_hash == second.fault_free().weights_hash);
  CHECK(c.wait(patience).weights_hash == expected);
}

TEST_CASE("a job stopped early says where, and killing its supervisor fails it") {
  stage s(2, 90, 5, 50);
  node where;
  mesh_job job(where, s.options());
  counter steps;
  job.on_step([&](const mesh_progress&) { steps.add(); });
  job.start();
  steps.wait_for(3);
  job.stop();
  const auto stopped = job.wait(patience);
  CHECK_FALSE(stopped.complete);
  CHECK(stopped.steps >= 3);
  CHECK(stopped.steps < 450);
  s.mesh.name = "doomed";
  mesh_job doomed(where, s.options());
  doomed.start();
  REQUIRE(where.kill("doomed", "test"));
  expect_error(
      errc::limit_reached, [&] { static_cast<void>(doomed.wait(patience)); }, "test");
}
