#include <planaria/actors/mesh/spare_trainers.hpp>
#include <planaria/runtime/detail/down_reason.hpp>
#include <planaria/storage/error.hpp>

#include <utility>

namespace planaria::mesh {

void spare_trainers::keep(std::unique_ptr<trainer> spare) {
  std::lock_guard lock(mutex_);
  building_ = false;
  if (!closed_) spare_ = std::move(spare);
}

std::shared_ptr<trainer> spare_trainers::take() {
  std::unique_ptr<trainer> taken;
  {
    std::lock_guard lock(mutex_);
    taken = std::move(spare_);
  }
  if (!taken) taken = factory_();
  return taken;
}

void spare_trainers::refill() {
  {
    std::lock_guard lock(mutex_);
    if (closed_ || building_ || spare_) return;
    building_ = true;
  }
  auto self = shared_from_this();
  try {
    pool_.run("spare trainer", [self] { self->build(); });
  } catch (const error& refused) {
    // No slot is to be had now: the next replacement builds its own.
    static_cast<void>(refused);
    std::lock_guard lock(mutex_);
    building_ = false;
  }
}

void spare_trainers::build() {
  std::unique_ptr<trainer> built;
  // The peer that needs a trainer will meet the same error and report it.
  static_cast<void>(detail::run_guarded([&] { built = factory_(); }));
  keep(std::move(built));
}

void spare_trainers::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  spare_.reset();
}

}  // namespace planaria::mesh
