#include "stage.hpp"

#include <filesystem>
#include <functional>

using namespace planaria;
using namespace planaria::testing;
namespace fs = std::filesystem;

namespace {

node_options stored_in(const fs::path& run) {
  node_options options;
  options.storage.directory = run;
  return options;
}

// Trains until `steps` are done, stops in an orderly way and closes the node.
void train_until(const stage& s, const fs::path& run, std::uint64_t steps) {
  node where(stored_in(run));
  mesh_job job(where, s.options());
  // Asked for in the callback of the step before: the run then ends after the step that is being gathered.
  job.on_step([&](const mesh_progress& now) {
    if (now.step + 1 == steps) job.stop();
  });
  job.start();
  const auto result = job.wait(patience);
  CHECK(result.steps == steps);
}

}  // namespace

TEST_CASE("a run goes on where it stopped: in an epoch, at its end, before the last step") {
  for (const std::uint64_t steps : {4, 6, 12, 17}) {
    CAPTURE(steps);
    const temporary_directory dir;
    stage s;
    const auto expected = s.run().weights_hash;
    train_until(s, dir / "run", steps);
    s.mesh.start = start_from::resume;
    node where(stored_in(dir / "run"));
    const auto result = s.run(where);
    CHECK(result.weights_hash == expected);
    CHECK(result.complete);
    CHECK_FALSE(result.already_complete);
    check_exactly_once(result, 3, 90);
  }
}

TEST_CASE("a run that would deal its samples out otherwise than it began is not resumed") {
  const temporary_directory dir;
  const stage s;
  train_until(s, dir / "run", 8);
  const auto refuse = [&](const std::function<void(stage&)>& change, errc code, const char* there, const char* here) {
    CAPTURE(here);
    stage other = s;
    other.mesh.start = start_from::resume;
    change(other);
    node where(stored_in(dir / "run"));
    expect_error(
        code, [&] { mesh_job job(where, other.options()); }, there, here);
  };
  refuse([](stage& o) { o.mesh.seed = 6; }, errc::schema_mismatch, "seed=5", "seed=6");
  refuse([](stage& o) { o.mesh.batch = 6; }, errc::schema_mismatch, "batch=5", "batch=6");
  refuse([](stage& o) { o.mesh.peers = 2; }, errc::schema_mismatch, "peers=3", "peers=2");
  refuse([](stage& o) { o.mesh.shuffle = false; }, errc::schema_mismatch, "shuffle=true", "shuffle=false");
  refuse([](stage& o) { o.mesh.epochs = 1; }, errc::invalid_input, "step 8", "6 steps");
  stage same = s;
  same.mesh.start = start_from::resume;
  node where(stored_in(dir / "run"));
  CHECK(same.run(where).weights_hash == s.fault_free().weights_hash);
}

TEST_CASE("resuming a finished run says that it is done and changes nothing") {
  const temporary_directory dir;
  stage s;
  std::string expected;
  std::size_t snapshots_before = 0;
  {
    node where(stored_in(dir / "run"));
    expected = s.run(where).weights_hash;
    snapshots_before = snapshots(*where.store()).list().size();
  }
  s.mesh.start = start_from::resume;
  node where(stored_in(dir / "run"));
  const auto result = s.run(where);
  CHECK(result.already_complete);
  CHECK(result.weights_hash == expected);
  CHECK(snapshots(*where.store()).list().size() == snapshots_before);
}

TEST_CASE("resuming with nothing stored is a fresh start") {
  const temporary_directory dir;
  stage s;
  s.mesh.start = start_from::resume;
  node where(stored_in(dir / "run"));
  CHECK(s.run(where).weights_hash == s.fault_free().weights_hash);
}

TEST_CASE("a fresh start over an existing run is refused, and so is another model's run, by tensor") {
  const temporary_directory dir;
  stage s;
  train_until(s, dir / "run", 6);
  node where(stored_in(dir / "run"));
  expect_error(
      errc::already_exists, [&] { mesh_job job(where, s.options()); }, "step 6");
  s.mesh.start = start_from::resume;
  s.trainer.make = [](const model_context&) {
    return make_model(torch::nn::Sequential(torch::nn::Linear(8, 17), torch::nn::ReLU(), torch::nn::Linear(17, 3)));
  };
  expect_error(
      errc::schema_mismatch, [&] { mesh_job job(where, s.options()); }, "0.weight", "[17, 8]", "[16, 8]");
  // Nothing was lost: the right model goes on.
  s.trainer.make = small_mlp;
  CHECK(s.run(where).weights_hash == s.fault_free().weights_hash);
}

TEST_CASE("other optimizer options than the stored run's are refused by name") {
  const temporary_directory dir;
  stage s;
  train_until(s, dir / "run", 6);
  s.mesh.start = start_from::resume;
  s.trainer.optimizer = torch::optim::SGDOptions(0.2).momentum(0.9);
  node where(stored_in(dir / "run"));
  expect_error(
      errc::schema_mismatch, [&] { mesh_job job(where, s.options()); }, "other options", "0.2");
}

TEST_CASE("a copy of a live run directory resumes on its own and ends with the same bits") {
  const temporary_directory dir;
  stage s;
  const auto expected = s.run().weights_hash;
  {
    node where(stored_in(dir / "run"));
    mesh_job job(where, s.options());
    counter steps;
    // Holds the run while it is copied: live, but not moving, so that the copy is of one moment.
    std::mutex moving;
    job.on_step([&](const mesh_progress&) {
      steps.add();
      std::lock_guard lock(moving);
    });
    std::unique_lock held(moving, std::defer_lock);
    job.start();
    steps.wait_for(9);
    held.lock();
    fs::copy(dir / "run", dir / "copy", fs::copy_options::recursive);
    held.unlock();
    CHECK(job.wait(patience).weights_hash == expected);
  }
  s.mesh.start = start_from::resume;
  node where(stored_in(dir / "copy"));
  CHECK(s.run(where).weights_hash == expected);
}

TEST_CASE("a damaged newest snapshot is skipped with a word, and the bits are the same") {
  const temporary_directory dir;
  stage s;
  const auto expected = s.run().weights_hash;
  train_until(s, dir / "run", 10);
  // The newest snapshot's file of parts.
  fs::path newest;
  for (const auto& entry : fs::directory_iterator(dir / "run" / "db"))
    if (entry.path().extension() == ".sst" && fs::file_size(entry.path()) > 2000 &&
        (newest.empty() || entry.path() > newest))
      newest = entry.path();
  REQUIRE_FALSE(newest.empty());
  std::fstream file(newest, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(300);
  file.write("damage", 6);
  file.close();
  s.mesh.start = start_from::resume;
  node where(stored_in(dir / "run"));
  const auto result = s.run(where);
  CHECK(result.weights_hash == expected);
  CHECK(count_events(where, event_kind::refused) >= 1);
}
