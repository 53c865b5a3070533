#pragma once

#include <planaria/actors/mesh_job.hpp>
#include <planaria/runtime/event_log.hpp>

#include <chrono>
#include <mutex>
#include <string>

namespace planaria::apps {

/// Shows a run while it goes on: a bar that rewrites its line on a terminal, a plain line now and then elsewhere, and
/// each supervision event as it happens. Any thread.
class progress_display {
 public:
  progress_display();

  void show(const mesh_progress& now);
  void show(const event& what);
  /// Ends the bar's line.
  void finish();

 private:
  void clear_line();

  const bool terminal_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point last_;
  bool line_open_ = false;
};

/// The recoveries as a table in text, one a line, times in milliseconds.
[[nodiscard]] std::string recovery_text(const std::vector<recovery>& all);

}  // namespace planaria::apps
