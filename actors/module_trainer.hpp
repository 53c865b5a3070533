#pragma once

#include <planaria/actors/dataset.hpp>
#include <planaria/actors/optimizer.hpp>
#include <planaria/actors/schedule.hpp>
#include <planaria/actors/step_rng.hpp>
#include <planaria/actors/trainer.hpp>

#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace planaria {

/// A module and how to run it.
struct model {
  std::shared_ptr<torch::nn::Module> module;
  std::function<torch::Tensor(const torch::Tensor&)> forward;
};

/// What a model's constructor is given: the generator that its own randomness must draw from.
struct model_context {
  torch::Generator generator;
};

/// Makes a model from a module (or module holder) that has forward(Tensor) → Tensor.
template <class Module>
[[nodiscard]] model make_model(std::shared_ptr<Module> module) {
  auto* raw = module.get();
  return {std::move(module), [raw](const torch::Tensor& input) { return raw->forward(input); }};
}
template <class Impl>
[[nodiscard]] model make_model(torch::nn::ModuleHolder<Impl> holder) {
  return make_model(holder.ptr());
}
[[nodiscard]] inline model make_model(torch::nn::Sequential sequential) {
  auto module = sequential.ptr();
  auto* raw = module.get();
  return {std::move(module), [raw](const torch::Tensor& input) { return raw->forward(input); }};
}

/// output [n, …], target [n, …] → the 0-dim mean over the samples.
using loss_function = std::function<torch::Tensor(const torch::Tensor& output, const torch::Tensor& target)>;
/// Cross entropy over class scores; the default loss.
[[nodiscard]] torch::Tensor cross_entropy_loss(const torch::Tensor& output, const torch::Tensor& target);

struct module_trainer_options {
  /// Makes the module; called once a trainer, under a lock and with LibTorch's default generator seeded from `seed`, so
  /// that every trainer starts from the same bits.
  std::function<model(const model_context&)> make;
  dataset_ptr data;
  loss_function loss = cross_entropy_loss;
  optimizer_options optimizer = torch::optim::SGDOptions(0.05);
  planaria::schedule schedule = {};
  std::uint64_t seed = 0;
  /// Samples at a time in evaluate(), at least 1. Larger: faster, more memory.
  std::int64_t evaluation_batch = 500;
};

/// A trainer of a torch::nn::Module: forward, loss, backward, LibTorch's optimizer.
///
/// Parameters of float, double, bf16 or half, frozen ones included (they are kept, hashed, not averaged). Tied
/// parameters count once. Errors at construction, all errc::invalid_input: no parameter at all, a parameter of another
/// dtype, and a module that draws from LibTorch's process-global generator, since a step computed again would draw
/// other numbers (use step_dropout).
class module_trainer final : public trainer {
 public:
  explicit module_trainer(const module_trainer_options& options);

  [[nodiscard]] contribution compute(const step_context& where) override;
  void apply(const step_context& where, const std::vector<torch::Tensor>& mean) override;
  [[nodiscard]] tensor_map weights() const override;
  [[nodiscard]] std::vector<torch::Tensor> buffers() const override;
  [[nodiscard]] trainer_state state(state_scope scope) const override;
  void load(const trainer_state& saved) override;
  [[nodiscard]] evaluation evaluate(const dataset& data, const std::function<void()>& alive) override;

  [[nodiscard]] const model& wrapped() const noexcept { return model_; }

 private:
  [[nodiscard]] tensor_map named_buffers() const;
  void check_addresses() const;
  void check_parameters_unmoved() const;

  module_trainer_options options_;
  step_rng rng_;
  model model_;
  tensor_map parameters_;               // set at construction
  std::vector<const void*> addresses_;  // of parameters_, to notice a reassigned one
  std::unique_ptr<optimizer> optimizer_;
  bool has_buffers_ = false;
};

/// The factory that a mesh takes.
[[nodiscard]] trainer_factory make_trainer_factory(module_trainer_options options);

}  // namespace planaria
