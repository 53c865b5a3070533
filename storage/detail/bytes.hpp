#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace planaria::detail {

/// Appends the number big-endian, so that keys sort as their numbers do.
template <class Number>
void append_big_endian(std::string& to, Number value) {
  for (int shift = 8 * (static_cast<int>(sizeof(Number)) - 1); shift >= 0; shift -= 8)
    to.push_back(static_cast<char>((value >> shift) & 0xff));
}

template <class Number>
[[nodiscard]] std::string big_endian(Number value) {
  std::string bytes;
  append_big_endian(bytes, value);
  return bytes;
}

/// Reads what append_big_endian wrote; the caller has checked that there are enough bytes.
template <class Number>
[[nodiscard]] Number read_big_endian(std::string_view from) {
  Number value = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i)
    value = static_cast<Number>((value << 8) | static_cast<unsigned char>(from[i]));
  return value;
}

}  // namespace planaria::detail
