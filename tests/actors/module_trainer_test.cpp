#include "stage.hpp"

using namespace planaria;
using namespace planaria::testing;

namespace {

step_context step_at(std::uint64_t step, const std::vector<std::int64_t>& samples) {
  return {5, 0, step, 0, 1, samples};
}

const std::vector<std::int64_t> some{0, 3, 7};

}  // namespace

TEST_CASE("every trainer of a factory starts from the same bits and finds the same gradient") {
  const stage s;
  const auto make = make_trainer_factory(s.trainer);
  const auto a = make();
  const auto b = make();
  CHECK(content_hash(a->weights()) == content_hash(b->weights()));
  const auto x = a->compute(step_at(0, some));
  const auto y = b->compute(step_at(0, some));
  CHECK(x.loss == y.loss);
  for (std::size_t i = 0; i < x.gradients.size(); ++i) CHECK(torch::equal(x.gradients[i], y.gradients[i]));
}

TEST_CASE("compute makes new gradients each time and leaves the weights alone") {
  const stage s;
  const auto t = make_trainer_factory(s.trainer)();
  const auto before = content_hash(t->weights());
  const auto x = t->compute(step_at(0, some));
  const auto y = t->compute(step_at(0, some));
  CHECK(x.gradients[0].data_ptr() != y.gradients[0].data_ptr());
  CHECK(content_hash(t->weights()) == before);
}

TEST_CASE("a state taken over goes on with the same bits") {
  stage s;
  s.trainer.optimizer = torch::optim::AdamWOptions(0.05);
  const auto make = make_trainer_factory(s.trainer);
  const auto a = make();
  for (std::uint64_t step = 0; step < 3; ++step)
    a->apply(step_at(step, some), a->compute(step_at(step, some)).gradients);
  const auto b = make();
  b->load(a->state(state_scope::complete));
  for (auto* t : {a.get(), b.get()}) t->apply(step_at(3, some), t->compute(step_at(3, some)).gradients);
  CHECK(content_hash(a->weights()) == content_hash(b->weights()));
  CHECK(content_hash(a->state(state_scope::complete).tensors) == content_hash(b->state(state_scope::complete).tensors));
}

TEST_CASE("a state of other options is refused with both") {
  stage s;
  const auto a = make_trainer_factory(s.trainer)();
  s.trainer.optimizer = torch::optim::SGDOptions(0.2).momentum(0.9);
  const auto b = make_trainer_factory(s.trainer)();
  const auto before = content_hash(b->weights());
  expect_error(
      errc::schema_mismatch, [&] { b->load(a->state(state_scope::complete)); }, "0.1", "0.2");
  CHECK(content_hash(b->weights()) == before);
}

TEST_CASE("evaluation counts every sample and changes nothing") {
  stage s;
  s.trainer.evaluation_batch = 7;
  const auto t = make_trainer_factory(s.trainer)();
  const auto before = content_hash(t->state(state_scope::complete).tensors);
  int alive = 0;
  const auto found = t->evaluate(*s.mesh.data, [&] { ++alive; });
  CHECK(found.samples == 90);
  CHECK(alive == 13);
  CHECK(found.accuracy > 0.0);
  CHECK(found.accuracy < 1.0);
  CHECK(content_hash(t->state(state_scope::complete).tensors) == before);
}

TEST_CASE("a parameter replaced while training is refused by name") {
  stage s;
  struct moving : torch::nn::Module {
    moving() { w = register_parameter("w", torch::ones({8, 3})); }
    torch::Tensor forward(const torch::Tensor& x) {
      named_parameters()["w"].set_data(torch::ones({8, 3}));
      return x.matmul(named_parameters()["w"]);
    }
    torch::Tensor w;
  };
  s.trainer.make = [](const model_context&) { return make_model(std::make_shared<moving>()); };
  const auto t = make_trainer_factory(s.trainer)();
  expect_error(
      errc::user_error, [&] { static_cast<void>(t->compute(step_at(0, some))); }, "parameter w");
}

TEST_CASE("parameters that cannot be averaged are refused by name") {
  stage s;
  struct odd : torch::nn::Module {
    odd() { register_parameter("z", torch::ones({2}, torch::kComplexFloat)); }
    torch::Tensor forward(const torch::Tensor& x) { return x; }
  };
  s.trainer.make = [](const model_context&) { return make_model(std::make_shared<odd>()); };
  expect_error(
      errc::invalid_input, [&] { static_cast<void>(make_trainer_factory(s.trainer)()); }, "z");
}
