#include "training.hpp"

using namespace planaria::testing;

namespace {

// The step of the newest snapshot, asked for beside the live run.
long newest_snapshot(const training& job) {
  const auto seen = run({PLANARIA_PROGRAM, "inspect", job.path("run"), "--events", "0"}).output;
  const auto at = seen.rfind("train        step ");
  return at == std::string::npos ? 0 : std::stol(seen.substr(at + 18));
}

// Until the run has got on by at least one snapshot; each question takes a process of its own, so this does not spin.
bool wait_beyond(const training& job, long step) {
  for (int question = 0; question < 100; ++question)
    if (newest_snapshot(job) > step) return true;
  return false;
}

}  // namespace

TEST_CASE("kill -9 at three moments, each resumed, ends with the fault-free run's hash") {
  const training job;
  const std::vector<std::string> longer{"--set", "training.epochs=1000", "--set", "snapshot.every=20"};
  require_success(job.train("clean", longer));
  auto arguments = longer;
  long before = 0;
  for (int kill = 0; kill < 3; ++kill) {
    CAPTURE(kill);
    process victim(job.command("run", arguments));
    REQUIRE(victim.wait_for("step "));
    REQUIRE(wait_beyond(job, before));
    victim.signal(SIGKILL);
    CHECK(victim.wait() == 128 + SIGKILL);
    before = newest_snapshot(job);
    if (kill == 0) arguments.push_back("--resume");
  }
  require_success(job.train("run", arguments));
  const auto resumed = job.summary("run");
  const auto clean = job.summary("clean");
  CHECK(resumed["weights_hash"] == clean["weights_hash"]);
  CHECK(resumed["ledger"] == clean["ledger"]);
  CHECK(resumed["steps"] == clean["steps"]);
}

TEST_CASE("resuming a finished run says that it is done") {
  const training job;
  require_success(job.train("run"));
  const auto hash = job.summary("run")["weights_hash"];
  const auto again = job.train("run", {"--resume"});
  require_success(again);
  check_says(again, "complete already");
  CHECK(job.summary("run")["weights_hash"] == hash);
  CHECK(job.summary("run")["already_complete"] == true);
}
