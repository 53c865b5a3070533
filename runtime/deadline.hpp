#pragma once

#include <algorithm>
#include <chrono>

namespace planaria {

/// The longest duration that any interface takes, a year: beyond every run, and near enough that no clock overflows.
inline constexpr std::chrono::milliseconds longest_wait = std::chrono::hours{24 * 365};

/// Returns `wait`, or longest_wait when that is shorter: "for ever" as a number that clocks can add.
[[nodiscard]] constexpr std::chrono::milliseconds bounded(std::chrono::milliseconds wait) noexcept {
  return std::min(wait, longest_wait);
}

}  // namespace planaria
