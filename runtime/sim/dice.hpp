#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace planaria::sim {

/// Random numbers that are the same on every machine: splitmix64 (Steele, Lea and Flood, 2014). Not thread-safe.
class dice {
 public:
  explicit dice(std::uint64_t seed) noexcept : state_(seed) {}

  /// The next 64 random bits.
  std::uint64_t roll() noexcept {
    auto z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// A number below `count`, which is not 0.
  std::size_t below(std::size_t count) noexcept { return static_cast<std::size_t>(roll() % count); }
  /// A number from `least` to `most`, both included.
  std::int64_t between(std::int64_t least, std::int64_t most) noexcept {
    return least + static_cast<std::int64_t>(below(static_cast<std::size_t>(most - least) + 1));
  }
  /// True with this probability.
  bool chance(double share) noexcept { return static_cast<double>(roll() >> 11) * 0x1p-53 < share; }
  template <class T>
  const T& pick(const std::vector<T>& from) noexcept {
    return from[below(from.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace planaria::sim
