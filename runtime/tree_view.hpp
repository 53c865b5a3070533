#pragma once

#include <planaria/runtime/child_spec.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace planaria {

/// What a child does as its supervisor sees it. On disk, plus 1: never renumber.
enum class child_status : std::uint8_t { running, starting, restarting, stopping, stopped };
/// The status in words.
[[nodiscard]] std::string_view to_string(child_status status) noexcept;

/// A child as its supervisor sees it, with its own children when it is a supervisor.
struct child_view {
  std::string path;
  child_type type = child_type::worker;
  child_status status = child_status::stopped;
  std::uint64_t incarnation = 0;
  std::uint64_t restarts = 0;
  std::vector<child_view> children;
};

/// How many children a supervisor has: OTP's count_children. `active` ones have a living incarnation.
struct child_count {
  std::size_t specs = 0;
  std::size_t active = 0;
  std::size_t supervisors = 0;
  std::size_t workers = 0;
};

/// The tree as text, a child a line, indented by its depth.
[[nodiscard]] std::string to_text(const child_view& tree);
/// The tree as one JSON object: {"path", "type", "status", "incarnation", "restarts", "children": [...]}.
[[nodiscard]] std::string to_json(const child_view& tree);

}  // namespace planaria
