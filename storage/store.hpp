#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace planaria {

/// When a commit to the control family returns.
enum class sync_policy : std::uint8_t {
  every_commit,  ///< after an fsync of its own: survives a power cut
  group_commit,  ///< after an fsync shared with every commit of the last interval: survives a power cut
  none,          ///< once the operating system has it: survives kill -9, not a power cut
};

enum class open_mode : std::uint8_t {
  create_or_open,  ///< makes the directory when it is missing
  open_existing,   ///< refuses a directory that holds no store
  read_only,       ///< beside a live writer; never writes, takes no lock
};

struct store_options {
  /// The run directory. The store keeps its files in it and nothing else may write there.
  std::filesystem::path directory;
  open_mode mode = open_mode::create_or_open;
  /// The policy of commit() without one of its own.
  sync_policy sync = sync_policy::group_commit;
  /// The most that a group commit waits for company. Longer: fewer fsyncs, later acknowledgements.
  std::chrono::milliseconds group_interval{2};
  /// Tensor values are cut into chunks of this size, 1–16 MiB. Larger: fewer keys, more memory a read.
  std::size_t chunk_bytes = std::size_t{4} << 20;
};

/// A set of changes to the control family that becomes visible, and durable, all at once or not at all.
class batch {
 public:
  /// Adds a change; the bytes are copied. The last change of a key counts.
  batch& put(std::string_view key, std::string_view value);
  batch& erase(std::string_view key);
  [[nodiscard]] bool empty() const noexcept { return changes_.empty(); }

 private:
  friend class store;
  std::vector<std::pair<std::string, std::optional<std::string>>> changes_;
};

/// A large immutable value for the tensors family; the bytes are borrowed for the call.
struct blob {
  std::string key;
  std::span<const std::byte> bytes;
};

/// One RocksDB in one run directory: the only place where Planaria keeps what must survive.
///
/// Two column families. `control` holds small records behind a WAL; `tensors` holds large values that are written aside
/// as SST files and ingested, without a WAL, under keys that are never overwritten (docs/storage-format.md).
/// Owned by the node (or by whoever opens it); every member may be called from any thread.
/// Errors: errc::in_use names the process that holds the directory; errc::newer_format, errc::corrupt, errc::io and
/// errc::disk_full name the file or key.
class store {
 public:
  /// The version of what is written, kept in the store: a newer one is refused.
  static constexpr std::uint32_t format_version = 1;

  explicit store(store_options options);
  ~store();
  store(const store&) = delete;
  store& operator=(const store&) = delete;

  /// Applies the batch atomically; returns when the policy (the store's own unless given) says that it is durable.
  void commit(const batch& changes);
  void commit(const batch& changes, sync_policy sync);
  /// Commits one key.
  void put(std::string_view key, std::string_view value, sync_policy sync);

  /// Returns the control value, or nothing when the key does not exist.
  [[nodiscard]] std::optional<std::string> get(std::string_view key) const;
  /// Visits the control keys that start with `prefix` in byte order, until the visitor returns false.
  void scan(std::string_view prefix,
            const std::function<bool(std::string_view key, std::string_view value)>& visit) const;

  /// Writes the blobs aside, in chunks, and ingests them: visible together, in the file system before the call returns.
  /// Refuses a key that exists (errc::already_exists). Cost: one sequential write of the bytes and one fsync a file.
  void ingest(std::span<const blob> blobs);
  /// Returns the blob's bytes, or nothing when the key does not exist. RocksDB's own checksums are verified.
  [[nodiscard]] std::optional<std::string> read_blob(std::string_view key) const;
  /// Visits the keys of the blobs that start with `prefix` in byte order, until the visitor returns false.
  void scan_blobs(std::string_view prefix, const std::function<bool(std::string_view key)>& visit) const;
  /// Deletes the blobs whose key starts with `prefix`; space returns at once for whole files.
  void erase_blobs(std::string_view prefix);

  /// Flushes the control family and rolls the WAL, so that the next open replays little.
  void flush();

  /// Raises a number kept outside RocksDB, in the file HIGH_WATER, by which a RocksDB that has lost its newest records
  /// is found out. Synced; does nothing when the mark is as high already.
  void raise_mark(std::string_view name, std::uint64_t value);
  /// The mark, 0 when there is none.
  [[nodiscard]] std::uint64_t mark(std::string_view name) const;
  /// A number that no other call has returned or will return for this directory; grows with each call and each boot.
  [[nodiscard]] std::uint64_t next_id();

  [[nodiscard]] const store_options& options() const noexcept;
  /// Who holds the directory for writing, such as "process 4711"; nothing when nobody does.
  [[nodiscard]] static std::optional<std::string> holder(const std::filesystem::path& directory);
  /// How often this directory has been opened for writing, this time included; monotonic and synced at open.
  [[nodiscard]] std::uint64_t boot() const noexcept;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace planaria
