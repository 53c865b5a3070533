#include <planaria/runtime/detail/child_record.hpp>
#include <planaria/runtime/detail/tree_records.hpp>
#include <planaria/storage/detail/bytes.hpp>
#include <planaria/storage/error.hpp>

#include <planaria/v1/event.pb.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace planaria::detail {
namespace {

constexpr std::string_view tree_prefix = "tree/";

std::string tree_key(std::string_view path) { return std::string(tree_prefix).append(path); }

std::string dynamic_prefix(const std::string& supervisor) { return "dynamic/" + supervisor + "/"; }

v1::Child parse(std::string_view path, std::string_view bytes) {
  v1::Child record;
  if (!record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    throw error(errc::corrupt, "the record of the child \"" + std::string(path) + "\" cannot be read");
  return record;
}

child_view view_of(std::string path, const v1::Child& record) {
  const bool known = record.status() >= 1 && record.status() <= 5;
  return {.path = std::move(path),
          .type = record.type() == 2 ? child_type::supervisor : child_type::worker,
          .status = known ? static_cast<child_status>(record.status() - 1) : child_status::stopped,
          .incarnation = record.incarnation(),
          .restarts = record.restarts()};
}

}  // namespace

std::pair<std::string, std::string> split_path(std::string_view path) {
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos) return {{}, std::string(path)};
  return {std::string(path.substr(0, slash)), std::string(path.substr(slash + 1))};
}

std::uint64_t tree_records::incarnation(const std::string& path) const {
  if (!parts_.store) return 0;
  const auto bytes = parts_.store->get(tree_key(path));
  return bytes ? parse(path, *bytes).incarnation() : 0;
}

void tree_records::put(const child_view& view, std::uint64_t position) const {
  if (!parts_.store) return;
  v1::Child record;
  record.set_incarnation(view.incarnation);
  record.set_restarts(view.restarts);
  record.set_type(static_cast<std::uint32_t>(view.type) + 1);
  record.set_status(static_cast<std::uint32_t>(view.status) + 1);
  record.set_position(static_cast<std::uint32_t>(position));
  record.set_boot(parts_.store->boot());
  parts_.store->put(tree_key(view.path), record.SerializeAsString(), sync_policy::none);
}

void tree_records::erase(const std::string& path) const {
  if (parts_.store) parts_.control.erase(tree_key(path));
}

void tree_records::keep_dynamic(const std::string& id, std::uint64_t order, std::string_view argument) const {
  parts_.control.put(dynamic_prefix(supervisor_) + id, big_endian(order).append(argument));
}

void tree_records::forget_dynamic(const std::string& id) const {
  parts_.control.erase(dynamic_prefix(supervisor_) + id);
}

void tree_records::each_dynamic(
    const std::function<void(const std::string& id, const std::string& argument)>& visit) const {
  std::map<std::uint64_t, std::pair<std::string, std::string>> all;
  const auto prefix = dynamic_prefix(supervisor_);
  parts_.control.scan(prefix, [&](std::string_view key, std::string_view value) {
    // A supervisor below has its own.
    const auto id = key.substr(prefix.size());
    if (id.find('/') != std::string_view::npos) return true;
    if (value.size() < sizeof(std::uint64_t))
      throw error(errc::corrupt, "the record of the dynamic child \"" + std::string(key) + "\" cannot be read");
    all[read_big_endian<std::uint64_t>(value.substr(0, sizeof(std::uint64_t)))] = {
        std::string(id), std::string(value.substr(sizeof(std::uint64_t)))};
    return true;
  });
  for (const auto& [order, one] : all) visit(one.first, one.second);
}

child_view read_tree(const store& where) {
  child_view top{.type = child_type::supervisor};
  std::map<std::string, std::vector<std::pair<std::uint32_t, child_view>>> under;  // by the supervisor's path
  where.scan(tree_prefix, [&](std::string_view key, std::string_view value) {
    std::string path(key.substr(tree_prefix.size()));
    const auto record = parse(path, value);
    auto& siblings = under[split_path(path).first];
    siblings.emplace_back(record.position(), view_of(std::move(path), record));
    return true;
  });
  const auto place = [&](auto&& self, child_view& of) -> void {
    auto& mine = under[of.path];
    std::stable_sort(mine.begin(), mine.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [position, view] : mine) {
      if (view.path.empty()) continue;
      of.children.push_back(std::move(view));
      self(self, of.children.back());
    }
  };
  place(place, top);
  return top;
}

}  // namespace planaria::detail
