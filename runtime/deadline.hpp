#pragma once

#include <planaria/storage/error.hpp>

#include <algorithm>
#include <chrono>
#include <string>

namespace planaria {

/// The longest duration that any interface takes, a year: beyond every run, and near enough that no clock overflows.
inline constexpr std::chrono::milliseconds longest_wait = std::chrono::hours{24 * 365};

/// Returns `wait`, or longest_wait when that is shorter: "for ever" as a number that clocks can add.
[[nodiscard]] constexpr std::chrono::milliseconds bounded(std::chrono::milliseconds wait) noexcept {
  return std::min(wait, longest_wait);
}

/// Refuses a duration that no clock can keep. Errors: errc::invalid_input unless `least` ≤ value ≤ longest_wait; `what`
/// begins the text.
inline void check_duration(const std::string& what, std::chrono::milliseconds value, std::chrono::milliseconds least) {
  if (value < least || value > longest_wait)
    throw error(errc::invalid_input, what + " must be between " + std::to_string(least.count()) + " and " +
                                         std::to_string(longest_wait.count()) + " ms (a year), not " +
                                         std::to_string(value.count()));
}

}  // namespace planaria
