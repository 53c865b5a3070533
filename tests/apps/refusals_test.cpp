// Every refusal: exit code 2, a message with what, where and why, and nothing created or lost.
#include "../file_content.hpp"
#include "training.hpp"

using namespace planaria::testing;
namespace fs = std::filesystem;

namespace {

void refused(const training& job, std::vector<std::string> more, std::initializer_list<const char*> words) {
  const auto done = job.train("run", std::move(more));
  CHECK(done.status == 2);
  for (const auto* w : words) check_says(done, w);
  CHECK_FALSE(fs::exists(job / "run"));
  CHECK_FALSE(fs::exists(job / "run.json"));
}

void write(const fs::path& to, const std::string& content) { std::ofstream(to, std::ios::binary) << content; }

}  // namespace

TEST_CASE("data that is missing, cut short, not IDX or of other counts is refused") {
  const training job;
  const auto set = [&](const std::string& name) {
    return std::vector<std::string>{"--set", "data.train_images=" + job.path(name)};
  };
  refused(job, set("absent"), {"absent", "no such file"});
  const auto good = content_of(job / "train-images");
  write(job / "cut", good.substr(0, 1000));
  refused(job, set("cut"), {"cut", "cut short"});
  write(job / "text", "label,pixel\n1,2\n");
  refused(job, set("text"), {"text", "not an IDX file"});
  refused(job, {"--set", "data.train_labels=" + job.path("test-labels")}, {"240 images", "40 labels"});
}

TEST_CASE("keys that are unknown or of the wrong type are refused, the nearest suggested") {
  const training job;
  refused(job, {"--set", "training.pears=3"}, {"training.pears", "did you mean \"training.peers\""});
  refused(job, {"--set", "training.peers=two"}, {"training.peers", "whole number"});
  refused(job, {"--set", "training.epochs=-1"}, {"training.epochs"});
  refused(job, {"--set", "optimizer.name=\"lion\""}, {"optimizer.name", "adamw"});
  refused(job, {"--set", "nonsense"}, {"key=value"});
  write(job / "job.toml", content_of(job / "job.toml") + "[snapshots]\nevery = 3\n");
  refused(job, {}, {"job.toml:", "snapshots.every", "snapshot.every"});
  write(job / "job.toml", "seed = = 3\n");
  refused(job, {}, {"job.toml:1"});
}

TEST_CASE("impossible sizes are refused") {
  const training job;
  refused(job, {"--peers", "0"}, {"peers"});
  refused(job, {"--set", "training.batch=0"}, {"batch"});
  refused(job, {"--set", "training.batch=1000"}, {"1000", "240"});
  refused(job, {"--set", "training.epochs=0"}, {"epochs"});
  refused(job, {"--kill", "peer-9@step=3"}, {"peer-9"});
  refused(job, {"--kill", "sometime"}, {"sometime", "peer-"});
  refused(job, {"--set", "model.name=\"cnn\"", "--set", "model.channels=[4, 4, 4, 4]"}, {"model.channels", "halved"});
}

TEST_CASE("numbers that make no sense are refused with what would") {
  const training job;
  const std::pair<const char*, const char*> bad[] = {
      {"optimizer.learning_rate=-1", "0 or more"},
      {"optimizer.learning_rate=nan", "finite"},
      {"optimizer.momentum=inf", "finite"},
      {"model.dropout=nan", "finite"},
      {"model.dropout=1.0", "[0, 1)"},
      {"data.deviation=nan", "finite"},
      {"data.deviation=0", "above 0"},
      {"schedule.warmup_steps=-5", "0 or more"},
      {"schedule.step_size=0", "1 or more"},
      {"faults.random_kills=-1", "0 or more"},
      {"snapshot.keep_last=0", "keep_last"},
      {"supervision.step_deadline_ms=0", "step_deadline"},
      {"supervision.step_attempts=0", "step_attempts"},
      {"supervision.progress_deadline_ms=9223372036854775807", "progress_deadline"},
  };
  for (const auto& [setting, words] : bad) {
    CAPTURE(setting);
    refused(job, {"--set", setting}, {words});
  }
  refused(job, {"--kill", "peer-1@step=41"}, {"ends at step 40"});
  refused(job, {"--kill-random", "-3"}, {"--kill-random"});
  refused(job, {"--peers", "100000"}, {"1024"});
}

TEST_CASE("a summary that could not be written is refused before the training") {
  const training job;
  const auto done = job.train("absent/run", {"--set", "run_dir=" + job.path("run")});
  CHECK(done.status == 2);
  check_says(done, "--summary");
  check_says(done, "absent/run.json");
  CHECK_FALSE(fs::exists(job / "run"));
}

TEST_CASE("a run that fails on its way is no refusal") {
  const training job;
  std::vector<std::string> kills;
  for (const auto* step : {"2", "4", "6", "8", "10"}) {
    kills.emplace_back("--kill");
    kills.push_back(std::string("mesh@step=") + step);
  }
  const auto done = job.train("run", kills);
  CHECK(done.status == 1);
  check_says(done, "failed: more than 3 restarts");
}

TEST_CASE("a run directory in use is refused and its holder named") {
  const training job;
  process live(job.command("run", {"--set", "training.epochs=2000"}));
  REQUIRE(live.wait_for("step 1/"));
  const auto second = job.train("run");
  CHECK(second.status == 2);
  check_says(second, "held by process " + std::to_string(live.pid()));
  live.signal(SIGINT);
  CHECK(live.wait() == 0);
}

TEST_CASE("a directory of another model, of other options or with a finished run is refused untouched") {
  const training job;
  require_success(job.train("run"));
  const auto hash = job.summary("run")["weights_hash"];
  const auto refuse = [&](std::vector<std::string> more, std::initializer_list<const char*> words) {
    const auto done = job.train("run", std::move(more));
    CHECK(done.status == 2);
    for (const auto* w : words) check_says(done, w);
  };
  refuse({}, {"step 40", "resume"});
  refuse({"--resume", "--set", "model.hidden=[33]"}, {"another model", "weight"});
  refuse({"--resume", "--set", "optimizer.learning_rate=0.5"}, {"other options", "0.5"});
  refuse({"--resume", "--set", "seed=4"}, {"other options", "seed=3", "seed=4"});
  const auto again = job.train("run", {"--resume"});
  require_success(again);
  CHECK(job.summary("run")["weights_hash"] == hash);
}

TEST_CASE("a place that cannot be written is refused") {
  const training job;
  write(job / "file", "in the way");
  const auto done = job.train("run", {"--set", "run_dir=" + job.path("file/run")});
  CHECK(done.status == 2);
  check_says(done, "file/run");
  CHECK(content_of(job / "file") == "in the way");
  write(job / "other/thesis.tex", "");
  fs::create_directory(job / "other");
  write(job / "other/thesis.tex", "precious");
  const auto occupied = job.train("run", {"--set", "run_dir=" + job.path("other")});
  CHECK(occupied.status == 2);
  check_says(occupied, "thesis.tex");
  CHECK(std::distance(fs::directory_iterator(job / "other"), {}) == 1);
}

TEST_CASE("a command line that makes no sense is refused") {
  CHECK(run({PLANARIA_PROGRAM}).status == 2);
  CHECK(run({PLANARIA_PROGRAM, "trian"}).status == 2);
  const auto absent = run({PLANARIA_PROGRAM, "train", "absent.toml"});
  CHECK(absent.status == 2);
  check_says(absent, "absent.toml");
}
