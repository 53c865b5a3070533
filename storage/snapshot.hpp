#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace planaria {

class store;

/// One named piece of a snapshot, borrowed for the duration of write().
struct part {
  std::string name;
  std::span<const std::byte> bytes;
};

/// What a snapshot is asked to hold. `run` groups the snapshots of one job and is not empty; steps of one run need not
/// be unique. Names are UTF-8 without control characters.
struct snapshot_request {
  std::string run;
  std::uint64_t step = 0;
  std::uint64_t schema_hash = 0;
  /// Lower is better (a validation loss); retention keeps the best one too. Nothing: not a candidate for the best.
  std::optional<double> metric;
  /// Small opaque record of the caller's own, kept in the commit record itself.
  std::string meta;
  std::vector<part> parts;
};

/// A part as the commit record describes it.
struct part_info {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t xxh3 = 0;
};

/// A committed snapshot as its commit record describes it.
struct snapshot_info {
  std::uint64_t id = 0;  ///< monotonic within the store
  std::string run;
  std::uint64_t step = 0;
  std::uint64_t schema_hash = 0;
  std::optional<double> metric;
  std::string meta;
  std::vector<part_info> parts;
  std::uint64_t bytes = 0;
  std::chrono::system_clock::time_point committed_at;
  std::optional<std::chrono::system_clock::time_point> verified_at;
};

/// A part read back.
struct loaded_part {
  std::string name;
  std::string bytes;
};

/// A snapshot read back with every hash verified.
struct loaded_snapshot {
  snapshot_info info;
  std::vector<loaded_part> parts;
  /// Newer snapshots that did not verify, newest first, each as "snapshot 7.2 (step 120): why". Empty when the newest
  /// was used.
  std::vector<std::string> skipped;
};

struct retention_policy {
  /// The newest verified snapshots to keep, at least 1. More: more disk, older points to return to.
  std::size_t keep_last = 3;
  /// Keep also the one with the lowest metric.
  bool keep_best = true;
};

/// "7.2": the boot in which the snapshot was written, and which number it drew there.
[[nodiscard]] std::string snapshot_name(std::uint64_t id);

/// The snapshots of one store: writes, lists, verifies, recovers and prunes them.
///
/// A snapshot exists once its commit record is synced, which happens after its parts are ingested; a crash in between
/// leaves parts without a record, which this class removes in the next boot. Several may share a store. Borrows the
/// store. Every member may be called from any thread; writes are serialised.
class snapshots {
 public:
  explicit snapshots(store& where, retention_policy retention = {});

  /// Ingests the parts, syncs the commit record, verifies what was written, then prunes by the retention policy.
  /// Returns the snapshot as committed. Errors: errc::invalid_input for names that cannot be kept, errc::disk_full and
  /// errc::io, each with the previous snapshots untouched.
  snapshot_info write(const snapshot_request& request);

  /// Returns the run's snapshots, oldest first; of every run when `run` is empty. Commit records that cannot be read
  /// are described in `unreadable`, newest last. Errors: errc::corrupt for such a record when `unreadable` is null;
  /// errc::newer_format.
  [[nodiscard]] std::vector<snapshot_info> list(const std::string& run = {},
                                                std::vector<std::string>* unreadable = nullptr) const;

  /// Returns the newest snapshot of the run that verifies, or nothing when the run has none at all. May run beside
  /// write(): what retention removes meanwhile is not taken for damage.
  /// Errors: errc::corrupt when there are snapshots and none verifies (every reason is in the text);
  /// errc::newer_format when one was written by a newer version.
  [[nodiscard]] std::optional<loaded_snapshot> recover(const std::string& run) const;

  /// Reads one snapshot and verifies it. Errors: errc::not_found, errc::corrupt, errc::newer_format.
  [[nodiscard]] loaded_snapshot load(std::uint64_t id) const;

 private:
  void remove_orphans();
  void prune(const std::string& run);
  void remove(const snapshot_info& which);
  [[nodiscard]] bool exists(std::uint64_t id) const;

  store& store_;
  retention_policy retention_;
  std::mutex writing_;
};

}  // namespace planaria
