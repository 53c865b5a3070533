#include <planaria/runtime/detail/control_clock.hpp>

namespace planaria::detail {

control_clock::~control_clock() { close(); }

void control_clock::set_ordinary_timeout(time_point t, caf::abstract_actor* self, caf::atom_value type,
                                         std::uint64_t id) {
  std::lock_guard lock(mutex_);
  super::set_ordinary_timeout(t, self, type, id);
  scheduled();
}

void control_clock::set_multi_timeout(time_point t, caf::abstract_actor* self, caf::atom_value type, std::uint64_t id) {
  std::lock_guard lock(mutex_);
  super::set_multi_timeout(t, self, type, id);
  scheduled();
}

void control_clock::set_request_timeout(time_point t, caf::abstract_actor* self, caf::message_id id) {
  std::lock_guard lock(mutex_);
  super::set_request_timeout(t, self, id);
  scheduled();
}

void control_clock::cancel_ordinary_timeout(caf::abstract_actor* self, caf::atom_value type) {
  std::lock_guard lock(mutex_);
  super::cancel_ordinary_timeout(self, type);
}

void control_clock::cancel_request_timeout(caf::abstract_actor* self, caf::message_id id) {
  std::lock_guard lock(mutex_);
  super::cancel_request_timeout(self, id);
}

void control_clock::cancel_timeouts(caf::abstract_actor* self) {
  std::lock_guard lock(mutex_);
  super::cancel_timeouts(self);
}

void control_clock::schedule_message(time_point t, caf::strong_actor_ptr receiver, caf::mailbox_element_ptr content) {
  std::lock_guard lock(mutex_);
  super::schedule_message(t, std::move(receiver), std::move(content));
  scheduled();
}

void control_clock::schedule_message(time_point t, caf::group target, caf::strong_actor_ptr sender,
                                     caf::message content) {
  std::lock_guard lock(mutex_);
  super::schedule_message(t, std::move(target), std::move(sender), std::move(content));
  scheduled();
}

void control_clock::cancel_all() {
  std::lock_guard lock(mutex_);
  super::cancel_all();
}

void control_clock::close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    super::cancel_all();
    change_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void control_clock::scheduled() {
  if (closed_) {
    super::cancel_all();
    return;
  }
  if (!thread_.joinable()) {
    thread_ = std::thread([this] { serve(); });
    return;
  }
  if (schedule().begin()->first < waiting_for_) change_.notify_one();
}

void control_clock::serve() {
  std::unique_lock lock(mutex_);
  while (!closed_) {
    if (schedule().empty()) {
      waiting_for_ = time_point::max();
      change_.wait(lock);
      continue;
    }
    waiting_for_ = schedule().begin()->first;
    if (now() < waiting_for_)
      change_.wait_until(lock, waiting_for_);
    else
      static_cast<void>(trigger_expired_timeouts());
  }
}

}  // namespace planaria::detail
