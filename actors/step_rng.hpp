#pragma once

#include <planaria/actors/seed.hpp>

#include <torch/torch.h>

#include <cstdint>
#include <string>

namespace planaria {

/// The generator that a model's own randomness draws from: seeded anew for each (seed, step, rank), so that a
/// recomputed step draws what the lost one drew. One a trainer, used on the trainer's thread alone.
class step_rng {
 public:
  step_rng() : generator_(torch::make_generator<at::CPUGeneratorImpl>(0)) {}
  /// Begins the sequence that belongs to this step and rank.
  void seed(std::uint64_t seed, std::uint64_t step, std::uint64_t rank) {
    generator_.set_current_seed(mix_seed(seed, step, rank, 1));
  }
  [[nodiscard]] torch::Generator generator() const { return generator_; }

 private:
  torch::Generator generator_;
};

/// Dropout on a step_rng. LibTorch's own draws from the process-global generator, which several trainers in one process
/// race on.
///
/// input   [*] any float dtype.
/// Returns the same shape; in training each element is zeroed with probability p and the others scaled by 1/(1−p).
/// Source  Srivastava et al., 2014 (inverted dropout, as torch::nn::Dropout).
class step_dropout_impl : public torch::nn::Module {
 public:
  /// Errors: errc::invalid_input unless 0 ≤ p < 1.
  step_dropout_impl(double p, torch::Generator generator);
  torch::Tensor forward(const torch::Tensor& input);

 private:
  double p_;
  torch::Generator generator_;
};
/// step_dropout, the module holder of step_dropout_impl.
TORCH_MODULE_IMPL(step_dropout, step_dropout_impl);

/// Names the first submodule that draws from LibTorch's process-global generator in training (its dropouts, and
/// recurrent modules with dropout), as "path (type)"; empty when there is none.
[[nodiscard]] std::string global_randomness(const torch::nn::Module& module);

}  // namespace planaria
