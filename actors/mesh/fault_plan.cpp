#include <planaria/actors/mesh/fault_plan.hpp>
#include <planaria/actors/seed.hpp>
#include <planaria/storage/error.hpp>

#include <algorithm>
#include <charconv>

namespace planaria::mesh {

planned_kill parse_kill(const std::string& text, std::int64_t peers) {
  constexpr std::string_view separator = "@step=";
  const auto refuse = [&](const std::string& why) {
    throw error(errc::invalid_input, "kill \"" + text + "\": " + why + "; write peer-N@step=S or mesh@step=S");
  };
  const auto at = text.find(separator);
  if (at == std::string::npos) refuse("no \"@step=\" in it");
  planned_kill plan{.path = text.substr(0, at)};
  const auto number = std::string_view(text).substr(at + separator.size());
  const auto [end, failed] = std::from_chars(number.data(), number.data() + number.size(), plan.step);
  if (failed != std::errc{} || end != number.data() + number.size()) refuse("the step is not a whole number");
  if (plan.path == "mesh") {
    plan.path.clear();
    return plan;
  }
  if (!rank_of(plan.path, peers)) refuse("there is no " + plan.path + " among " + std::to_string(peers) + " peers");
  return plan;
}

std::optional<std::int64_t> rank_of(std::string_view id, std::int64_t peers) {
  constexpr std::string_view prefix = "peer-";
  std::int64_t rank = -1;
  if (!id.starts_with(prefix)) return std::nullopt;
  std::from_chars(id.data() + prefix.size(), id.data() + id.size(), rank);
  // Compared as text: one number has one name.
  if (rank < 0 || rank >= peers || id != std::string(prefix) + std::to_string(rank)) return std::nullopt;
  return rank;
}

std::vector<planned_kill> random_kills(std::size_t count, std::uint64_t seed, std::uint64_t steps, std::int64_t peers) {
  std::vector<planned_kill> plan;
  if (steps < 2 || peers < 1) return plan;
  for (std::size_t i = 0; i < count; ++i) {
    const auto step = 1 + mix_seed(seed, i, 0, 3) % (steps - 1);
    const auto rank = mix_seed(seed, i, 1, 3) % static_cast<std::uint64_t>(peers);
    plan.push_back({"peer-" + std::to_string(rank), step});
  }
  std::sort(plan.begin(), plan.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
  return plan;
}

}  // namespace planaria::mesh
