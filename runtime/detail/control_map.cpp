#include <planaria/runtime/detail/control_map.hpp>

namespace planaria::detail {

void control_map::put(std::string_view key, std::string_view value) {
  if (store_ != nullptr) {
    store_->commit(batch{}.put(key, value));
    return;
  }
  std::lock_guard lock(mutex_);
  memory_.insert_or_assign(std::string(key), std::string(value));
}

void control_map::put(std::string_view key, std::string_view value, sync_policy sync) {
  if (store_ != nullptr)
    store_->put(key, value, sync);
  else
    put(key, value);
}

void control_map::erase(std::string_view key) {
  if (store_ != nullptr) {
    store_->commit(batch{}.erase(key), sync_policy::none);
    return;
  }
  std::lock_guard lock(mutex_);
  if (const auto found = memory_.find(key); found != memory_.end()) memory_.erase(found);
}

std::optional<std::string> control_map::get(std::string_view key) const {
  if (store_ != nullptr) return store_->get(key);
  std::lock_guard lock(mutex_);
  const auto found = memory_.find(key);
  return found == memory_.end() ? std::nullopt : std::optional(found->second);
}

void control_map::scan(std::string_view prefix,
                       const std::function<bool(std::string_view key, std::string_view value)>& visit) const {
  if (store_ != nullptr) {
    store_->scan(prefix, visit);
    return;
  }
  std::lock_guard lock(mutex_);
  for (auto at = memory_.lower_bound(prefix); at != memory_.end() && at->first.starts_with(prefix); ++at)
    if (!visit(at->first, at->second)) return;
}

}  // namespace planaria::detail
