#pragma once

#include <planaria/storage/error.hpp>

#include <string>
#include <string_view>

namespace planaria::testing {

/// What a call was refused with.
struct refusal {
  errc code{};
  std::string text;

  [[nodiscard]] bool says(std::string_view part) const { return text.find(part) != std::string::npos; }
};

/// Makes the call; the refusal has no code when there was none.
template <class Call>
[[nodiscard]] refusal refused(Call&& call) {
  try {
    call();
  } catch (const error& failed) {
    return {failed.code(), failed.what()};
  }
  return {errc{}, "it was not refused"};
}

}  // namespace planaria::testing
