#include <planaria/runtime/compute_pool.hpp>
#include <planaria/runtime/detail/real_environment.hpp>
#include <planaria/storage/error.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace planaria {

// A body's life; guarded by the pool's mutex, save for what is set at construction.
//
//   waiting -> running -> done          the usual way
//              running -> abandoned -> done
struct compute_job {
  std::string owner;
  std::function<void()> body;
  std::weak_ptr<struct pool_state> pool;
  bool running = false;
  bool abandoned = false;
  bool done = false;
  std::chrono::steady_clock::time_point counts_from;  // once abandoned: hung from then on
};

struct pool_state {
  pool_state(compute_options o, std::shared_ptr<detail::environment> w) : options(std::move(o)), world(std::move(w)) {}

  const compute_options options;
  const std::shared_ptr<detail::environment> world;
  mutable std::mutex mutex;
  std::condition_variable change;
  std::vector<std::shared_ptr<compute_job>> waiting;  // guarded by mutex, as all below
  std::size_t threads = 0;
  std::size_t idle = 0;
  std::size_t busy = 0;
  std::vector<std::shared_ptr<compute_job>> abandoned;  // running without an owner
  std::uint64_t abandoned_total = 0;
  bool closed = false;
};

namespace {

// How long the destructor waits for bodies that were told to end.
constexpr std::chrono::seconds close_deadline{5};

void run_one(pool_state& pool, const std::shared_ptr<compute_job>& job, std::unique_lock<std::mutex>& lock) {
  if (job->abandoned) {
    job->done = true;
    return;
  }
  job->running = true;
  ++pool.busy;
  lock.unlock();
  auto body = std::exchange(job->body, nullptr);
  body();
  // What the body holds may be large, and may end with it: outside the lock.
  body = nullptr;
  lock.lock();
  job->done = true;
  if (job->abandoned)
    std::erase(pool.abandoned, job);
  else
    --pool.busy;
  pool.change.notify_all();
}

// noexcept: an exception that gets here is a bug of ours, and ends the process.
void serve(const std::shared_ptr<pool_state>& pool) noexcept {
  // On Linux the niceness of a thread is its own.
  if (pool->options.nice != 0)
    static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), pool->options.nice));
  if (pool->options.on_thread_start) pool->options.on_thread_start();
  std::unique_lock lock(pool->mutex);
  for (;;) {
    ++pool->idle;
    pool->world->wait(lock, pool->change, detail::instant::max(),
                      [&] { return pool->closed || !pool->waiting.empty(); });
    --pool->idle;
    if (pool->waiting.empty()) break;
    const auto job = pool->waiting.back();
    pool->waiting.pop_back();
    run_one(*pool, job, lock);
  }
  --pool->threads;
  pool->change.notify_all();
}

}  // namespace

void compute_handle::abandon(std::chrono::milliseconds grace) {
  if (!job_) return;
  const auto pool = job_->pool.lock();
  if (!pool) return;
  std::lock_guard lock(pool->mutex);
  if (job_->done || job_->abandoned) return;
  job_->abandoned = true;
  if (!job_->running) return;
  --pool->busy;
  job_->counts_from = pool->world->now() + grace;
  pool->abandoned.push_back(job_);
  ++pool->abandoned_total;
}

bool compute_handle::done() const {
  if (!job_) return true;
  const auto pool = job_->pool.lock();
  if (!pool) return true;
  std::lock_guard lock(pool->mutex);
  return job_->done;
}

bool compute_handle::abandoned() const {
  if (!job_) return false;
  const auto pool = job_->pool.lock();
  if (!pool) return false;
  std::lock_guard lock(pool->mutex);
  return job_->abandoned && !job_->done;
}

struct compute_pool::impl {
  explicit impl(std::shared_ptr<pool_state> s) : state(std::move(s)) {}

  const std::shared_ptr<pool_state> state;
};

compute_pool::compute_pool(compute_options options)
    : compute_pool(std::move(options), std::make_shared<detail::real_environment>()) {}

compute_pool::compute_pool(compute_options options, std::shared_ptr<detail::environment> world)
    : impl_(std::make_shared<impl>(std::make_shared<pool_state>(std::move(options), std::move(world)))) {}

compute_pool::~compute_pool() { close(); }

std::size_t compute_pool::close() {
  auto& state = *impl_->state;
  std::unique_lock lock(state.mutex);
  if (std::exchange(state.closed, true)) return state.threads;
  state.waiting.clear();
  state.change.notify_all();
  // The threads are detached, so one that is hung in user code holds nothing up but this wait.
  state.world->wait(lock, state.change, state.world->now() + close_deadline, [&] { return state.threads == 0; });
  return state.threads;
}

compute_handle compute_pool::run(std::string owner, std::function<void()> body) {
  auto& state = *impl_->state;
  auto job = std::make_shared<compute_job>();
  job->owner = std::move(owner);
  job->body = std::move(body);
  job->pool = impl_->state;
  std::lock_guard lock(state.mutex);
  if (state.closed) throw error(errc::stopped, job->owner + ": the compute pool is closed");
  const auto now = state.world->now();
  const auto hung = static_cast<std::size_t>(std::count_if(state.abandoned.begin(), state.abandoned.end(),
                                                           [&](const auto& a) { return a->counts_from <= now; }));
  if (hung >= state.options.max_abandoned)
    throw error(errc::limit_reached,
                job->owner + ": " + std::to_string(hung) +
                    " compute slots are held by children that are dead but do not return (max_abandoned)");
  if (state.idle <= state.waiting.size()) {
    if (state.threads >= state.options.max_slots)
      throw error(errc::limit_reached,
                  job->owner + ": all " + std::to_string(state.threads) + " compute slots are taken (max_slots)");
    ++state.threads;
    state.world->launch([pool = impl_->state] { serve(pool); });
  }
  state.waiting.push_back(job);
  state.change.notify_one();
  return compute_handle(std::move(job));
}

compute_counts compute_pool::counts() const {
  std::lock_guard lock(impl_->state->mutex);
  const auto& s = *impl_->state;
  return {s.threads, s.busy, s.abandoned.size(), s.abandoned_total};
}

const compute_options& compute_pool::options() const noexcept { return impl_->state->options; }

}  // namespace planaria
