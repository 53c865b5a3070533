#include <planaria/actors/mesh/weighted_sum.hpp>

#include <algorithm>
#include <bit>
#include <cmath>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace planaria::mesh {
namespace {

template <class T>
bool scalar_sum(std::span<const T* const> sources, std::span<const T> weights, T* out, std::int64_t begin,
                std::int64_t end) noexcept {
  bool finite = true;
  for (auto i = begin; i < end; ++i) {
    T sum = weights[0] * sources[0][i];
    for (std::size_t r = 1; r < sources.size(); ++r) sum += weights[r] * sources[r][i];
    finite = finite && std::isfinite(sum);
    out[i] = sum;
  }
  return finite;
}

#if defined(__x86_64__)

enum class store_kind : std::uint8_t { cached, streaming };

// Multiplies and adds apart, as the scalar code does: no fused operation, so the bits are the same.
template <store_kind Kind>
__attribute__((target("avx2"))) bool avx2_sum(std::span<const float* const> sources, std::span<const float> weights,
                                              float* out, std::int64_t begin, std::int64_t end) noexcept {
  const __m256i exponent = _mm256_set1_epi32(0x7f800000);
  __m256i worst = _mm256_setzero_si256();
  for (auto i = begin; i < end; i += 8) {
    __m256 sum = _mm256_mul_ps(_mm256_set1_ps(weights[0]), _mm256_loadu_ps(sources[0] + i));
    for (std::size_t r = 1; r < sources.size(); ++r)
      sum = _mm256_add_ps(sum, _mm256_mul_ps(_mm256_set1_ps(weights[r]), _mm256_loadu_ps(sources[r] + i)));
    worst = _mm256_max_epi32(worst, _mm256_and_si256(_mm256_castps_si256(sum), exponent));
    if constexpr (Kind == store_kind::streaming)
      _mm256_stream_ps(out + i, sum);
    else
      _mm256_storeu_ps(out + i, sum);
  }
  if constexpr (Kind == store_kind::streaming) _mm_sfence();
  return _mm256_testz_si256(_mm256_cmpeq_epi32(worst, exponent), _mm256_set1_epi32(-1)) != 0;
}

bool has_avx2() noexcept {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}

#endif

}  // namespace

bool weighted_sum(std::span<const float* const> sources, std::span<const float> weights, float* out, std::int64_t count,
                  bool bypass_cache) noexcept {
#if defined(__x86_64__)
  if (has_avx2()) {
    const auto misaligned = (reinterpret_cast<std::uintptr_t>(out) % 32) / sizeof(float);
    const auto head =
        misaligned == 0 ? std::int64_t{0} : std::min<std::int64_t>(count, static_cast<std::int64_t>(8 - misaligned));
    const auto body = head + (count - head) / 8 * 8;
    bool finite = scalar_sum(sources, weights, out, 0, head);
    finite = (bypass_cache ? avx2_sum<store_kind::streaming>(sources, weights, out, head, body)
                           : avx2_sum<store_kind::cached>(sources, weights, out, head, body)) &&
             finite;
    return scalar_sum(sources, weights, out, body, count) && finite;
  }
#endif
  return scalar_sum(sources, weights, out, 0, count);
}

bool weighted_sum(std::span<const double* const> sources, std::span<const double> weights, double* out,
                  std::int64_t count) noexcept {
  return scalar_sum(sources, weights, out, 0, count);
}

bool all_finite(const float* values, std::int64_t count) noexcept {
  constexpr std::uint32_t exponent = 0x7f800000;
  std::uint32_t worst = 0;
  for (std::int64_t i = 0; i < count; ++i) worst = std::max(worst, std::bit_cast<std::uint32_t>(values[i]) & exponent);
  return worst != exponent;
}

}  // namespace planaria::mesh
