#include <planaria/runtime/sim/fiber.hpp>

#include <thread>
#include <utility>
#include <vector>

namespace planaria::sim {
namespace {

thread_local fiber* running = nullptr;

// A thread that carries one fiber after another: to make a thread takes longer than most bodies do. Those that rest
// are there for the next fiber of any world, and end with the process.
class carrier {
 public:
  using task = std::function<void(carrier&)>;

  static void run(task what) {
    carrier* by = nullptr;
    {
      const std::lock_guard lock(resting().mutex);
      auto& free = resting().carriers;
      if (!free.empty()) {
        by = free.back();
        free.pop_back();
      }
    }
    if (by == nullptr) by = new carrier;
    by->next_ = std::move(what);
    by->begin_.release();
  }

  // Of the task that it runs, as the last but the return: the next one may be handed to it from then on.
  void rest() {
    const std::lock_guard lock(resting().mutex);
    resting().carriers.push_back(this);
  }

 private:
  struct pool {
    std::mutex mutex;
    std::vector<carrier*> carriers;
  };

  // Never destroyed: threads rest in it to the last.
  static pool& resting() {
    static auto* all = new pool;
    return *all;
  }

  carrier() {
    std::thread([this] {
      while (true) {
        begin_.acquire();
        const auto now = std::exchange(next_, nullptr);
        now(*this);
      }
    }).detach();
  }

  baton begin_{0};
  task next_;
};

}  // namespace

fiber::fiber(std::uint64_t number, std::function<void()> body, std::shared_ptr<baton> driver)
    : number_(number), driver_(std::move(driver)) {
  carrier::run([this, run = std::move(body), mine = mine_](carrier& by) mutable {
    mine->acquire();
    running = this;
    run();
    // What the body holds ends with it, before the others go on.
    run = nullptr;
    running = nullptr;
    done_ = true;
    by.rest();
    // The fiber can end as soon as the driver goes on.
    const auto next = driver_;
    next->release();
  });
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
