#pragma once

#include <torch/torch.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace planaria::mesh {

/// One rank's share of an averaging: its gradients and how much they weigh.
struct summand {
  std::vector<torch::Tensor>
      gradients;          ///< same shapes and dtypes on every rank; undefined: no gradient, counts as zero
  double weight = 0.0;    ///< its samples over all samples of the step
  std::int64_t rank = 0;  ///< for messages
};

/// A weighted mean of gradients that any number of threads carry out together, in chunks.
///
/// gradients  [P] lists of f32|f64|bf16|f16 tensors, contiguous, CPU; read only.
/// mean       same shapes and dtypes; undefined where no rank has a gradient. Accumulates in f32 (f64 for f64), rank
/// order:
///            ((w₀·g₀ + w₁·g₁) + w₂·g₂) + …, the same bits whatever the number of threads and chunks.
/// Thread     prepare by one; work() by any number at once. Source tensors may be freed once finished() is true.
/// Cost       reads P·n and writes n elements once in all, on top of the ranks' own passes; nothing is copied. With one
/// summand that has
///            gradients the mean is that summand's tensors themselves.
/// Source     reduce-scatter + all-gather of Thakur, Rabenseifner & Gropp (2005) on shared memory, where the gather is
/// free:
///            every rank reads the one mean.
class shared_mean {
 public:
  /// `reuse` may hold the tensors of an earlier mean that nobody reads any more: they are written again.
  shared_mean(std::vector<summand> summands, const std::vector<torch::Tensor>& reuse);

  /// Takes chunks until none is left. Returns true to the one caller that finished the last chunk.
  bool work();
  [[nodiscard]] bool finished() const noexcept { return remaining_.load(std::memory_order_acquire) == 0; }

  /// After finished(). The tensors must be treated as read-only.
  [[nodiscard]] const std::vector<torch::Tensor>& mean() const noexcept { return mean_; }
  /// After finished(): whether every element of the mean is finite. A sum that overflowed counts as non-finite.
  [[nodiscard]] bool finite() const noexcept { return !non_finite_.load(std::memory_order_relaxed); }
  /// After finished(): the first rank that holds a NaN or infinity and the index of its tensor; rank -1 when each is
  /// finite by itself and only the sum is not. Slow: for the message only.
  [[nodiscard]] std::pair<std::int64_t, std::size_t> culprit() const;
  /// Whether there is nothing to average: work() then returns false to everybody.
  [[nodiscard]] bool empty() const noexcept { return pieces_.empty(); }
  /// The size of the work, to decide whether it is worth waking helpers.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// The buffers that a later mean may reuse; empty when mean() shares a summand's tensors.
  [[nodiscard]] std::vector<torch::Tensor> reusable() const;

 private:
  struct piece {
    std::size_t tensor;
    std::int64_t begin;
    std::int64_t end;
  };
  void plan();
  void reduce(const piece& what);

  std::vector<summand> summands_;
  std::vector<torch::Tensor> mean_;
  std::vector<piece> pieces_;
  std::size_t bytes_ = 0;
  bool shares_summand_ = false;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> remaining_{0};
  std::atomic<bool> non_finite_{false};
};

}  // namespace planaria::mesh
