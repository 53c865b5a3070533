#include "expect_error.hpp"

#include <planaria/actors/step_rng.hpp>

#include <torch/torch.h>

using namespace planaria;
using testing::expect_error;
namespace nn = torch::nn;

TEST_CASE("a step draws the same numbers each time, another step and rank others") {
  step_rng rng;
  step_dropout dropout(0.5, rng.generator());
  const auto draw = [&](std::uint64_t step, std::uint64_t rank) {
    rng.seed(3, step, rank);
    return dropout->forward(torch::ones({64}));
  };
  const auto first = draw(5, 0);
  CHECK(torch::equal(first, draw(5, 0)));
  CHECK_FALSE(torch::equal(first, draw(6, 0)));
  CHECK_FALSE(torch::equal(first, draw(5, 1)));
}

TEST_CASE("dropout scales what it keeps and does nothing in evaluation") {
  step_rng rng;
  rng.seed(1, 1, 1);
  step_dropout dropout(0.25, rng.generator());
  const auto x = torch::ones({10000});
  const auto y = dropout->forward(x);
  CHECK(y.mean().item<float>() == doctest::Approx(1.0).epsilon(0.05));
  CHECK(y.max().item<float>() == doctest::Approx(1.0 / 0.75));
  dropout->eval();
  CHECK(torch::equal(dropout->forward(x), x));
  expect_error(
      errc::invalid_input, [&] { step_dropout bad(1.0, rng.generator()); }, "1");
}

TEST_CASE("modules that draw from the global generator are found wherever they hide") {
  CHECK(global_randomness(*nn::Sequential(nn::Linear(2, 2), nn::ReLU()).ptr()).empty());
  CHECK_FALSE(global_randomness(*nn::Sequential(nn::Linear(2, 2), nn::Dropout(0.1)).ptr()).empty());
  CHECK(global_randomness(*nn::Sequential(nn::Linear(2, 2), nn::Dropout(0.0)).ptr()).empty());
  CHECK_FALSE(global_randomness(*nn::Sequential(nn::Sequential(nn::FeatureAlphaDropout(0.1))).ptr()).empty());
  CHECK_FALSE(global_randomness(*nn::LSTM(nn::LSTMOptions(2, 2).num_layers(2).dropout(0.2)).ptr()).empty());
  CHECK(global_randomness(*nn::LSTM(nn::LSTMOptions(2, 2)).ptr()).empty());
}
