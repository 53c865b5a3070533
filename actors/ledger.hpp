#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace planaria {

/// What became of an epoch's samples.
struct epoch_count {
  std::uint64_t epoch = 0;
  std::int64_t used = 0;        ///< distinct samples whose gradient was averaged, in a step that was applied or skipped
  std::int64_t lost = 0;        ///< never used, once the epoch is complete
  std::int64_t duplicated = 0;  ///< uses beyond the first
  bool complete = false;
};

/// Counts how often each sample went into a step's mean: the evidence for promise P2.
///
/// Filled from the contributions that were really averaged, not from the plan; a step that all ranks skipped because
/// its mean was not finite has had its samples' turn and counts. It belongs to the state of a step and is saved,
/// restored and rolled back with it. Not thread-safe: the exchange guards it.
class ledger {
 public:
  explicit ledger(std::int64_t samples) : samples_(samples) {}

  /// Counts these samples as used in `epoch`.
  void mark(std::uint64_t epoch, std::span<const std::int64_t> used);
  void close(std::uint64_t epoch);
  /// Every epoch seen, oldest first, the open one last.
  [[nodiscard]] std::vector<epoch_count> epochs() const;
  /// The sums over complete epochs.
  [[nodiscard]] epoch_count total() const;

  /// On disk: never renumber. One byte a sample of the open epoch.
  [[nodiscard]] std::string save() const;
  /// Errors: errc::corrupt when the text is not what save() wrote for this many samples.
  void load(std::string_view saved);

 private:
  [[nodiscard]] epoch_count summarise(std::uint64_t epoch) const;

  std::int64_t samples_;
  std::vector<epoch_count> closed_;
  std::uint64_t open_epoch_ = 0;
  std::vector<std::uint8_t> uses_;  // of the open epoch, saturating; empty when none is open
};

}  // namespace planaria
