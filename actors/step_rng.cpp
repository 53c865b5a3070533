#include <planaria/actors/step_rng.hpp>
#include <planaria/storage/error.hpp>

namespace planaria {

step_dropout_impl::step_dropout_impl(double p, torch::Generator generator) : p_(p), generator_(std::move(generator)) {
  if (!(p >= 0.0 && p < 1.0)) throw error(errc::invalid_input, "dropout needs 0 <= p < 1, not " + std::to_string(p));
}

torch::Tensor step_dropout_impl::forward(const torch::Tensor& input) {
  if (!is_training() || p_ == 0.0) return input;
  const auto kept = torch::empty_like(input).bernoulli_(1.0 - p_, generator_);
  return input * kept.div_(1.0 - p_);
}

namespace {

template <class Dropout>
bool draws(const torch::nn::Module& module) {
  const auto* found = dynamic_cast<const Dropout*>(&module);
  return found != nullptr && found->options.p() > 0.0;
}

template <class Recurrent>
bool recurrent_draws(const torch::nn::Module& module) {
  const auto* found = dynamic_cast<const Recurrent*>(&module);
  return found != nullptr && found->options.dropout() > 0.0;
}

bool draws_globally(const torch::nn::Module& m) {
  using namespace torch::nn;
  return draws<DropoutImpl>(m) || draws<Dropout2dImpl>(m) || draws<Dropout3dImpl>(m) || draws<AlphaDropoutImpl>(m) ||
         draws<FeatureAlphaDropoutImpl>(m) || recurrent_draws<LSTMImpl>(m) || recurrent_draws<GRUImpl>(m) ||
         recurrent_draws<RNNImpl>(m) || recurrent_draws<MultiheadAttentionImpl>(m) ||
         dynamic_cast<const RReLUImpl*>(&m) != nullptr;
}

}  // namespace

std::string global_randomness(const torch::nn::Module& module) {
  if (draws_globally(module)) return module.name();
  for (const auto& item : module.named_children()) {
    const auto inner = global_randomness(*item.value());
    if (inner.empty()) continue;
    const bool direct = inner.find(" (") == std::string::npos;
    return direct ? item.key() + " (" + inner + ")" : item.key() + "." + inner;
  }
  return {};
}

}  // namespace planaria
