#include <planaria/actors/mesh/spare_trainers.hpp>

#include <exception>
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
  if (!taken) taken = factory_(sharing_);
  return taken;
}

void spare_trainers::refill() {
  {
    std::lock_guard lock(mutex_);
    if (closed_ || building_ || spare_) return;
    building_ = true;
  }
  auto self = shared_from_this();
  pool_.run("spare trainer", [self] {
    std::unique_ptr<trainer> built;
    try {
      built = self->factory_(self->sharing_);
    } catch (const std::exception&) {
      // The peer that needs a trainer will meet the same error and report it.
      built = nullptr;
    }
    self->keep(std::move(built));
  });
}

void spare_trainers::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  spare_.reset();
}

}  // namespace planaria::mesh
