#pragma once

#include <planaria/runtime/node.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace planaria::detail {

struct node_parts;

/// What a run directory keeps of a tree: who is in it, with which incarnation, and the dynamic children to be started
/// again by the next process. On disk: "tree/PATH" and "dynamic/PATH/ID" in the control family
/// (docs/storage-format.md). A supervisor's own; a node without a store keeps no views, but dynamic children for as
/// long as it lives.
class tree_records {
 public:
  /// `supervisor` is the path of the supervisor whose children are kept.
  tree_records(node_parts& parts, std::string supervisor) : parts_(parts), supervisor_(std::move(supervisor)) {}

  /// The incarnation last written of the child, 0 when there is none. Errors: errc::corrupt.
  [[nodiscard]] std::uint64_t incarnation(const std::string& path) const;
  /// Writes without an fsync: incarnations must outlive kill -9, where zombies could be, not a power cut, where none
  /// are.
  void put(const child_view& view, std::uint64_t position) const;
  void erase(const std::string& path) const;

  /// Keeps a dynamic child's argument; durable by the store's policy.
  void keep_dynamic(const std::string& id, std::uint64_t order, std::string_view argument) const;
  void forget_dynamic(const std::string& id) const;
  /// Visits those kept, in the order in which they were added.
  void each_dynamic(const std::function<void(const std::string& id, const std::string& argument)>& visit) const;

 private:
  node_parts& parts_;
  const std::string supervisor_;
};

/// The whole tree as a store has it. Errors: errc::corrupt.
[[nodiscard]] child_view read_tree(const store& where);

/// "a/b/c" as {"a/b", "c"}.
[[nodiscard]] std::pair<std::string, std::string> split_path(std::string_view path);

}  // namespace planaria::detail
