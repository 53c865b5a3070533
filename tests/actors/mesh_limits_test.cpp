#include "stage.hpp"

#include <caf/all.hpp>

#include <atomic>
#include <functional>
#include <stdexcept>

using namespace planaria;
using namespace planaria::testing;

TEST_CASE("a step that fails however often its peer is restarted ends the job and says which") {
  stage s;
  s.mesh.intensity = 100'000;
  s.mesh.step_attempts = 5;
  std::atomic<int> failures{0};
  s.wrap = with_hook([&](moment at, const step_context* where, contribution*) {
    if (at != moment::compute || where->rank != 1 || where->step != 7) return;
    ++failures;
    throw std::runtime_error("a sample that the model cannot take");
  });
  node where;
  mesh_job job(where, s.options());
  job.start();
  expect_error(
      errc::limit_reached, [&] { static_cast<void>(job.wait(patience)); }, "step 7 failed 5 times", "a sample that");
  CHECK(failures >= 5);
}

TEST_CASE("a job whose supervisors are ended from outside has ended") {
  stage s(2, 90, 5, 100'000);
  const auto end_by = [&](node& where, const std::function<void()>& end, const char* why) {
    mesh_job job(where, s.options());
    counter steps;
    job.on_step([&](const mesh_progress&) { steps.add(); });
    job.start();
    steps.wait_for(1);
    end();
    expect_error(
        errc::limit_reached, [&] { static_cast<void>(job.wait(patience)); }, why);
    CHECK(job.ended());
  };
  node first;
  end_by(
      first, [&] { first.stop("train"); }, "stopped from outside");
  node_options options;
  options.root.intensity = 0;
  node second(options);
  second.start(child("fragile", [](caf::event_based_actor*, child_context) -> caf::behavior { return {[](int) {}}; }));
  end_by(
      second, [&] { CHECK(second.kill("fragile", "test")); }, "stopped from outside");
}

TEST_CASE("a mesh of more peers than slots may hang is killed and goes on beside its zombies") {
  stage s(9, 90, 2, 2);
  counter computing, again;
  std::atomic<int> zombies{9};
  s.wrap = with_hook([&](moment at, const step_context* where, contribution*) {
    if (at != moment::compute || where->step != 3) return;
    if (zombies.fetch_sub(1) > 0) {
      // In user code until every replacement has come as far.
      computing.add();
      again.wait_for(9);
    } else {
      again.add();
    }
  });
  node where;
  mesh_job job(where, s.options());
  job.start();
  computing.wait_for(9);
  CHECK(where.kill("train/mesh", "all at once"));
  const auto result = job.wait(patience);
  CHECK(result.weights_hash == s.fault_free().weights_hash);
  check_exactly_once(result, 2, 90);
}

TEST_CASE("whoever is told of an event may ask the job in return") {
  stage s;
  s.mesh.progress_deadline = std::chrono::milliseconds(100);
  late_gradient late;
  counter met;
  s.wrap = with_hook([&](moment at, const step_context* where, contribution*) { late(at, where); });
  node where;
  mesh_job job(where, s.options());
  const auto listening = where.events().subscribe([&](const event& e) {
    static_cast<void>(job.ledger());
    static_cast<void>(job.progress());
    if (e.kind == event_kind::fenced) met.add();
  });
  job.start();
  CHECK(job.wait(patience).complete);
  met.wait_for(1);
  where.events().unsubscribe(listening);
}
