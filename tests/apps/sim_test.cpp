// `planaria sim`: many seeds of real actors in simulated worlds.
#include "../file_content.hpp"
#include "training.hpp"

using namespace planaria::testing;

namespace {

outcome sim(std::vector<std::string> more) {
  std::vector<std::string> command{PLANARIA_PROGRAM, "sim"};
  command.insert(command.end(), more.begin(), more.end());
  return run(std::move(command));
}

}  // namespace

TEST_CASE("sim names its suites and runs a range of seeds of each") {
  const auto list = sim({"--list"});
  require_success(list);
  check_says(list, "tree");
  const auto done = sim({"--seeds", "1..20", "--threads", "2"});
  require_success(done);
  check_says(done, "seeds 1..20: 20 runs");
  check_says(done, "0 failed");
}

TEST_CASE("sim writes the trace of one seed, the same twice") {
  const temporary_directory dir;
  for (const auto* name : {"one", "two"})
    require_success(sim({"--suite", "tree", "--seeds", "7", "--trace", (dir / name).string()}));
  CHECK(content_of(dir / "one").size() > 1000);
  CHECK(content_of(dir / "one") == content_of(dir / "two"));
}

TEST_CASE("sim refuses what is no range, no suite, and a trace of many runs") {
  const temporary_directory dir;
  struct row {
    std::vector<std::string> arguments;
    std::string says;
  };
  for (const auto& [arguments, says] :
       std::vector<row>{{{"--seeds", "one"}, "--seeds one"},
                        {{"--seeds", "5..1"}, "the last comes before the first"},
                        {{"--seeds", "1..2x"}, "--seeds 1..2x"},
                        {{"--suite", "forest"}, "there is no such suite; known are tree"},
                        {{"--suite", "tree", "--seeds", "1..2", "--trace", (dir / "t").string()}, "one seed"},
                        {{"--suite", "tree", "--seeds", "1", "--trace", (dir / "no" / "t").string()}, "--trace"}}) {
    const auto done = sim(arguments);
    CHECK(done.status == 2);
    check_says(done, says);
  }
  CHECK_FALSE(std::filesystem::exists(dir / "t"));
}
