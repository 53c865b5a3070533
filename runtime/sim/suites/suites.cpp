#include <planaria/runtime/sim/suites/suites.hpp>

namespace planaria::sim {

const std::vector<suite>& runtime_suites() {
  static const std::vector<suite> all{
      {"tree", "a random supervision tree keeps the supervisor's contract while its workers misbehave", run_tree},
  };
  return all;
}

}  // namespace planaria::sim
