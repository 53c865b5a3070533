#pragma once

#include <caf/detail/simple_actor_clock.hpp>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace planaria::detail {

/// CAF's timeouts and delayed messages. Unlike CAF's own clock it has a thread only once something is scheduled, and an
/// actor that ends without a timeout does not wake it. Owned by the scheduler; any thread.
class control_clock final : public caf::detail::simple_actor_clock {
 public:
  control_clock() = default;
  ~control_clock() override;
  control_clock(const control_clock&) = delete;
  control_clock& operator=(const control_clock&) = delete;

  void set_ordinary_timeout(time_point t, caf::abstract_actor* self, caf::atom_value type, std::uint64_t id) override;
  void set_multi_timeout(time_point t, caf::abstract_actor* self, caf::atom_value type, std::uint64_t id) override;
  void set_request_timeout(time_point t, caf::abstract_actor* self, caf::message_id id) override;
  void cancel_ordinary_timeout(caf::abstract_actor* self, caf::atom_value type) override;
  void cancel_request_timeout(caf::abstract_actor* self, caf::message_id id) override;
  void cancel_timeouts(caf::abstract_actor* self) override;
  void schedule_message(time_point t, caf::strong_actor_ptr receiver, caf::mailbox_element_ptr content) override;
  void schedule_message(time_point t, caf::group target, caf::strong_actor_ptr sender, caf::message content) override;
  void cancel_all() override;

  /// Drops what is scheduled and ends the thread.
  void close();

 private:
  using super = caf::detail::simple_actor_clock;
  void scheduled();
  void serve();

  // Recursive: to drop a message can end an actor, which then cancels its timeouts.
  std::recursive_mutex mutex_;
  std::condition_variable_any change_;
  std::thread thread_;  // guarded by mutex_, as all below and the base
  time_point waiting_for_ = time_point::max();
  bool closed_ = false;
};

}  // namespace planaria::detail
