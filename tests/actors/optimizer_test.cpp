#include "expect_error.hpp"

#include <planaria/actors/optimizer.hpp>

#include <torch/torch.h>

using namespace planaria;
using testing::expect_error;

namespace {

tensor_map parameters() {
  torch::manual_seed(2);
  tensor_map all{{"w", torch::randn({3, 2}).requires_grad_()},
                 {"b", torch::randn({2}).requires_grad_()},
                 {"idle", torch::ones({1}).requires_grad_()}};
  return all;
}

// Steps with gradients that depend on the step's number; "idle" never has one.
void step(optimizer& with, tensor_map& of, int number) {
  for (std::size_t i = 0; i < 2; ++i) of[i].tensor.mutable_grad() = torch::full_like(of[i].tensor, 0.1 * (number + 1));
  with.step(1.0 / (number + 1));
}

std::vector<optimizer_options> kinds() {
  return {torch::optim::SGDOptions(0.1), torch::optim::SGDOptions(0.1).momentum(0.9).nesterov(true).weight_decay(0.01),
          torch::optim::AdamOptions(0.01), torch::optim::AdamOptions(0.01).amsgrad(true).weight_decay(0.1),
          torch::optim::AdamWOptions(0.01)};
}

}  // namespace

TEST_CASE("a restored optimizer goes on with the same bits, whatever its kind") {
  for (const auto& kind : kinds()) {
    auto live = parameters();
    optimizer first(kind, live);
    CAPTURE(first.describe());
    for (int i = 0; i < 4; ++i) step(first, live, i);
    auto fresh = parameters();
    optimizer second(kind, fresh);
    second.reserve();
    for (std::size_t i = 0; i < live.size(); ++i) {
      torch::NoGradGuard no_grad;
      fresh[i].tensor.copy_(live[i].tensor);
    }
    const auto saved = first.state();
    second.load(saved);
    CHECK(content_hash(second.state()) == content_hash(saved));
    for (int i = 4; i < 7; ++i) {
      step(first, live, i);
      step(second, fresh, i);
    }
    CHECK(content_hash(live) == content_hash(fresh));
    CHECK(content_hash(first.state()) == content_hash(second.state()));
  }
}

TEST_CASE("a parameter that never had a gradient has no moments") {
  auto live = parameters();
  optimizer adam(torch::optim::AdamOptions(0.01), live);
  step(adam, live, 0);
  for (const auto& t : adam.state()) CHECK(t.name.find("idle") == std::string::npos);
}

TEST_CASE("moments of another shape, dtype or parameter are refused by name, and nothing is changed") {
  auto live = parameters();
  optimizer adam(torch::optim::AdamOptions(0.01), live);
  step(adam, live, 0);
  const auto before = content_hash(adam.state());
  const auto refuse = [&](auto change, const char* word) {
    auto saved = adam.state();
    for (auto& t : saved) t.tensor = t.tensor.clone() + 1;
    change(saved);
    expect_error(
        errc::schema_mismatch, [&] { adam.load(saved); }, word);
    CHECK(content_hash(adam.state()) == before);
  };
  const auto named = [](tensor_map& in, const std::string& part) -> named_tensor& {
    for (auto& t : in)
      if (t.name.find(part) != std::string::npos) return t;
    throw std::runtime_error("no " + part);
  };
  refuse([&](tensor_map& s) { named(s, "w/exp_avg_sq").tensor = torch::ones({2, 3}); }, "w/exp_avg_sq");
  refuse([&](tensor_map& s) { named(s, "b/exp_avg").tensor = torch::ones({2}, torch::kFloat64); }, "b/exp_avg");
  refuse([&](tensor_map& s) { s.push_back({"optimizer/stranger/exp_avg", torch::ones({1})}); }, "stranger");
}

TEST_CASE("different options describe themselves differently") {
  std::vector<std::string> texts;
  for (const auto& kind : kinds()) texts.push_back(optimizer(kind, parameters()).describe());
  for (std::size_t i = 0; i < texts.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) CHECK(texts[i] != texts[j]);
  expect_error(
      errc::invalid_input, [] { static_cast<void>(make_optimizer_options("lion", 0.1)); }, "lion");
}
