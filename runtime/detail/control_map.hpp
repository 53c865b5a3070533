#pragma once

#include <planaria/storage/store.hpp>

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace planaria::detail {

/// Small values that outlive incarnations: in the store's control family, or in memory in a node without a store. Any
/// thread. Errors: the store's.
class control_map {
 public:
  /// `where` may be nullptr, and outlives the map.
  explicit control_map(planaria::store* where) : store_(where) {}

  /// Synced by the store's own policy, or by `sync`.
  void put(std::string_view key, std::string_view value);
  void put(std::string_view key, std::string_view value, sync_policy sync);
  void erase(std::string_view key);
  [[nodiscard]] std::optional<std::string> get(std::string_view key) const;
  /// In byte order of the keys, which are given whole, until `visit` returns false.
  void scan(std::string_view prefix,
            const std::function<bool(std::string_view key, std::string_view value)>& visit) const;

 private:
  planaria::store* const store_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> memory_;  // guarded by mutex_
};

}  // namespace planaria::detail
