#include <planaria/runtime/sim/fiber.hpp>

namespace planaria::sim {
namespace {

thread_local fiber* running = nullptr;

}  // namespace

fiber::fiber(std::uint64_t number, std::function<void()> body, std::shared_ptr<baton> driver)
    : number_(number), driver_(std::move(driver)) {
  thread_ = std::thread([this, run = std::move(body), mine = mine_]() mutable {
    mine->acquire();
    running = this;
    run();
    // What the body holds ends with it, before the others go on.
    run = nullptr;
    done_ = true;
    driver_->release();
  });
}

// One that never ends keeps its thread, which then waits for ever for a baton that nobody holds.
fiber::~fiber() {
  if (done_)
    thread_.join();
  else
    thread_.detach();
}

fiber* fiber::current() noexcept { return running; }

void fiber::resume() {
  mine_->release();
  driver_->acquire();
}

bool fiber::ready(detail::instant now) const {
  if (!waits_ || now >= until_) return true;
  if (lock_ == nullptr) return (*ready_)();
  std::lock_guard held(*lock_->mutex());
  return (*ready_)();
}

void fiber::wait(std::unique_lock<std::mutex>* lock, detail::instant until, const std::function<bool()>& ready) {
  lock_ = lock;
  until_ = until;
  ready_ = &ready;
  waits_ = true;
  if (lock != nullptr) lock->unlock();
  driver_->release();
  mine_->acquire();
  if (lock != nullptr) lock->lock();
  waits_ = false;
}

}  // namespace planaria::sim
