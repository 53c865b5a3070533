// An application that trains in the background while it goes on with its own work: here it counts, and now and then
// asks how the training is. One of the two peers is killed on the way.
#include <planaria/actors/mesh_job.hpp>
#include <planaria/actors/module_trainer.hpp>
#include <planaria/runtime/node.hpp>

#include <torch/torch.h>

#include <cstdlib>
#include <iostream>

// [model]
// Two classes of points: inside the unit circle and outside.
planaria::module_trainer_options my_training() {
  torch::manual_seed(1);
  const auto points = torch::rand({2000, 2}) * 3 - 1.5;
  const auto inside = points.pow(2).sum(1).lt(1).to(torch::kInt64);

  planaria::module_trainer_options training;
  training.make = [](const planaria::model_context&) {
    return planaria::make_model(
        torch::nn::Sequential(torch::nn::Linear(2, 32), torch::nn::ReLU(), torch::nn::Linear(32, 2)));
  };
  training.data = planaria::tensor_dataset(points, inside);
  training.optimizer = torch::optim::AdamWOptions(0.01);
  return training;
}
// [model]

int main() {
  // [train]
  planaria::node node;
  auto training = my_training();
  planaria::mesh_options options;
  options.peers = 2;
  options.data = training.data;
  options.test = training.data;
  options.make_trainer = planaria::make_trainer_factory(training);
  options.batch = 25;
  options.epochs = 20;
  options.kills = {{"peer-1", 100}};  // a fault drill: the run heals and ends with the same bits

  planaria::mesh_job job(node, options);
  job.start();
  // [train]

  long counted = 0;
  while (!job.ended()) {
    for (int i = 0; i < 1'000'000; ++i) ++counted;  // the application's own work
    if (counted % 200'000'000 == 0)
      std::cout << "step " << job.progress().step << " of " << job.progress().total_steps << '\n';
  }
  const auto result = job.wait(std::chrono::seconds(10));
  std::cout << "counted to " << counted << " meanwhile\n"
            << "accuracy " << result.test.accuracy << ", weights " << result.weights_hash << '\n';
  return result.complete && result.test.accuracy > 0.9 ? EXIT_SUCCESS : EXIT_FAILURE;
}
