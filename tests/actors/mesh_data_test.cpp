#include "stage.hpp"

#include <functional>
#include <limits>

using namespace planaria;
using namespace planaria::testing;

TEST_CASE("uneven tails use every sample once and weigh the mean by samples") {
  for (const std::int64_t samples : {46, 47, 59, 61}) {
    CAPTURE(samples);
    stage s(3, samples, 5, 2);
    s.mesh.kills = {{"peer-0", 3}, {"peer-2", 4}, {"peer-1", 6}};
    node where;
    check_same_bits(s, where);
  }
}

TEST_CASE("more peers than samples in the tail: those without any still take the step") {
  stage s(4, 42, 5, 3);
  s.mesh.kills = {{"peer-3", 2}, {"peer-2", 5}, {"peer-3", 8}};
  node where;
  const auto result = check_same_bits(s, where);
  CHECK(result.steps == 9);
}

TEST_CASE("the mean over peers is the mean over the samples of one large batch") {
  stage many(4, 40, 5, 1);
  stage one(1, 40, 20, 1);
  const auto a = many.run();
  const auto b = one.run();
  for (std::size_t i = 0; i < a.weights.size(); ++i)
    CHECK(torch::allclose(a.weights[i].tensor, b.weights[i].tensor, 1e-4, 1e-5));
}

TEST_CASE("what cannot be trained is refused with the reason") {
  const auto refused = [](auto change, const char* word) {
    stage s;
    change(s);
    node where;
    expect_error(
        errc::invalid_input, [&] { mesh_job job(where, s.options()); }, word);
  };
  refused([](stage& s) { s.mesh.peers = 0; }, "peers");
  refused([](stage& s) { s.mesh.batch = 0; }, "batch");
  refused([](stage& s) { s.mesh.batch = 1000; }, "90");
  refused([](stage& s) { s.mesh.epochs = 0; }, "epochs");
  refused([](stage& s) { s.mesh.threads = 0; }, "threads");
  refused([](stage& s) { s.mesh.data = nullptr; }, "dataset");
}

TEST_CASE("a job that cannot work is refused before anything is started") {
  const auto refuse = [](const std::function<void(stage&)>& change, const char* what) {
    CAPTURE(what);
    stage s;
    change(s);
    node where;
    expect_error(
        errc::invalid_input, [&] { mesh_job job(where, s.options()); }, what);
    CHECK(where.tree().children.empty());
  };
  using std::chrono::milliseconds;
  refuse([](stage& s) { s.mesh.peers = 40; }, "82 compute slots");
  refuse([](stage& s) { s.mesh.peers = 5'000'000; }, "at most 1024 peers");
  refuse([](stage& s) { s.mesh.epochs = std::uint64_t{1} << 63; }, "epochs");
  refuse([](stage& s) { s.mesh.step_deadline = milliseconds{0}; }, "step_deadline");
  refuse([](stage& s) { s.mesh.step_deadline = milliseconds::max(); }, "step_deadline");
  refuse([](stage& s) { s.mesh.progress_deadline = milliseconds{-1}; }, "progress_deadline");
  refuse([](stage& s) { s.mesh.period = milliseconds{0}; }, "period");
  refuse([](stage& s) { s.mesh.step_attempts = 0; }, "step_attempts");
  refuse([](stage& s) { s.mesh.retention.keep_last = 0; }, "keep_last");
  refuse([](stage& s) { s.mesh.kills = {{"peer-9", 3}}; }, "peer-9");
  refuse([](stage& s) { s.mesh.kills = {{"peer-01", 3}}; }, "peer-01");
  refuse([](stage& s) { s.mesh.kills = {{"", 19}}; }, "ends at step 18");
  refuse([](stage& s) { s.trainer.evaluation_batch = 0; }, "evaluation_batch");
}
