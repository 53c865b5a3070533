#include "progress.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <iostream>

namespace planaria::apps {
namespace {

constexpr std::chrono::milliseconds terminal_interval{100};
constexpr std::chrono::seconds plain_interval{5};
constexpr int bar_width = 24;

std::string duration_text(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

// Whether a person watching the run wants to see it.
bool worth_telling(event_kind kind) {
  return kind != event_kind::started && kind != event_kind::stopped && kind != event_kind::snapshot;
}

std::string cell(double us) { return us < 0 ? std::string("-") : fmt::format("{:.2f}", us / 1000.0); }

}  // namespace

progress_display::progress_display() : terminal_(::isatty(STDOUT_FILENO) == 1) {}

void progress_display::clear_line() {
  if (line_open_) std::cout << "\r\033[K";
  line_open_ = false;
}

void progress_display::show(const mesh_progress& now) {
  std::lock_guard lock(mutex_);
  const auto time = std::chrono::steady_clock::now();
  const bool last = now.step == now.total_steps;
  const auto interval =
      terminal_ ? std::chrono::milliseconds(terminal_interval) : std::chrono::milliseconds(plain_interval);
  if (!last && time - last_ < interval) return;
  last_ = time;
  const auto done = static_cast<double>(now.step) / static_cast<double>(std::max<std::uint64_t>(now.total_steps, 1));
  auto figures = fmt::format("step {}/{}  epoch {}  loss {:.4f}", now.step, now.total_steps, now.epoch + 1, now.loss);
  // The clock begins with the end of the first step here.
  if (now.averaged_steps > 1 && now.seconds > 0) {
    const auto share = static_cast<double>(now.averaged_steps - 1) / static_cast<double>(now.averaged_steps);
    const auto per_step = now.seconds / static_cast<double>(now.averaged_steps - 1);
    figures += fmt::format("  {:.0f} samples/s  ETA {}", static_cast<double>(now.samples) * share / now.seconds,
                           duration_text(per_step * static_cast<double>(now.total_steps - now.step)));
  }
  if (!terminal_) {
    std::cout << figures << std::endl;
    return;
  }
  const auto filled = static_cast<int>(done * bar_width);
  clear_line();
  std::cout << '[' << std::string(static_cast<std::size_t>(filled), '#')
            << std::string(static_cast<std::size_t>(bar_width - filled), '.') << "] " << figures << std::flush;
  line_open_ = true;
}

void progress_display::show(const event& what) {
  if (!worth_telling(what.kind)) return;
  std::lock_guard lock(mutex_);
  clear_line();
  std::cout << fmt::format("  {:<12} {} #{}  {}", to_string(what.kind), what.path, what.incarnation, what.reason)
            << std::endl;
}

void progress_display::finish() {
  std::lock_guard lock(mutex_);
  if (line_open_) std::cout << std::endl;
  line_open_ = false;
}

std::string recovery_text(const std::vector<recovery>& all) {
  auto text = fmt::format("{:<28} {:>4} {:>10} {:>10} {:>10} {:>10} {:>11}  {}\n", "recovery (ms since death)", "inc",
                          "detected", "respawned", "recovered", "caught up", "recomputed", "reason");
  for (const auto& r : all)
    text +=
        fmt::format("{:<28} {:>4} {:>10} {:>10} {:>10} {:>10} {:>11}  {}\n", r.path, r.incarnation, cell(r.detected_us),
                    cell(r.respawned_us), cell(r.recovered_us), cell(r.caught_up_us), cell(r.recomputed_us), r.reason);
  return text;
}

}  // namespace planaria::apps
