#pragma once

#include <planaria/storage/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace planaria::detail {

/// The length of the UTF-8 sequence that `text` begins with, or 0 when it begins with none (RFC 3629: no overlong
/// forms, no surrogates, nothing above U+10FFFF).
[[nodiscard]] inline std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.empty()) return 0;
  const auto first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  std::uint32_t code = first & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = (code << 6) | (byte(i) & 0x3fU);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  return overlong || (code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff ? 0 : length;
}

/// Refuses a name that Protobuf's text fields or our line-based files could not hold: empty, with a control character,
/// or not UTF-8. Errors: errc::invalid_input.
inline void check_name(std::string_view name, const std::string& whose) {
  if (name.empty()) throw error(errc::invalid_input, whose + " needs a name");
  for (auto rest = name; !rest.empty();) {
    const auto length = utf8_length(rest);
    const auto first = static_cast<unsigned char>(rest.front());
    if (length == 0 || first < 0x20 || first == 0x7f)
      throw error(errc::invalid_input, whose + "'s name, of " + std::to_string(name.size()) +
                                           " bytes, is not UTF-8 without control characters from byte " +
                                           std::to_string(name.size() - rest.size()) + " on");
    rest.remove_prefix(length);
  }
}

}  // namespace planaria::detail
