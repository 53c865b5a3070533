#include <planaria/storage/detail/run_directory.hpp>
#include <planaria/storage/error.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

namespace planaria::detail {
namespace {

namespace fs = std::filesystem;

constexpr const char* holder_name = "HOLDER";
constexpr const char* high_water_name = "HIGH_WATER";

[[noreturn]] void throw_errno(const fs::path& where, const std::string& what) {
  const auto code = errno == ENOSPC || errno == EDQUOT ? errc::disk_full : errc::io;
  throw error(code, where.string() + ": " + what + ": " + std::strerror(errno));
}

// A file descriptor that closes itself.
class descriptor {
 public:
  descriptor(const fs::path& path, int flags) : path_(path), fd_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {
    if (fd_ < 0) throw_errno(path, "cannot be opened");
  }
  ~descriptor() { ::close(fd_); }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;

  void write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const auto written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw_errno(path_, "cannot be written");
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  void sync() const {
    if (::fsync(fd_) != 0) throw_errno(path_, "cannot be synced");
  }

 private:
  fs::path path_;
  int fd_;
};

std::string content_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string holder_text(const fs::path& file) {
  auto text = content_of(file);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() ? "another process" : "process " + text;
}

}  // namespace

directory_lock::directory_lock(const fs::path& directory) {
  const auto file = directory / holder_name;
  file_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file_ < 0) throw_errno(file, "cannot be opened");
  struct flock whole {};
  whole.l_type = F_WRLCK;
  if (::fcntl(file_, F_OFD_SETLK, &whole) != 0) {
    const bool held = errno == EAGAIN || errno == EACCES;
    ::close(file_);
    if (held)
      throw error(errc::in_use, directory.string() + ": the run directory is held by " + holder_text(file) +
                                    "; stop it, or use another directory");
    throw_errno(file, "cannot be locked");
  }
  const auto text = std::to_string(::getpid()) + "\n";
  if (::ftruncate(file_, 0) != 0 || ::pwrite(file_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    ::close(file_);
    throw_errno(file, "cannot be written");
  }
}

directory_lock::~directory_lock() {
  // Truncated first, so that nobody reads the number of a process that no longer holds it.
  static_cast<void>(::ftruncate(file_, 0));
  ::close(file_);
}

std::optional<std::string> holder_of(const fs::path& directory) {
  const auto file = directory / holder_name;
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  struct flock whole {};
  whole.l_type = F_WRLCK;
  const bool held = ::fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
  ::close(fd);
  return held ? std::optional(holder_text(file)) : std::nullopt;
}

high_water::high_water(fs::path directory) : directory_(std::move(directory)) {
  std::istringstream lines(content_of(directory_ / high_water_name));
  std::string line;
  while (std::getline(lines, line)) {
    const auto space = line.find(' ');
    std::uint64_t value = 0;
    const auto parsed = std::from_chars(line.data(), line.data() + std::min(space, line.size()), value);
    if (space == std::string::npos || parsed.ec != std::errc() || parsed.ptr != line.data() + space)
      throw error(errc::corrupt, (directory_ / high_water_name).string() +
                                     ": cannot be read; remove it to go on without the check for lost records");
    marks_[line.substr(space + 1)] = value;
  }
}

std::uint64_t high_water::get(std::string_view name) const {
  const auto found = marks_.find(name);
  return found == marks_.end() ? 0 : found->second;
}

void high_water::raise(std::string_view name, std::uint64_t value) {
  if (get(name) >= value) return;
  auto raised = marks_;
  raised[std::string(name)] = value;
  std::string text;
  for (const auto& [key, number] : raised) text += std::to_string(number) + " " + key + "\n";
  const auto aside = directory_ / "HIGH_WATER.new";
  {
    const descriptor file(aside, O_WRONLY | O_CREAT | O_TRUNC);
    file.write(text);
    file.sync();
  }
  if (::rename(aside.c_str(), (directory_ / high_water_name).c_str()) != 0) throw_errno(aside, "cannot be renamed");
  descriptor(directory_, O_RDONLY | O_DIRECTORY).sync();
  // Only now: a raise that failed is tried again.
  marks_ = std::move(raised);
}

void prepare_run_directory(const fs::path& directory) {
  std::error_code failed;
  fs::create_directories(directory, failed);
  if (failed || !fs::is_directory(directory))
    throw error(errc::io, directory.string() + ": the run directory cannot be made: " +
                              (failed ? failed.message() : "a file is in the way"));
  if (::access(directory.c_str(), W_OK | X_OK) != 0) throw_errno(directory, "the run directory cannot be written");
  if (holds_store(directory)) return;
  static const std::set<std::string> ours{"db", "aside", holder_name, high_water_name, "HIGH_WATER.new"};
  for (const auto& entry : fs::directory_iterator(directory))
    if (!ours.contains(entry.path().filename().string()))
      throw error(errc::invalid_input, directory.string() + ": not a run directory, it holds \"" +
                                           entry.path().filename().string() + "\"; name an empty or a new one");
}

bool holds_store(const fs::path& directory) { return fs::exists(directory / "db" / "CURRENT"); }

}  // namespace planaria::detail
