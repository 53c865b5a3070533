#include "test.hpp"

#include <planaria/storage/hash.hpp>

#include <random>
#include <string>

using namespace planaria;

TEST_CASE("the digest of nothing is XXH3's") { CHECK(hasher().finish().hex() == "99aa06d3014798d86001c324468d497f"); }

TEST_CASE("pieces hash as the whole, wherever they are cut") {
  const std::uint32_t seed = 20261201;
  INFO("seed ", seed);
  std::mt19937 random(seed);
  std::string whole(5000, '\0');
  for (auto& c : whole) c = static_cast<char>(random());
  const auto expected = hasher().update(whole).finish();
  for (int i = 0; i < 50; ++i) {
    hasher pieces;
    for (std::size_t from = 0; from < whole.size();) {
      const auto length = std::min<std::size_t>(random() % 700, whole.size() - from);
      pieces.update(std::string_view(whole).substr(from, length));
      from += length;
    }
    CHECK(pieces.finish() == expected);
  }
}

TEST_CASE("one flipped bit changes both hashes") {
  std::string text = "a planarian regrows";
  const auto digest = hasher().update(text).finish();
  const auto short_hash = hash64(std::as_bytes(std::span(text)));
  text[3] ^= 1;
  CHECK_FALSE(hasher().update(text).finish() == digest);
  CHECK(hash64(std::as_bytes(std::span(text))) != short_hash);
}
