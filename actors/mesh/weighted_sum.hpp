#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace planaria::mesh {

/// Writes ((w₀·s₀ + w₁·s₁) + w₂·s₂) + … to `out`, element by element, and returns whether every result is finite.
///
/// sources  each [n]; out [n], must not overlap a source. The same bits with and without vector instructions.
/// Cost     one pass; with `bypass_cache` stores go past the cache, for results so large that nobody finds them there.
[[nodiscard]] bool weighted_sum(std::span<const float* const> sources, std::span<const float> weights, float* out,
                                std::int64_t count, bool bypass_cache) noexcept;
[[nodiscard]] bool weighted_sum(std::span<const double* const> sources, std::span<const double> weights, double* out,
                                std::int64_t count) noexcept;

/// Returns whether no element is a NaN or an infinity; one pass.
[[nodiscard]] bool all_finite(const float* values, std::int64_t count) noexcept;

}  // namespace planaria::mesh
