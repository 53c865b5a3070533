#include "training.hpp"

using namespace planaria::testing;

TEST_CASE("a run with kills of peers and of the mesh ends with the fault-free run's hash") {
  const training job;
  require_success(job.train("clean"));
  const auto clean = job.summary("clean");
  CHECK(clean["steps"] == 40);
  CHECK(clean["ledger"]["lost"] == 0);
  CHECK(clean["ledger"]["duplicated"] == 0);
  CHECK(clean["ledger"]["epochs"] == 4);
  CHECK(clean["samples"] == 960);
  CHECK(clean["recoveries"].empty());
  CHECK(clean["accuracy"] > 0.9);
  const auto killed =
      job.train("killed", {"--kill", "peer-1@step=3", "--kill", "mesh@step=12", "--kill-random", "8", "--seed", "5"});
  require_success(killed);
  const auto summary = job.summary("killed");
  CHECK(summary["weights_hash"] == clean["weights_hash"]);
  CHECK(summary["ledger"] == clean["ledger"]);
  CHECK(summary["recoveries"].size() >= 5);
  const auto& first = summary["recoveries"][0];
  CHECK(first["path"] == "train/mesh/peer-1");
  CHECK(first["respawned_us"] > 0);
  check_says(killed, "recovery (ms since death)");
  check_says(killed, clean["weights_hash"]);
}

TEST_CASE("the configuration can ask for the comparison itself") {
  const training job;
  const auto done = job.train("run", {"--kill", "peer-0@step=7", "--set", "faults.compare_fault_free=true"});
  require_success(done);
  check_says(done, "identical");
  CHECK(job.summary("run")["fault_free_hash"] == job.summary("run")["weights_hash"]);
}

TEST_CASE("plain lines are written where there is no terminal") {
  const training job;
  const auto done = job.train("run", {"--peers", "1"});
  require_success(done);
  check_says(done, "step 120/120");
  check_says(done, "test accuracy");
  CHECK(done.output.find('\r') == std::string::npos);
}

TEST_CASE("an interrupt stops the run with a snapshot from which it goes on") {
  const training job;
  require_success(job.train("clean", {"--set", "training.epochs=300"}));
  process interrupted(job.command("run", {"--set", "training.epochs=300"}));
  REQUIRE(interrupted.wait_for("step 1/"));
  interrupted.signal(SIGINT);
  CHECK(interrupted.wait() == 0);
  const auto stopped = job.summary("run");
  CHECK(stopped["complete"] == false);
  CHECK(interrupted.output().find("--resume") != std::string::npos);
  const auto resumed = job.train("run", {"--resume", "--set", "training.epochs=300"});
  require_success(resumed);
  CHECK(job.summary("run")["weights_hash"] == job.summary("clean")["weights_hash"]);
}
