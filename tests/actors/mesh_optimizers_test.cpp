// One peer against a plain LibTorch loop, and what an optimizer and a schedule keep through deaths.
#include "stage.hpp"

#include <planaria/actors/sampler.hpp>

using namespace planaria;
using namespace planaria::testing;

namespace {

// Nothing of Planaria's but the order of the samples and the hash.
template <class Optimizer, class Options>
std::string plain_loop(const stage& s, Options options, const std::function<double(std::uint64_t)>& factor) {
  torch::manual_seed(s.trainer.seed);
  torch::nn::Sequential net(torch::nn::Linear(8, 16), torch::nn::ReLU(), torch::nn::Linear(16, 3));
  const double base = options.lr();
  Optimizer optimizer(net->parameters(), options);
  const sampler order({.seed = s.mesh.seed, .samples = s.mesh.data->size(), .batch = s.mesh.batch});
  for (std::uint64_t step = 0; step < order.steps_per_epoch() * s.mesh.epochs; ++step) {
    const auto batch = s.mesh.data->get(order.samples(step, 0));
    optimizer.zero_grad();
    torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target).backward();
    static_cast<Options&>(optimizer.param_groups()[0].options()).lr(base * factor(step));
    optimizer.step();
  }
  tensor_map weights;
  for (const auto& p : net->named_parameters()) weights.push_back({p.key(), p.value().detach()});
  return content_hash(weights).hex();
}

double always_one(std::uint64_t) { return 1.0; }

stage lone() { return stage(1, 47, 5, 3); }

void check_kills(stage s) {
  s.mesh.peers = 3;
  s.mesh.kills = mesh::random_kills(6, 9, 10, 3);
  s.mesh.kills.push_back({"", 7});
  const temporary_directory dir;
  node_options options;
  options.storage.directory = dir / "run";
  node where(options);
  check_same_bits(s, where);
}

}  // namespace

TEST_CASE("one peer alone ends with the bits of a plain SGD loop") {
  const auto s = lone();
  CHECK(s.run().weights_hash ==
        plain_loop<torch::optim::SGD>(s, torch::optim::SGDOptions(0.1).momentum(0.9), always_one));
}

TEST_CASE("one peer that is killed ends with the bits of a plain SGD loop too") {
  auto s = lone();
  s.mesh.kills = {{"peer-0", 3}, {"peer-0", 4}, {"peer-0", 20}};
  CHECK(s.run().weights_hash ==
        plain_loop<torch::optim::SGD>(s, torch::optim::SGDOptions(0.1).momentum(0.9), always_one));
}

TEST_CASE("Adam and AdamW step as LibTorch's and keep moments and options through deaths") {
  auto s = lone();
  const auto adam = torch::optim::AdamOptions(0.01).weight_decay(0.1).amsgrad(true);
  s.trainer.optimizer = adam;
  CHECK(s.run().weights_hash == plain_loop<torch::optim::Adam>(s, adam, always_one));
  check_kills(s);
  const auto adamw = torch::optim::AdamWOptions(0.01).weight_decay(0.2);
  s.trainer.optimizer = adamw;
  CHECK(s.run().weights_hash == plain_loop<torch::optim::AdamW>(s, adamw, always_one));
  check_kills(s);
}

TEST_CASE("the learning rate follows its schedule through deaths") {
  auto s = lone();
  s.trainer.schedule = {.how = schedule::kind::cosine, .warmup_steps = 4, .total_steps = 30, .floor = 0.1};
  const auto factor = [plan = s.trainer.schedule](std::uint64_t step) { return plan.factor(step); };
  CHECK(s.run().weights_hash == plain_loop<torch::optim::SGD>(s, torch::optim::SGDOptions(0.1).momentum(0.9), factor));
  check_kills(s);
  s.trainer.schedule = {.how = schedule::kind::step, .step_size = 7, .gamma = 0.5};
  check_kills(s);
}
