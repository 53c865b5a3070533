#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace planaria::testing {

/// All bytes of a file; empty when there is none.
[[nodiscard]] inline std::string content_of(const std::filesystem::path& from) {
  std::ifstream in(from, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace planaria::testing
