#pragma once

#include <planaria/storage/tensor_codec.hpp>

#include <torch/torch.h>

#include <memory>
#include <string>
#include <variant>

namespace planaria {

/// LibTorch's own optimizers with LibTorch's own options.
using optimizer_options = std::variant<torch::optim::SGDOptions, torch::optim::AdamOptions, torch::optim::AdamWOptions>;

/// Makes options by name ("sgd", "adam", "adamw") with a learning rate, LibTorch's defaults for the rest.
/// Errors: errc::invalid_input for another name.
[[nodiscard]] optimizer_options make_optimizer_options(const std::string& name, double learning_rate);

/// A LibTorch optimizer whose whole state, moments and options, can be saved, compared and loaded.
///
/// Steps are LibTorch's own, bit for bit. Moments appear as "optimizer/PARAMETER/momentum" (SGD), "…/step",
/// "…/exp_avg", "…/exp_avg_sq" and "…/max_exp_avg_sq" (Adam, AdamW); a parameter that never had a gradient has none.
/// Thread  the trainer's; state() may run on another thread while no step() or load() runs.
class optimizer {
 public:
  optimizer(const optimizer_options& options, tensor_map parameters);
  ~optimizer();
  optimizer(optimizer&&) noexcept;

  /// Applies the parameters' .grad at the base learning rate times `factor`.
  void step(double factor);
  [[nodiscard]] tensor_map state() const;
  /// Takes over the moments, copying. Entries of `saved` whose names do not start with "optimizer/" are ignored.
  /// Errors: errc::schema_mismatch names a moment of an unknown parameter, or of another shape or dtype; nothing was
  /// changed.
  void load(const tensor_map& saved);
  /// Allocates the moments ahead, so that load() writes into memory that is there; changes no behaviour.
  void reserve();
  /// A canonical text of kind and options: equal texts, equal updates.
  [[nodiscard]] std::string describe() const;

  /// One for each of LibTorch's optimizers; defined in optimizer.cpp.
  struct impl;

 private:
  std::unique_ptr<impl> impl_;
};

}  // namespace planaria
