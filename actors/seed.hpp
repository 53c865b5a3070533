#pragma once

#include <cstdint>
#include <initializer_list>

namespace planaria {

/// Mixes the words into one 64-bit seed (SplitMix64's finaliser): equal words, equal seed, on every machine.
[[nodiscard]] constexpr std::uint64_t mix_seed(std::uint64_t a, std::uint64_t b, std::uint64_t c = 0,
                                               std::uint64_t d = 0) {
  std::uint64_t state = 0;
  for (const auto word : {a, b, c, d}) {
    state += word + 0x9e3779b97f4a7c15ULL;
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9ULL;
    state = (state ^ (state >> 27)) * 0x94d049bb133111ebULL;
    state ^= state >> 31;
  }
  return state;
}

}  // namespace planaria
