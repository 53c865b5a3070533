#include <planaria/runtime/deadline.hpp>
#include <planaria/runtime/detail/environment.hpp>
#include <planaria/runtime/registry.hpp>
#include <planaria/storage/error.hpp>

#include <caf/actor_addr.hpp>
#include <caf/actor_cast.hpp>

#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>

namespace planaria {
namespace {

// A name is small, and there can be many: they share the means to wait.
struct meeting {
  std::mutex mutex;
  std::condition_variable change;
};

struct meetings {
  explicit meetings(std::shared_ptr<detail::environment> w) : world(std::move(w)) {}
  [[nodiscard]] meeting& of(std::string_view path) { return all[std::hash<std::string_view>{}(path) % all.size()]; }

  const std::shared_ptr<detail::environment> world;
  const bool carried = world->carries();
  std::array<meeting, 64> all;
};

}  // namespace

struct registry_slot {
  registry_slot(std::string where, std::shared_ptr<meetings> m)
      : path(std::move(where)), shared(std::move(m)), meet(shared->of(path)) {}

  const std::string path;
  const std::shared_ptr<meetings> shared;
  meeting& meet;
  std::atomic<std::uint64_t> incarnation{0};  // 0 while there is none; written under meet.mutex
  caf::actor_addr address;                    // guarded by meet.mutex; weak, so that a name keeps nobody alive
  std::uint64_t highest = 0;                  // guarded by meet.mutex: incarnation that was ever given out
};

const std::string& ref::path() const noexcept { return slot_->path; }

caf::actor ref::current() const {
  std::lock_guard lock(slot_->meet.mutex);
  return slot_->address ? caf::actor_cast<caf::actor>(slot_->address) : caf::actor();
}

std::uint64_t ref::incarnation() const noexcept { return slot_->incarnation.load(std::memory_order_acquire); }

bool ref::carried() const noexcept { return slot_->shared->carried; }

void ref::carry(const caf::actor& to, caf::message what) const { slot_->shared->world->carry(to, std::move(what)); }

caf::actor ref::wait(std::chrono::milliseconds deadline, const caf::actor& other_than) const {
  const auto dead = other_than ? other_than.address() : caf::actor_addr();
  auto& meet = slot_->meet;
  auto& world = *slot_->shared->world;
  std::unique_lock lock(meet.mutex);
  const auto lives = [&] { return slot_->incarnation != 0 && slot_->address != dead; };
  if (!world.wait(lock, meet.change, world.now() + bounded(deadline), lives))
    throw error(errc::timeout, slot_->path + ": no " + (dead ? "other " : "") + "incarnation lives after " +
                                   std::to_string(deadline.count()) + " ms");
  return caf::actor_cast<caf::actor>(slot_->address);
}

struct registry::impl {
  explicit impl(std::shared_ptr<detail::environment> world) : shared(std::make_shared<meetings>(std::move(world))) {}

  const std::shared_ptr<meetings> shared;
  std::mutex mutex;
  std::map<std::string_view, std::shared_ptr<registry_slot>> slots;  // guarded by mutex; the keys are the slots' own
  std::vector<std::weak_ptr<registry_slot>> forgotten;               // guarded by mutex: still held by somebody
  std::size_t sweep_at = 64;                                         // guarded by mutex

  // Erases a forgotten name that nobody holds any more; false while somebody does.
  bool erase_unused(const std::shared_ptr<registry_slot>& slot, long ours) {
    if (slot.use_count() > ours) return false;
    slots.erase(slot->path);
    return true;
  }
};

registry::registry(std::shared_ptr<detail::environment> world) : impl_(std::make_unique<impl>(std::move(world))) {}
registry::~registry() = default;

ref registry::find(std::string_view path) {
  std::lock_guard lock(impl_->mutex);
  const auto found = impl_->slots.find(path);
  if (found != impl_->slots.end()) return ref(found->second);
  auto slot = std::make_shared<registry_slot>(std::string(path), impl_->shared);
  impl_->slots.emplace(slot->path, slot);
  return ref(std::move(slot));
}

std::vector<std::string> registry::paths() const {
  std::vector<std::string> living;
  std::lock_guard lock(impl_->mutex);
  for (const auto& [path, slot] : impl_->slots)
    if (slot->incarnation != 0) living.emplace_back(path);
  return living;
}

std::uint64_t registry::next_incarnation(const ref& name, std::uint64_t stored) {
  auto& slot = *name.slot_;
  std::lock_guard lock(slot.meet.mutex);
  slot.highest = std::max(slot.highest, stored) + 1;
  return slot.highest;
}

void registry::bind(const ref& name, const caf::actor& handle, std::uint64_t incarnation) {
  auto& slot = *name.slot_;
  std::lock_guard lock(slot.meet.mutex);
  if (incarnation < slot.highest) return;
  slot.highest = incarnation;
  slot.address = handle.address();
  slot.incarnation.store(incarnation, std::memory_order_release);
  slot.meet.change.notify_all();
}

void registry::unbind(const ref& name, std::uint64_t incarnation) {
  auto& slot = *name.slot_;
  std::lock_guard lock(slot.meet.mutex);
  // A successor may be bound already.
  if (slot.incarnation != incarnation) return;
  slot.incarnation.store(0, std::memory_order_release);
  slot.address = caf::actor_addr();
}

void registry::forget(ref name) {
  std::lock_guard lock(impl_->mutex);
  const auto slot = std::exchange(name.slot_, nullptr);
  if (slot->incarnation != 0) return;
  // The map's and this one.
  if (impl_->erase_unused(slot, 2)) return;
  impl_->forgotten.push_back(slot);
  if (impl_->forgotten.size() < impl_->sweep_at) return;
  std::erase_if(impl_->forgotten, [this](const auto& weak) {
    const auto held = weak.lock();
    return !held || held->incarnation != 0 || impl_->erase_unused(held, 2);
  });
  impl_->sweep_at = 2 * impl_->forgotten.size() + 64;
}

}  // namespace planaria
