#include <planaria/storage/hash.hpp>

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include <array>

namespace planaria {

std::string digest::hex() const {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(32);
  for (const auto half : {high, low})
    for (int shift = 60; shift >= 0; shift -= 4) text.push_back(digits[(half >> shift) & 15U]);
  return text;
}

struct hasher::state {
  XXH3_state_t xxh;
};

hasher::hasher() : state_(std::make_unique<state>()) { XXH3_128bits_reset(&state_->xxh); }

hasher::~hasher() = default;

hasher& hasher::update(std::span<const std::byte> bytes) {
  XXH3_128bits_update(&state_->xxh, bytes.data(), bytes.size());
  return *this;
}

hasher& hasher::update(std::string_view text) { return update(std::as_bytes(std::span(text))); }

digest hasher::finish() const {
  const auto value = XXH3_128bits_digest(&state_->xxh);
  return {value.high64, value.low64};
}

std::uint64_t hash64(std::span<const std::byte> bytes) noexcept { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace planaria
