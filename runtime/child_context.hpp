#pragma once

#include <planaria/storage/error.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace planaria {

class compute_pool;
class event_log;
class registry;
class store;
struct child_record;

/// To be thrown by a child's init, by its start function or by a supervisor's function of first children: the child
/// does not want to run now, which is no failure. Its spec stays (unless it is temporary), and restart() can start it.
[[nodiscard]] error ignore(const std::string& why);

/// The bytes that a child keeps across its incarnations, in the run directory's control family under its own path.
/// Any thread. Without a store in the node, values live as long as the node.
class durable_state {
 public:
  /// Keeps `value` under `key`; returns once it is durable by the store's policy.
  /// Errors: errc::fenced when this incarnation has been replaced; then nothing is written.
  void put(std::string_view key, std::string_view value) const;
  [[nodiscard]] std::optional<std::string> get(std::string_view key) const;

 private:
  friend class child_context;
  explicit durable_state(std::shared_ptr<child_record> record) : record_(std::move(record)) {}
  std::shared_ptr<child_record> record_;
};

/// What an incarnation of a supervised child is given: who it is, what it may use, and whether it still counts.
///
/// A cheap handle, copied freely, any thread. It keeps no actor alive, but the store, the registry and the event log: a
/// zombie that outlives the node touches nothing that is gone. The store is closed with the last of them.
class child_context {
 public:
  /// Where the child stands in the tree, such as "train/mesh/peer-3".
  [[nodiscard]] const std::string& path() const noexcept;
  /// Which life this is: 1 for the first; grows with each start, also across processes that share the run directory.
  [[nodiscard]] std::uint64_t incarnation() const noexcept;
  /// Whether this incarnation has been declared dead. A fenced one must change nothing any more: it is a zombie.
  [[nodiscard]] bool fenced() const noexcept;
  /// Says "alive": resets the progress deadline. One relaxed store, any thread.
  void progress() const noexcept;

  /// Waits for so long, and at most until this incarnation is declared dead: then, and only then, it returns false.
  /// For threads that work on the actor's behalf, not for actors. In a simulation the time is virtual.
  [[nodiscard]] bool pause(std::chrono::milliseconds time) const;

  [[nodiscard]] durable_state state() const;
  [[nodiscard]] planaria::registry& registry() const noexcept;
  [[nodiscard]] compute_pool& compute() const noexcept;
  [[nodiscard]] event_log& events() const noexcept;
  /// The node's store, or nullptr when it has none.
  [[nodiscard]] planaria::store* store() const noexcept;
  /// Ends this incarnation as if it had crashed: the supervisor's down reason is errc::user_error with the text.
  /// For threads that work on the actor's behalf, such as a compute slot. A fenced incarnation's call does nothing.
  void fail(std::string_view text) const;
  /// Ends this incarnation normally, from any thread: a transient child is then not started again.
  void finish() const;
  /// Calls `action` once, when this incarnation is declared dead (killed, failed, hung, stopped or finished), on a
  /// control thread: it must be quick and must not throw. At once when that has happened already; a later call replaces
  /// an earlier one.
  void on_fenced(std::function<void()> action) const;

  /// Names what the child works on from now on, such as a partition or a file; empty: nothing. A child that fails
  /// child_spec::quarantine_after times in a row on the same input has it put in quarantine. Any thread.
  void working_on(std::string input) const;
  /// Why the input is in quarantine, durably; nothing when it is not. A child that works on it all the same, and fails
  /// again, is set aside itself.
  [[nodiscard]] std::optional<std::string> quarantined(std::string_view input) const;
  /// Takes the input out of quarantine.
  void release(std::string_view input) const;

  /// Used by the supervisor alone.
  explicit child_context(std::shared_ptr<child_record> record) : record_(std::move(record)) {}
  [[nodiscard]] const std::shared_ptr<child_record>& record() const noexcept { return record_; }

 private:
  std::shared_ptr<child_record> record_;
};

}  // namespace planaria
