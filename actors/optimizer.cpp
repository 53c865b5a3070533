#include <planaria/actors/optimizer.hpp>
#include <planaria/storage/error.hpp>

#include <algorithm>
#include <map>
#include <sstream>
#include <string_view>
#include <type_traits>
#include <utility>

namespace planaria {
namespace {

constexpr std::string_view prefix = "optimizer/";

// LibTorch 1.13 keys optimizer state by the address as text, 2.x by the address.
template <class States>
auto key_in(const States&, const torch::Tensor& parameter) {
  using key = typename States::key_type;
  if constexpr (std::is_same_v<key, std::string>) {
    std::ostringstream text;
    text << parameter.unsafeGetTensorImpl();
    return text.str();
  } else {
    return static_cast<key>(parameter.unsafeGetTensorImpl());
  }
}

using moments = std::map<std::string, torch::Tensor>;

template <class State>
constexpr bool is_sgd = std::is_same_v<State, torch::optim::SGDParamState>;

template <class State>
void add_moments(const std::string& name, State& state, tensor_map& out) {
  const auto add = [&](const char* field, const torch::Tensor& tensor) {
    if (tensor.defined()) out.push_back({std::string(prefix) + name + "/" + field, tensor});
  };
  if constexpr (is_sgd<State>) {
    add("momentum", state.momentum_buffer());
  } else {
    add("step", torch::full({}, state.step(), torch::kInt64));
    add("exp_avg", state.exp_avg());
    add("exp_avg_sq", state.exp_avg_sq());
    add("max_exp_avg_sq", state.max_exp_avg_sq());
  }
}

template <class State>
std::unique_ptr<State> state_from(moments& found) {
  auto made = std::make_unique<State>();
  if constexpr (is_sgd<State>) {
    made->momentum_buffer(found["momentum"]);
  } else {
    made->step(found["step"].template item<std::int64_t>());
    made->exp_avg(found["exp_avg"]);
    made->exp_avg_sq(found["exp_avg_sq"]);
    made->max_exp_avg_sq(found["max_exp_avg_sq"]);
  }
  return made;
}

template <class State>
std::vector<std::string> fields_of(bool extended) {
  if constexpr (is_sgd<State>) return {"momentum"};
  std::vector<std::string> fields{"step", "exp_avg", "exp_avg_sq"};
  if (extended) fields.emplace_back("max_exp_avg_sq");
  return fields;
}

}  // namespace

struct optimizer::impl {
  impl(tensor_map p, std::string text) : parameters(std::move(p)), description(std::move(text)) {}
  virtual ~impl() = default;
  virtual tensor_map state() const = 0;
  virtual void load(std::map<std::string, moments> found) = 0;
  virtual std::vector<std::string> fields() const = 0;
  virtual torch::optim::Optimizer& engine() = 0;

  // Returns memory for a moment of this parameter: reserved if there is some.
  torch::Tensor memory(const std::string& parameter, const std::string& field, const torch::Tensor& like) {
    auto& kept = reserved[parameter][field];
    if (!kept.defined()) kept = torch::zeros_like(like);
    return kept;
  }

  tensor_map parameters;
  std::string description;
  std::map<std::string, moments> reserved;
  double base_lr = 0.0;
};

namespace {

template <class Engine, class Options, class State>
struct engine_impl final : optimizer::impl {
  engine_impl(const Options& options, tensor_map p, std::string text, bool extended)
      : impl(std::move(p), std::move(text)), extended_(extended), engine_(tensors(), options) {
    base_lr = options.lr();
  }

  std::vector<torch::Tensor> tensors() const {
    std::vector<torch::Tensor> all;
    for (const auto& p : parameters) all.push_back(p.tensor);
    return all;
  }

  tensor_map state() const override {
    tensor_map out;
    const auto& states = engine_.state();
    for (const auto& p : parameters) {
      const auto found = states.find(key_in(states, p.tensor));
      if (found != states.end()) add_moments(p.name, static_cast<State&>(*found->second), out);
    }
    return out;
  }

  void load(std::map<std::string, moments> found) override {
    torch::NoGradGuard no_grad;
    auto& states = engine_.state();
    for (const auto& p : parameters) {
      const auto key = key_in(states, p.tensor);
      const auto saved = found.find(p.name);
      if (saved == found.end()) {
        states.erase(key);
        continue;
      }
      moments own;
      for (auto& [field, tensor] : saved->second) {
        own[field] = memory(p.name, field, tensor);
        own[field].copy_(tensor);
      }
      states[key] = state_from<State>(own);
    }
  }

  std::vector<std::string> fields() const override { return fields_of<State>(extended_); }
  torch::optim::Optimizer& engine() override { return engine_; }

  bool extended_;
  Engine engine_;
};

std::string betas_text(const std::tuple<double, double>& betas) {
  std::ostringstream text;
  text.precision(17);
  text << std::get<0>(betas) << ',' << std::get<1>(betas);
  return text.str();
}

template <class Options>
std::string adam_text(const char* name, const Options& o) {
  std::ostringstream text;
  text.precision(17);
  text << name << " lr=" << o.lr() << " betas=" << betas_text(o.betas()) << " eps=" << o.eps()
       << " weight_decay=" << o.weight_decay() << " amsgrad=" << o.amsgrad();
  return text.str();
}

std::string text_of(const torch::optim::SGDOptions& o) {
  std::ostringstream text;
  text.precision(17);
  text << "sgd lr=" << o.lr() << " momentum=" << o.momentum() << " dampening=" << o.dampening()
       << " weight_decay=" << o.weight_decay() << " nesterov=" << o.nesterov();
  return text.str();
}
std::string text_of(const torch::optim::AdamOptions& o) { return adam_text("adam", o); }
std::string text_of(const torch::optim::AdamWOptions& o) { return adam_text("adamw", o); }

std::unique_ptr<optimizer::impl> make_engine(const torch::optim::SGDOptions& o, tensor_map p) {
  return std::make_unique<engine_impl<torch::optim::SGD, torch::optim::SGDOptions, torch::optim::SGDParamState>>(
      o, std::move(p), text_of(o), false);
}
std::unique_ptr<optimizer::impl> make_engine(const torch::optim::AdamOptions& o, tensor_map p) {
  return std::make_unique<engine_impl<torch::optim::Adam, torch::optim::AdamOptions, torch::optim::AdamParamState>>(
      o, std::move(p), text_of(o), o.amsgrad());
}
std::unique_ptr<optimizer::impl> make_engine(const torch::optim::AdamWOptions& o, tensor_map p) {
  return std::make_unique<engine_impl<torch::optim::AdamW, torch::optim::AdamWOptions, torch::optim::AdamWParamState>>(
      o, std::move(p), text_of(o), o.amsgrad());
}

[[noreturn]] void differs(const std::string& what) { throw error(errc::schema_mismatch, what); }

// Checks one saved moment against its parameter and files it under both names.
void accept(const named_tensor& saved, const std::map<std::string, torch::Tensor>& parameters,
            const std::vector<std::string>& fields, std::map<std::string, moments>& found) {
  const auto rest = saved.name.substr(prefix.size());
  const auto slash = rest.rfind('/');
  const auto parameter = rest.substr(0, slash);
  const auto field = slash == std::string::npos ? std::string() : rest.substr(slash + 1);
  const auto owner = parameters.find(parameter);
  if (owner == parameters.end()) differs(saved.name + " belongs to no parameter of this model");
  if (std::find(fields.begin(), fields.end(), field) == fields.end())
    differs(saved.name + " is no moment of this optimizer");
  const bool counter = field == "step";
  const auto expected_type = counter ? torch::kInt64 : owner->second.scalar_type();
  const auto expected_shape = counter ? torch::IntArrayRef{} : owner->second.sizes();
  if (saved.tensor.scalar_type() != expected_type || saved.tensor.sizes() != expected_shape) {
    std::ostringstream text;
    text << saved.name << " is " << saved.tensor.scalar_type() << saved.tensor.sizes() << ", expected " << expected_type
         << expected_shape;
    differs(text.str());
  }
  found[parameter][field] = saved.tensor;
}

}  // namespace

optimizer_options make_optimizer_options(const std::string& name, double learning_rate) {
  if (name == "sgd") return torch::optim::SGDOptions(learning_rate);
  if (name == "adam") return torch::optim::AdamOptions(learning_rate);
  if (name == "adamw") return torch::optim::AdamWOptions(learning_rate);
  throw error(errc::invalid_input, "optimizer \"" + name + "\" is not known; use sgd, adam or adamw");
}

optimizer::optimizer(const optimizer_options& options, tensor_map parameters)
    : impl_(std::visit([&](const auto& o) { return make_engine(o, std::move(parameters)); }, options)) {}
optimizer::~optimizer() = default;
optimizer::optimizer(optimizer&&) noexcept = default;

void optimizer::step(double factor) {
  for (auto& group : impl_->engine().param_groups()) group.options().set_lr(impl_->base_lr * factor);
  impl_->engine().step();
}

tensor_map optimizer::state() const { return impl_->state(); }

void optimizer::load(const tensor_map& saved) {
  std::map<std::string, torch::Tensor> parameters;
  for (const auto& p : impl_->parameters) parameters[p.name] = p.tensor;
  std::map<std::string, moments> found;
  const auto fields = impl_->fields();
  for (const auto& t : saved)
    if (t.name.starts_with(prefix)) accept(t, parameters, fields, found);
  for (const auto& [parameter, own] : found)
    for (const auto& field : fields)
      if (!own.contains(field)) differs(std::string(prefix) + parameter + "/" + field + " is missing");
  impl_->load(std::move(found));
}

void optimizer::reserve() {
  for (const auto& p : impl_->parameters)
    for (const auto& field : impl_->fields())
      if (field != "step") static_cast<void>(impl_->memory(p.name, field, p.tensor));
}

std::string optimizer::describe() const { return impl_->description; }

}  // namespace planaria
