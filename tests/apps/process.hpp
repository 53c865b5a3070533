#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

extern char** environ;

namespace planaria::testing {

/// A child process whose output is read as it comes; killed and reaped at the end of the scope at the latest.
class process {
 public:
  explicit process(std::vector<std::string> arguments) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    std::vector<char*> argv;
    for (auto& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    const int failed = ::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (failed != 0) throw std::runtime_error("cannot start " + arguments[0]);
    reader_ = std::thread([this, from = ends[0]] { read_all(from); });
  }
  ~process() {
    signal(SIGKILL);
    reader_.join();
    if (!reaped_) ::waitpid(pid_, nullptr, 0);
  }
  process(const process&) = delete;
  process& operator=(const process&) = delete;

  void signal(int number) const {
    if (!reaped_) ::kill(pid_, number);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

  /// Waits until the output has `text`; false when the process ended without, or after a minute.
  bool wait_for(const std::string& text) {
    std::unique_lock lock(mutex_);
    change_.wait_for(lock, std::chrono::minutes(1), [&] { return output_.find(text) != std::string::npos || ended_; });
    return output_.find(text) != std::string::npos;
  }
  /// Waits for the end and returns the exit status, or 128 and the signal's number.
  int wait() {
    std::unique_lock lock(mutex_);
    if (!change_.wait_for(lock, std::chrono::minutes(4), [&] { return ended_; }))
      throw std::runtime_error("the process does not end; it said: " + output_);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    reaped_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  [[nodiscard]] std::string output() {
    std::lock_guard lock(mutex_);
    return output_;
  }

 private:
  void read_all(int from) {
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(from, buffer, sizeof buffer)) > 0;) {
      std::lock_guard lock(mutex_);
      output_.append(buffer, static_cast<std::size_t>(got));
      change_.notify_all();
    }
    ::close(from);
    std::lock_guard lock(mutex_);
    ended_ = true;
    change_.notify_all();
  }

  pid_t pid_ = -1;
  bool reaped_ = false;
  std::thread reader_;
  std::mutex mutex_;
  std::condition_variable change_;
  std::string output_;  // guarded by mutex_
  bool ended_ = false;  // guarded by mutex_
};

struct outcome {
  int status = 0;
  std::string output;
};

inline outcome run(std::vector<std::string> arguments) {
  process p(std::move(arguments));
  const int status = p.wait();
  return {status, p.output()};
}

}  // namespace planaria::testing
