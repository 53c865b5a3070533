#pragma once

namespace planaria::apps {

/// While it lives, the first SIGINT or SIGTERM only raises a flag, and a second one ends the process as usual.
/// One at a time in a process.
class interrupt_guard {
 public:
  interrupt_guard();
  ~interrupt_guard();
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;

  [[nodiscard]] bool raised() const noexcept;
};

}  // namespace planaria::apps
