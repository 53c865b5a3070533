#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace planaria {

/// How the samples of each epoch are dealt out to steps and ranks.
struct sampler_options {
  std::uint64_t seed = 0;
  std::int64_t samples = 0;  ///< in the dataset
  std::int64_t batch = 0;    ///< a rank and step; a step uses batch × ranks samples
  std::int64_t ranks = 1;
  bool shuffle = true;
};

/// Where a step stands in the run.
struct step_place {
  std::uint64_t epoch = 0;
  std::uint64_t step_in_epoch = 0;
};

/// Deals each epoch's samples out as a function of (seed, epoch, step, rank) alone, so that any incarnation of any rank
/// gets the same samples for the same step.
///
/// The epoch's order is a Fisher–Yates shuffle whose draws are SplitMix64 (Steele et al., 2014) of (seed, epoch,
/// place). Step s takes the next batch × ranks samples, rank r the r-th part. The last step of an epoch deals what is
/// left: parts differ by at most one sample, lower ranks first, so a rank may get none. Every sample is used exactly
/// once an epoch. Thread  any; the two latest epochs' orders are kept, 8 bytes a sample each.
class sampler {
 public:
  explicit sampler(const sampler_options& options);

  [[nodiscard]] std::uint64_t steps_per_epoch() const noexcept { return steps_per_epoch_; }
  /// Where a step of the run stands.
  [[nodiscard]] step_place place(std::uint64_t step) const noexcept;
  /// The samples of a rank in a step, in order; empty when the tail has none for it.
  [[nodiscard]] std::vector<std::int64_t> samples(std::uint64_t step, std::int64_t rank) const;
  /// The whole order of an epoch.
  [[nodiscard]] std::shared_ptr<const std::vector<std::int64_t>> order(std::uint64_t epoch) const;
  /// Everything that the plan is a function of, as text; kept with a run's snapshots, so never change it.
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] const sampler_options& options() const noexcept { return options_; }

 private:
  struct cached {
    std::uint64_t epoch = 0;
    std::shared_ptr<const std::vector<std::int64_t>> order;
  };

  sampler_options options_;
  std::uint64_t steps_per_epoch_;
  mutable std::mutex mutex_;
  mutable cached cache_[2];  // guarded by mutex_, by parity of the epoch
};

}  // namespace planaria
