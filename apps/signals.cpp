#include "signals.hpp"

#include <csignal>

namespace planaria::apps {
namespace {

// A signal handler can reach nothing but a global.
volatile std::sig_atomic_t interrupted = 0;

void on_signal(int number) {
  interrupted = 1;
  std::signal(number, SIG_DFL);
}

}  // namespace

interrupt_guard::interrupt_guard() {
  interrupted = 0;
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

interrupt_guard::~interrupt_guard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool interrupt_guard::raised() const noexcept { return interrupted != 0; }

}  // namespace planaria::apps
