#include <planaria/runtime/deadline.hpp>
#include <planaria/runtime/registry.hpp>
#include <planaria/storage/error.hpp>

#include <caf/actor_addr.hpp>
#include <caf/actor_cast.hpp>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>

namespace planaria {

struct registry_slot {
  explicit registry_slot(std::string where) : path(std::move(where)) {}

  const std::string path;
  std::atomic<std::uint64_t> incarnation{0};  // 0 while there is none
  std::mutex mutex;
  std::condition_variable change;
  caf::actor_addr address;    // guarded by mutex; weak, so that a name keeps nobody alive
  std::uint64_t highest = 0;  // guarded by mutex: incarnation that was ever bound
};

const std::string& ref::path() const noexcept { return slot_->path; }

caf::actor ref::current() const {
  std::lock_guard lock(slot_->mutex);
  return slot_->address ? caf::actor_cast<caf::actor>(slot_->address) : caf::actor();
}

std::uint64_t ref::incarnation() const noexcept { return slot_->incarnation.load(std::memory_order_acquire); }

caf::actor ref::wait(std::chrono::milliseconds deadline, const caf::actor& other_than) const {
  const auto dead = other_than ? other_than.address() : caf::actor_addr();
  std::unique_lock lock(slot_->mutex);
  if (!slot_->change.wait_for(lock, bounded(deadline),
                              [&] { return slot_->incarnation != 0 && slot_->address != dead; }))
    throw error(errc::timeout, slot_->path + ": no " + (dead ? "other " : "") + "incarnation lives after " +
                                   std::to_string(deadline.count()) + " ms");
  return caf::actor_cast<caf::actor>(slot_->address);
}

struct registry::impl {
  std::shared_ptr<registry_slot> slot(std::string_view path) {
    std::lock_guard lock(mutex);
    auto found = slots.find(path);
    if (found == slots.end())
      found = slots.emplace(std::string(path), std::make_shared<registry_slot>(std::string(path))).first;
    return found->second;
  }

  std::mutex mutex;
  std::map<std::string, std::shared_ptr<registry_slot>, std::less<>> slots;  // guarded by mutex
};

registry::registry() : impl_(std::make_unique<impl>()) {}
registry::~registry() = default;

ref registry::find(std::string_view path) { return ref(impl_->slot(path)); }

std::vector<std::string> registry::paths() const {
  std::vector<std::string> living;
  std::lock_guard lock(impl_->mutex);
  for (const auto& [path, slot] : impl_->slots)
    if (slot->incarnation != 0) living.push_back(path);
  return living;
}

void registry::bind(const std::string& path, const caf::actor& handle, std::uint64_t incarnation) {
  const auto slot = impl_->slot(path);
  std::lock_guard lock(slot->mutex);
  // From a supervisor that has been replaced without knowing it.
  if (incarnation < slot->highest) return;
  slot->highest = incarnation;
  slot->address = handle.address();
  slot->incarnation.store(incarnation, std::memory_order_release);
  slot->change.notify_all();
}

void registry::unbind(const std::string& path, std::uint64_t incarnation) {
  const auto slot = impl_->slot(path);
  std::lock_guard lock(slot->mutex);
  // A successor may be bound already.
  if (slot->incarnation != incarnation) return;
  slot->incarnation.store(0, std::memory_order_release);
  slot->address = caf::actor_addr();
}

}  // namespace planaria
