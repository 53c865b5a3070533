#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace planaria {

/// A 128-bit XXH3 digest. Not cryptographic: it detects damage and divergence, not an adversary.
struct digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  /// Returns 32 lower-case hexadecimal digits, high half first.
  [[nodiscard]] std::string hex() const;
  friend bool operator==(const digest&, const digest&) = default;
};

/// Hashes a stream of bytes piece by piece; the pieces' borders do not matter. One thread at a time.
class hasher {
 public:
  hasher();
  ~hasher();
  hasher(const hasher&) = delete;
  hasher& operator=(const hasher&) = delete;

  /// Goes on with these bytes.
  hasher& update(std::span<const std::byte> bytes);
  hasher& update(std::string_view text);
  [[nodiscard]] digest finish() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Returns the 64-bit XXH3 of the bytes, seed 0.
[[nodiscard]] std::uint64_t hash64(std::span<const std::byte> bytes) noexcept;

}  // namespace planaria
