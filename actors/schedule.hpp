#pragma once

#include <cstdint>
#include <string>

namespace planaria {

/// The learning rate's factor as a function of the step alone, so that it needs no state of its own to recover.
struct schedule {
  enum class kind : std::uint8_t { constant, step, cosine };
  kind how = kind::constant;
  /// Linear warm-up over the first steps, from 1/warmup_steps; 0: none.
  std::uint64_t warmup_steps = 0;
  /// step: multiplies by `gamma` every `step_size` steps.
  std::uint64_t step_size = 1;
  double gamma = 0.1;
  /// cosine: from 1 down to `floor` at `total_steps` (Loshchilov & Hutter, 2017, arXiv 1608.03983, eq. 5, without
  /// restarts).
  std::uint64_t total_steps = 1;
  double floor = 0.0;

  /// The factor for a step, counted from 0 over the whole run.
  [[nodiscard]] double factor(std::uint64_t step) const noexcept;
  /// A canonical text of kind and values; two schedules that differ have different texts.
  [[nodiscard]] std::string describe() const;
};

}  // namespace planaria
