#include "training.hpp"

using namespace planaria::testing;

TEST_CASE("inspect shows a live run beside it and names its holder") {
  const training job;
  process live(job.command("run", {"--set", "training.epochs=2000"}));
  REQUIRE(live.wait_for("step 1/"));
  const auto seen = run({PLANARIA_PROGRAM, "inspect", job.path("run")});
  require_success(seen);
  check_says(seen, "held by process " + std::to_string(live.pid()));
  check_says(seen, "peer-2");
  check_says(seen, "running");
  live.signal(SIGINT);
  CHECK(live.wait() == 0);
}

TEST_CASE("inspect shows a finished run's tree, snapshots, events and recoveries") {
  const training job;
  require_success(job.train("run", {"--kill", "peer-1@step=4"}));
  const auto seen = run({PLANARIA_PROGRAM, "inspect", job.path("run"), "--events", "1000"});
  require_success(seen);
  for (const auto* words : {"no process holds it", "train", "mesh", "snapshots", "step 40", "verified", "killed",
                            "respawned", "caught up", "recomputed"})
    check_says(seen, words);
  const auto json = run({PLANARIA_PROGRAM, "inspect", job.path("run"), "--json"});
  require_success(json);
  for (const auto* words : {R"("path":"train/mesh/peer-1","type":"worker","status":"stopped","incarnation":2)",
                            R"("path":"train/mesh","type":"supervisor")"})
    check_says(json, words);
}

TEST_CASE("inspect refuses a directory without a run and makes nothing") {
  const temporary_directory dir;
  const auto seen = run({PLANARIA_PROGRAM, "inspect", (dir / "none").string()});
  CHECK(seen.status == 2);
  check_says(seen, "none");
  CHECK_FALSE(std::filesystem::exists(dir / "none"));
}
