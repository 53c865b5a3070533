#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace planaria {

/// The element types of the IDX format, by their code in its header.
enum class idx_type : std::uint8_t {
  uint8 = 0x08,
  int8 = 0x09,
  int16 = 0x0B,
  int32 = 0x0C,
  float32 = 0x0D,
  float64 = 0x0E
};

/// A whole IDX file in memory.
struct idx_file {
  idx_type type = idx_type::uint8;
  std::vector<std::uint64_t> dims;
  std::vector<std::byte> bytes;  ///< row-major, in the host's byte order
};

/// Reads an IDX file, gzip or plain (format: Y. LeCun, "The MNIST database").
///
/// Memory grows as bytes arrive, never by what the header claims alone.
/// Errors: errc::not_found; errc::invalid_input names the file when it is not IDX, is cut short, or goes on after its
/// last element; errc::corrupt when the gzip stream is damaged.
[[nodiscard]] idx_file read_idx(const std::filesystem::path& file);

}  // namespace planaria
