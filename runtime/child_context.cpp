#include <planaria/runtime/child_context.hpp>
#include <planaria/runtime/deadline.hpp>
#include <planaria/runtime/detail/child_record.hpp>
#include <planaria/runtime/detail/down_reason.hpp>
#include <planaria/storage/error.hpp>

#include <caf/actor.hpp>
#include <caf/actor_cast.hpp>
#include <caf/send.hpp>

namespace planaria {

void child_record::fence() {
  std::function<void()> action;
  {
    std::lock_guard held(fence_mutex_);
    if (fenced_.exchange(true, std::memory_order_acq_rel)) return;
  }
  {
    std::lock_guard lock(mutex_);
    action = std::exchange(on_fenced_, nullptr);
    fencing_.notify_all();
  }
  if (action) action();
}

// What is above it is fenced only with it, or with its own end following at once.
bool child_record::pause(std::chrono::nanoseconds time) {
  auto& world = *parts->world;
  std::unique_lock lock(mutex_);
  const auto until = world.now() + std::chrono::duration_cast<clock::duration>(time);
  static_cast<void>(world.wait(lock, fencing_, until, [this] { return fenced_.load(std::memory_order_acquire); }));
  return !fenced();
}

void child_record::on_fenced(std::function<void()> action) {
  {
    std::lock_guard lock(mutex_);
    if (!fenced_.load(std::memory_order_acquire)) {
      on_fenced_ = std::move(action);
      return;
    }
  }
  action();
}

void child_record::bind(caf::actor_addr address) {
  std::lock_guard lock(mutex_);
  address_ = std::move(address);
  bound_ = true;
  if (!ending_) return;
  detail::end_actor(address_, end_reason_);
}

void child_record::end(caf::error reason) {
  std::lock_guard lock(mutex_);
  if (fenced_.load(std::memory_order_acquire) || ending_) return;
  ending_ = true;
  end_reason_ = std::move(reason);
  if (!bound_) return;
  detail::end_actor(address_, end_reason_);
}

void child_record::announce(caf::actor_id whose) const {
  if (const auto to = caf::actor_cast<caf::actor>(listener))
    caf::anon_send<caf::message_priority::high>(to, detail::ready_atom::value, whose);
}

void child_record::working_on(std::string input) {
  std::lock_guard lock(mutex_);
  input_ = std::move(input);
}

std::string child_record::input() const {
  std::lock_guard lock(mutex_);
  return input_;
}

const std::string& child_context::path() const noexcept { return record_->path; }
std::uint64_t child_context::incarnation() const noexcept { return record_->incarnation; }
bool child_context::fenced() const noexcept { return record_->fenced(); }
void child_context::progress() const noexcept { record_->progress(); }
durable_state child_context::state() const { return durable_state(record_); }
registry& child_context::registry() const noexcept { return record_->parts->registry; }
compute_pool& child_context::compute() const noexcept { return record_->parts->compute; }
event_log& child_context::events() const noexcept { return record_->parts->events; }
store* child_context::store() const noexcept { return record_->parts->store.get(); }
void child_context::on_fenced(std::function<void()> action) const { record_->on_fenced(std::move(action)); }
void child_context::fail(std::string_view text) const {
  record_->end(detail::make_reason(errc::user_error, std::string(text)));
}
void child_context::finish() const { record_->end(detail::orderly_reason()); }
bool child_context::pause(std::chrono::milliseconds time) const { return record_->pause(bounded(time)); }
void child_context::working_on(std::string input) const { record_->working_on(std::move(input)); }

std::optional<std::string> child_context::quarantined(std::string_view input) const {
  return record_->parts->control.get(detail::quarantine_key(record_->path, input));
}

void child_context::release(std::string_view input) const {
  record_->parts->control.erase(detail::quarantine_key(record_->path, input));
}

error ignore(const std::string& why) { return {errc::ignored, why}; }

namespace detail {

std::string quarantine_key(std::string_view path, std::string_view input) {
  return "quarantine/" + std::string(path) + "/" + std::string(input);
}

}  // namespace detail

namespace {

std::string state_key(const child_record& record, std::string_view key) {
  return "state/" + record.path + "/" + std::string(key);
}

}  // namespace

void durable_state::put(std::string_view key, std::string_view value) const {
  const auto held = record_->hold_fence();
  if (record_->fenced())
    throw error(errc::fenced, record_->path + ": incarnation " + std::to_string(record_->incarnation) +
                                  " has been replaced, so \"" + std::string(key) + "\" was not written");
  record_->parts->control.put(state_key(*record_, key), value);
}

std::optional<std::string> durable_state::get(std::string_view key) const {
  return record_->parts->control.get(state_key(*record_, key));
}

}  // namespace planaria
