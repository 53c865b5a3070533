#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace planaria::mesh {

/// A kill to be injected when a step begins. `path` is relative to the mesh: "peer-2", or "" for the mesh's supervisor.
struct planned_kill {
  std::string path;
  std::uint64_t step = 0;
};

/// Reads "peer-2@step=40" or "mesh@step=100". Errors: errc::invalid_input says what is expected, or that there is no
/// such peer.
[[nodiscard]] planned_kill parse_kill(const std::string& text, std::int64_t peers);

/// The rank in "peer-N"; nothing when the text is none of the peers' names.
[[nodiscard]] std::optional<std::int64_t> rank_of(std::string_view id, std::int64_t peers);

/// Draws `count` kills of peers, each at a step in [1, steps), from the seed; sorted by step.
[[nodiscard]] std::vector<planned_kill> random_kills(std::size_t count, std::uint64_t seed, std::uint64_t steps,
                                                     std::int64_t peers);

}  // namespace planaria::mesh
