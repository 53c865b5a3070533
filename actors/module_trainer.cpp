#include <planaria/actors/module_trainer.hpp>
#include <planaria/storage/error.hpp>

#include <mutex>
#include <numeric>
#include <sstream>

namespace planaria {
namespace {

// LibTorch initialises modules from its one default generator, so constructions take turns. The only lock of ours that
// is global, because what it guards is.
std::mutex& construction_mutex() {
  static std::mutex mutex;
  return mutex;
}

// Seeds LibTorch's default generator for the scope and puts back what it was.
class seeded_construction {
 public:
  explicit seeded_construction(std::uint64_t seed) : lock_(construction_mutex()) {
    auto generator = at::detail::getDefaultCPUGenerator();
    before_ = generator.get_state();
    generator.set_current_seed(seed);
  }
  ~seeded_construction() {
    auto generator = at::detail::getDefaultCPUGenerator();
    generator.set_state(before_);
  }
  seeded_construction(const seeded_construction&) = delete;
  seeded_construction& operator=(const seeded_construction&) = delete;

 private:
  std::lock_guard<std::mutex> lock_;
  torch::Tensor before_;
};

model construct(const module_trainer_options& options, const step_rng& rng) {
  if (!options.make) throw error(errc::invalid_input, "a module_trainer needs a function that makes its model");
  if (!options.data) throw error(errc::invalid_input, "a module_trainer needs a dataset");
  if (options.evaluation_batch < 1)
    throw error(errc::invalid_input,
                "evaluation_batch must be at least 1, not " + std::to_string(options.evaluation_batch));
  seeded_construction scope(options.seed);
  auto made = options.make({rng.generator()});
  if (!made.module || !made.forward) throw error(errc::invalid_input, "the model has no module or no forward function");
  return made;
}

bool averageable(torch::ScalarType type) {
  return type == torch::kFloat32 || type == torch::kFloat64 || type == torch::kBFloat16 || type == torch::kFloat16;
}

tensor_map parameters_of(const torch::nn::Module& module) {
  tensor_map all;
  for (const auto& item : module.named_parameters()) {
    const auto& tensor = item.value();
    if (!averageable(tensor.scalar_type()))
      throw error(errc::invalid_input, "parameter " + item.key() + " is " +
                                           std::string(c10::toString(tensor.scalar_type())) +
                                           "; only float, double, bfloat16 and half can be averaged");
    bool seen = false;
    for (const auto& p : all) seen = seen || p.tensor.is_same(tensor);
    if (!seen) all.push_back({item.key(), tensor});
  }
  if (all.empty()) throw error(errc::invalid_input, "the model has no parameters: there is nothing to train");
  return all;
}

[[noreturn]] void refuse_replaced(const std::string& name) {
  throw error(errc::user_error,
              "parameter " + name + " was replaced by another tensor while training; change it in place");
}

}  // namespace

torch::Tensor cross_entropy_loss(const torch::Tensor& output, const torch::Tensor& target) {
  return torch::nn::functional::cross_entropy(output, target);
}

module_trainer::module_trainer(const module_trainer_options& options)
    : options_(options), model_(construct(options, rng_)), parameters_(parameters_of(*model_.module)) {
  const auto random = global_randomness(*model_.module);
  if (!random.empty())
    throw error(errc::invalid_input,
                "the model's " + random +
                    " draws from LibTorch's process-global generator, so that a step computed again would find other "
                    "bits and trainers in one process would race on it; use planaria::step_dropout with "
                    "model_context::generator");
  for (const auto& p : parameters_) addresses_.push_back(p.tensor.data_ptr());
  optimizer_ = std::make_unique<optimizer>(options_.optimizer, parameters_);
  optimizer_->reserve();
  has_buffers_ = !model_.module->named_buffers().is_empty();
}

contribution module_trainer::compute(const step_context& where) {
  rng_.seed(where.seed, where.step, static_cast<std::uint64_t>(where.rank));
  for (auto& p : parameters_) p.tensor.mutable_grad().reset();
  model_.module->train();
  const auto batch = options_.data->get(where.samples);
  const auto loss = options_.loss(model_.forward(batch.data), batch.target);
  if (loss.dim() != 0) throw error(errc::user_error, "the loss must be a 0-dim tensor: the mean over the samples");
  check_addresses();
  loss.backward();
  contribution found;
  found.loss = loss.item<double>();
  found.gradients.reserve(parameters_.size());
  for (const auto& p : parameters_) {
    const auto& gradient = p.tensor.grad();
    if (gradient.defined() && gradient.is_sparse())
      throw error(errc::user_error, "parameter " + p.name + " has a sparse gradient, which a mesh cannot average");
    found.gradients.push_back(gradient.defined() ? gradient.contiguous() : gradient);
  }
  return found;
}

void module_trainer::apply(const step_context& where, const std::vector<torch::Tensor>& mean) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].tensor.mutable_grad() = mean[i];
  optimizer_->step(options_.schedule.factor(where.step));
  for (auto& p : parameters_) p.tensor.mutable_grad().reset();
}

tensor_map module_trainer::named_buffers() const {
  tensor_map all;
  for (const auto& item : model_.module->named_buffers())
    if (item.value().defined()) all.push_back({std::string(buffer_prefix) + item.key(), item.value()});
  return all;
}

std::vector<torch::Tensor> module_trainer::buffers() const {
  std::vector<torch::Tensor> all;
  if (!has_buffers_) return all;
  // Asked anew each time: a module may have put another tensor in a buffer's place.
  for (const auto& buffer : named_buffers()) all.push_back(buffer.tensor);
  return all;
}

tensor_map module_trainer::weights() const {
  check_parameters_unmoved();
  auto all = parameters_;
  for (auto& p : all) p.tensor = p.tensor.detach();
  for (auto& buffer : named_buffers()) all.push_back(std::move(buffer));
  return all;
}

trainer_state module_trainer::state(state_scope scope) const {
  trainer_state found;
  for (const auto& p : parameters_) found.tensors.push_back({"parameter/" + p.name, p.tensor.detach()});
  if (scope == state_scope::complete) {
    check_parameters_unmoved();
    for (auto& buffer : named_buffers()) found.tensors.push_back(std::move(buffer));
  }
  for (auto& moment : optimizer_->state()) found.tensors.push_back(std::move(moment));
  found.options = optimizer_->describe() + "; " + options_.schedule.describe();
  return found;
}

void module_trainer::load(const trainer_state& saved) {
  const auto own = state(state_scope::stable).options;
  if (saved.options != own)
    throw error(errc::schema_mismatch,
                "the state was trained with \"" + saved.options + "\", this trainer has \"" + own + "\"");
  tensor_map mine;
  tensor_map theirs;
  bool has_saved_buffers = false;
  for (const auto& t : saved.tensors) {
    if (t.name.starts_with("optimizer/")) continue;
    has_saved_buffers = has_saved_buffers || t.name.starts_with(buffer_prefix);
    theirs.push_back(t);
  }
  for (const auto& p : parameters_) mine.push_back({"parameter/" + p.name, p.tensor.detach()});
  if (has_saved_buffers)
    for (auto& buffer : named_buffers()) mine.push_back(std::move(buffer));
  const auto difference = schema_difference(mine, theirs);
  if (!difference.empty()) throw error(errc::schema_mismatch, difference);
  optimizer_->load(saved.tensors);
  restore_into(mine, theirs);
}

void module_trainer::check_addresses() const {
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (parameters_[i].tensor.data_ptr() != addresses_[i]) refuse_replaced(parameters_[i].name);
}

void module_trainer::check_parameters_unmoved() const {
  const auto now = model_.module->named_parameters();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto* found = now.find(parameters_[i].name);
    if (found == nullptr || found->data_ptr() != addresses_[i]) refuse_replaced(parameters_[i].name);
  }
}

evaluation module_trainer::evaluate(const dataset& data, const std::function<void()>& alive) {
  torch::NoGradGuard no_grad;
  model_.module->eval();
  evaluation total;
  double correct = 0;
  std::vector<std::int64_t> indices;
  for (std::int64_t begin = 0; begin < data.size(); begin += options_.evaluation_batch) {
    alive();
    indices.resize(static_cast<std::size_t>(std::min(options_.evaluation_batch, data.size() - begin)));
    std::iota(indices.begin(), indices.end(), begin);
    const auto batch = data.get(indices);
    const auto output = model_.forward(batch.data);
    const auto count = static_cast<double>(indices.size());
    total.loss += options_.loss(output, batch.target).item<double>() * count;
    if (output.dim() == 2 && batch.target.dim() == 1 && batch.target.scalar_type() == torch::kInt64)
      correct += static_cast<double>(output.argmax(1).eq(batch.target).sum().item<std::int64_t>());
  }
  total.samples = data.size();
  total.loss /= static_cast<double>(std::max<std::int64_t>(total.samples, 1));
  total.accuracy = correct / static_cast<double>(std::max<std::int64_t>(total.samples, 1));
  model_.module->train();
  return total;
}

trainer_factory make_trainer_factory(module_trainer_options options) {
  return [options = std::move(options)] { return std::make_unique<module_trainer>(options); };
}

}  // namespace planaria
