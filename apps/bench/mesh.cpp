#include "bench.hpp"

#include <planaria/runtime/node.hpp>

#include <mutex>
#include <stdexcept>
#include <thread>

namespace planaria::bench {
namespace {

namespace nn = torch::nn;

dataset_ptr random_data(const workload& what, std::int64_t samples) {
  torch::manual_seed(1);
  auto shape = what.input;
  shape.insert(shape.begin(), samples);
  return tensor_dataset(torch::randn(shape), torch::randint(10, {samples}, torch::kInt64));
}

module_trainer_options trainer_for(const workload& what, dataset_ptr data) {
  module_trainer_options options;
  options.make = [name = what.name](const model_context&) { return make_workload_model(name); };
  options.data = std::move(data);
  options.optimizer = torch::optim::SGDOptions(0.01);
  return options;
}

}  // namespace

workload workload_named(const std::string& name) {
  if (name == "cnn") return {"cnn", {1, 28, 28}, 64, 40};
  if (name == "mlp") return {"mlp", {64}, 32, 4000};
  if (name == "wide") return {"wide", {784}, 32, 100};
  throw std::invalid_argument("there is no model \"" + name + "\"; the models are cnn, mlp and wide");
}

model make_workload_model(const std::string& name) {
  if (name == "cnn")
    return make_model(nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 32, 3)), nn::ReLU(),
                                     nn::Conv2d(nn::Conv2dOptions(32, 64, 3)), nn::ReLU(), nn::MaxPool2d(2),
                                     nn::Flatten(), nn::Linear(9216, 128), nn::ReLU(), nn::Linear(128, 10)));
  if (name == "mlp") return make_model(nn::Sequential(nn::Linear(64, 256), nn::ReLU(), nn::Linear(256, 10)));
  return make_model(
      nn::Sequential(nn::Linear(784, 2048), nn::ReLU(), nn::Linear(2048, 2048), nn::ReLU(), nn::Linear(2048, 10)));
}

mesh_options mesh_for(const workload& what, std::int64_t peers, std::uint64_t steps) {
  mesh_options options;
  options.peers = peers;
  options.batch = what.batch;
  // The data is used again and again, so that a long run needs little memory.
  const auto epoch_steps = std::min<std::uint64_t>(steps, 50);
  options.data = random_data(what, what.batch * peers * static_cast<std::int64_t>(epoch_steps));
  options.epochs = steps / epoch_steps;
  options.make_trainer = make_trainer_factory(trainer_for(what, options.data));
  options.snapshot_every = 0;
  return options;
}

std::vector<double> step_ends(mesh_options options, const std::string& run_dir) {
  node_options node_settings;
  node_settings.storage.directory = run_dir;
  node where(node_settings);
  mesh_job job(where, std::move(options));
  std::mutex mutex;
  std::vector<double> ends;
  const auto begin = std::chrono::steady_clock::now();
  job.on_step([&](const mesh_progress&) {
    std::lock_guard lock(mutex);
    ends.push_back(seconds_since(begin));
  });
  job.start();
  static_cast<void>(job.wait(std::chrono::minutes(10)));
  return ends;
}

std::vector<double> plain_loop(const workload& what, std::uint64_t steps) {
  at::set_num_threads(1);
  const auto options = mesh_for(what, 1, steps);
  auto net = make_workload_model(what.name);
  torch::optim::SGD optimizer(net.module->parameters(), torch::optim::SGDOptions(0.01));
  std::vector<double> ends;
  const auto begin = std::chrono::steady_clock::now();
  const auto per_epoch = options.data->size() / what.batch;
  const auto order = torch::randperm(options.data->size());
  for (std::uint64_t step = 0; step < steps; ++step) {
    const auto at = static_cast<std::int64_t>(step) % per_epoch * what.batch;
    const auto indices = order.slice(0, at, at + what.batch).contiguous();
    const auto batch = options.data->get({indices.data_ptr<std::int64_t>(), static_cast<std::size_t>(what.batch)});
    optimizer.zero_grad();
    planaria::cross_entropy_loss(net.forward(batch.data), batch.target).backward();
    optimizer.step();
    ends.push_back(seconds_since(begin));
  }
  return ends;
}

void run_floor(const std::string& name, std::int64_t peers) {
  const auto what = workload_named(name);
  std::vector<std::vector<double>> ends(static_cast<std::size_t>(peers));
  std::vector<std::thread> loops;
  for (auto& mine : ends) loops.emplace_back([&] { mine = plain_loop(what, what.steps); });
  for (auto& loop : loops) loop.join();
  std::vector<double> steps;
  for (const auto& mine : ends)
    for (std::size_t i = mine.size() / 4; i < mine.size(); ++i) steps.push_back(mine[i] - mine[i - 1]);
  report({{"what", "floor " + name}, {"world", peers}, {"seconds", median(steps)}});
}

void run_mesh(const std::string& name, std::int64_t peers) {
  const auto what = workload_named(name);
  const auto ends = step_ends(mesh_for(what, peers, what.steps + what.steps / 4), {});
  std::vector<double> steps;
  for (std::size_t i = what.steps / 4; i < ends.size(); ++i) steps.push_back(ends[i] - ends[i - 1]);
  const auto step = median(steps);
  report({{"what", name},
          {"world", peers},
          {"batch", what.batch},
          {"seconds", step},
          {"samples_per_second", static_cast<double>(peers * what.batch) / step}});
}

}  // namespace planaria::bench
