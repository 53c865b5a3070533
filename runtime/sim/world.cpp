#include <planaria/runtime/sim/scheduler.hpp>
#include <planaria/runtime/sim/world.hpp>

#include <caf/actor_cast.hpp>
#include <caf/scheduled_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>

namespace planaria::sim {
namespace {

using detail::instant;

// The wall's time when a simulation begins: 2026-01-01.
constexpr std::chrono::seconds wall_beginning{1'767'225'600};

// CAF wants to know who runs an actor: the world's one thread.
class unit final : public caf::execution_unit {
 public:
  unit(world& where, caf::actor_system& system) : caf::execution_unit(&system), world_(where) {}
  void exec_later(caf::resumable* job) override { world_.enqueue(job); }

 private:
  world& world_;
};

caf::actor_system* system_of(caf::resumable* job) {
  auto* actor = dynamic_cast<caf::scheduled_actor*>(job);
  return actor == nullptr ? nullptr : &actor->home_system();
}

}  // namespace

world::world(const simulation_options& options)
    : options_(options), weather_(options.weather), dice_(options.seed), last_turn_(options.most_turns) {}

world::~world() {
  for (auto& [when, one] : later_)
    if (one.job != nullptr) ready_.push_back(one.job);
  for (auto* job : ready_) caf::scheduler::abstract_coordinator::cleanup_and_release(job);
}

void world::configure(caf::actor_system_config& config) {
  config.set("scheduler.max-threads", 1);
  config.module_factories.push_back(
      [this](caf::actor_system& system) -> caf::actor_system::module* { return new scheduler(system, *this); });
}

std::chrono::system_clock::time_point world::wall() const noexcept {
  return std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(wall_beginning + (now_ - beginning)));
}

std::chrono::nanoseconds world::up_to(std::chrono::microseconds most) {
  return std::chrono::microseconds(dice_.between(1, std::max<std::int64_t>(most.count(), 1)));
}

void world::at(instant when, caf::actor_addr whom) {
  do_later(when, [whom = std::move(whom)] {
    if (const auto actor = caf::actor_cast<caf::actor>(whom)) caf::anon_send(actor, detail::tick_atom::value);
  });
}

void world::launch(std::function<void()> body) {
  fibers_.push_back(std::make_shared<fiber>(++fibers_made_, std::move(body), driver_));
}

bool world::wait(std::unique_lock<std::mutex>& lock, std::condition_variable&, instant until,
                 const std::function<bool()>& ready) {
  while (!ready()) {
    if (now_ >= until) return false;
    if (auto* self = fiber::current()) {
      self->wait(&lock, until, ready);
      continue;
    }
    lock.unlock();
    turn(until);
    lock.lock();
  }
  return true;
}

bool world::poll(instant until, const std::function<bool()>& ready) {
  while (!ready()) {
    if (now_ >= until) return false;
    if (auto* self = fiber::current())
      self->wait(nullptr, until, ready);
    else
      turn(until);
  }
  return true;
}

// Weakly: what is under way keeps nobody alive.
void world::carry(const caf::actor& to, caf::message what) {
  const auto send = [whom = to.address(), what] {
    if (const auto actor = caf::actor_cast<caf::actor>(whom)) caf::anon_send(actor, what);
  };
  if (dice_.chance(weather_.lost)) {
    if (traced()) note("lost: a message to actor " + std::to_string(to.id()));
    return;
  }
  const int copies = dice_.chance(weather_.doubled) ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    if (dice_.chance(weather_.late))
      do_later(now_ + up_to(weather_.latest), send);
    else
      send();
  }
}

void world::named(caf::actor_id whom, const std::string& path, std::uint64_t incarnation) {
  if (traced()) names_[whom] = path + "#" + std::to_string(incarnation);
}

void world::add(scheduler& one) { schedulers_.push_back(&one); }
void world::remove(scheduler& one) { std::erase(schedulers_, &one); }

// Within a turn, so in an order that the seed gives.
void world::enqueue(caf::resumable* job) {
  if (dice_.chance(weather_.slow))
    later_.emplace(now_ + up_to(weather_.slowest), due{job, {}});
  else
    ready_.push_back(job);
}

void world::drain(const caf::actor_system& whose) {
  const auto before = std::exchange(weather_, {.slow = 0.0, .hurry = 0.0});
  for (auto one = later_.begin(); one != later_.end();) {
    const bool ours = one->second.job != nullptr && system_of(one->second.job) == &whose;
    if (ours) ready_.push_back(one->second.job);
    one = ours ? later_.erase(one) : std::next(one);
  }
  // Those of other systems stay where they are.
  const auto ours = [&](caf::resumable* job) { return system_of(job) == &whose; };
  for (auto next = std::find_if(ready_.begin(), ready_.end(), ours); next != ready_.end();
       next = std::find_if(ready_.begin(), ready_.end(), ours)) {
    auto* job = *next;
    ready_.erase(next);
    run(job);
  }
  weather_ = before;
}

bool world::turn(instant limit) {
  if (turns_ >= last_turn_ && failure_.empty())
    fail("no end after " + std::to_string(turns_) + " turns: it hangs, or runs in circles");
  if (turns_ >= last_turn_) {
    now_ = std::max(now_, limit);
    return false;
  }
  ++turns_;
  const bool acted = act(limit);
  if (failure_.empty()) check_all();
  return acted;
}

void world::check_all() {
  try {
    for (const auto& check : checks_) check();
  } catch (const violation& found) {
    fail(found.what());
  }
}

// Clearing up needs turns too.
void world::fail(const std::string& why) {
  if (!failure_.empty()) return;
  note("VIOLATION: " + why);
  failure_ = why;
  last_turn_ = turns_ + options_.most_turns;
}

void world::verify() {
  if (failure_.empty() || raised_ || fiber::current() != nullptr) return;
  raised_ = true;
  throw violation(failure_);
}

bool world::act(instant limit) {
  ring();
  std::erase_if(fibers_, [](const auto& one) { return one->done(); });
  auto able = fibers_.empty() ? std::vector<std::shared_ptr<fiber>>() : ready_fibers();
  if (ready_.empty() && able.empty() && next_time().value_or(instant::max()) > limit) {
    if (limit == instant::max())
      fail("a standstill: nobody can act any more, and somebody waits for ever");
    else
      pass_to(limit);
    return false;
  }
  const auto count = ready_.size() + able.size();
  if (count == 0 || dice_.chance(weather_.hurry)) {
    const auto next = next_time().value_or(instant::max());
    const auto latest = count == 0 ? limit : std::min(limit, now_ + weather_.slowest);
    if (next <= latest && next != instant::max()) {
      pass_to(next);
      return true;
    }
  }
  const auto chosen = dice_.below(count);
  if (chosen >= ready_.size()) {
    run(able[chosen - ready_.size()]);
    return true;
  }
  auto* job = std::exchange(ready_[chosen], ready_.back());
  ready_.pop_back();
  run(job);
  return true;
}

std::vector<std::shared_ptr<fiber>> world::ready_fibers() {
  std::vector<std::shared_ptr<fiber>> able;
  for (const auto& one : fibers_)
    if (one->ready(now_)) able.push_back(one);
  return able;
}

std::optional<instant> world::next_time() {
  auto next = later_.empty() ? instant::max() : later_.begin()->first;
  for (auto* one : schedulers_) next = std::min(next, one->clock().next().value_or(instant::max()));
  // A fiber that has stopped waiting is able to act, so its time does not come again.
  for (const auto& one : fibers_)
    if (one->until() > now_) next = std::min(next, one->until());
  return next == instant::max() ? std::nullopt : std::optional(next);
}

void world::pass_to(instant when) {
  if (when <= now_) return;
  now_ = when;
  if (traced())
    note("time " + std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(now_ - beginning).count()) +
         " us");
  ring();
}

void world::ring() {
  while (!later_.empty() && later_.begin()->first <= now_) {
    const auto next = std::move(later_.begin()->second);
    later_.erase(later_.begin());
    if (next.job != nullptr)
      ready_.push_back(next.job);
    else
      next.action();
  }
  for (auto* one : schedulers_)
    if (const auto next = one->clock().next(); next && *next <= now_) one->clock().ring();
}

void world::run(caf::resumable* job) {
  if (traced()) note(name_of(job));
  auto* system = system_of(job);
  unit here(*this, system == nullptr ? schedulers_.front()->system() : *system);
  switch (job->resume(&here, 1)) {
    case caf::resumable::resume_later: enqueue(job); break;
    case caf::resumable::done:
    case caf::resumable::awaiting_message: caf::intrusive_ptr_release(job); break;
    case caf::resumable::shutdown_execution_unit: break;
  }
}

void world::run(const std::shared_ptr<fiber>& one) {
  if (traced()) note("body " + std::to_string(one->number()));
  one->resume();
}

std::string world::name_of(caf::resumable* job) const {
  const auto* actor = dynamic_cast<caf::scheduled_actor*>(job);
  if (actor == nullptr) return "a job";
  const auto known = names_.find(actor->id());
  return "actor " + std::to_string(actor->id()) + (known == names_.end() ? "" : " " + known->second);
}

void world::note(const std::string& line) {
  if (traced() && failure_.empty()) trace_.push_back(line);
}

}  // namespace planaria::sim
