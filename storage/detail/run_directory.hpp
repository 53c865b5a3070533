#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace planaria::detail {

/// Whose directory it is: an advisory (open file description) lock on the file HOLDER, which names the process.
/// Released with the object, or by the kernel when the process dies.
class directory_lock {
 public:
  /// Errors: errc::in_use names the holding process; errc::io.
  explicit directory_lock(const std::filesystem::path& directory);
  ~directory_lock();
  directory_lock(const directory_lock&) = delete;
  directory_lock& operator=(const directory_lock&) = delete;

 private:
  int file_ = -1;
};

/// Numbers that only grow, kept in the file HIGH_WATER outside RocksDB, so that a RocksDB that has lost its newest
/// records is found out. One writer; the file is replaced whole and synced.
class high_water {
 public:
  explicit high_water(std::filesystem::path directory);

  [[nodiscard]] std::uint64_t get(std::string_view name) const;
  /// Raises the mark; does nothing when it is as high already. Errors: errc::io, errc::disk_full.
  void raise(std::string_view name, std::uint64_t value);

 private:
  std::filesystem::path directory_;
  std::map<std::string, std::uint64_t, std::less<>> marks_;
};

/// The process that holds the directory, as HOLDER names it; nothing when nobody does. Takes no lock.
[[nodiscard]] std::optional<std::string> holder_of(const std::filesystem::path& directory);

/// Makes the directory when it is missing; refuses one that cannot be written, or that holds other files and
/// no store yet.
void prepare_run_directory(const std::filesystem::path& directory);
/// Whether a store was ever made there.
[[nodiscard]] bool holds_store(const std::filesystem::path& directory);

}  // namespace planaria::detail
