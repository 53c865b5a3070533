#pragma once

#include "test.hpp"

#include <planaria/storage/error.hpp>

#include <string>

namespace planaria::testing {

/// Checks that `action` is refused with this code and that the message has every one of the words.
template <class Action, class... Words>
void expect_error(errc code, Action action, const Words&... words) {
  try {
    action();
    FAIL("nothing was refused");
  } catch (const error& refused) {
    const std::string text = refused.what();
    INFO("message: ", text);
    CHECK(to_string(refused.code()) == to_string(code));
    [[maybe_unused]] const auto said = [&](const std::string& word) {
      CHECK_MESSAGE(text.find(word) != std::string::npos, word);
    };
    (said(words), ...);
  }
}

}  // namespace planaria::testing
