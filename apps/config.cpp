#include "config.hpp"

#include "config_keys.hpp"

#include <planaria/actors/sampler.hpp>
#include <planaria/storage/error.hpp>

#include <algorithm>

namespace planaria::apps {
namespace {

// Every key there is: a name, where its value goes, and what it must be.
key_table keys_of(train_config& c) {
  key_table keys;
  keys.path("run_dir", c.run_dir);
  keys.unsigned_integer("seed", c.mesh.seed);
  keys.text("data.format", c.data.format, {"idx", "csv"});
  for (auto [name, where] : {std::pair{"data.train_images", &c.data.train_images},
                             {"data.train_labels", &c.data.train_labels},
                             {"data.test_images", &c.data.test_images},
                             {"data.test_labels", &c.data.test_labels},
                             {"data.train", &c.data.train},
                             {"data.test", &c.data.test},
                             {"data.label", &c.data.label}})
    keys.text(name, *where);
  keys.number("data.mean", c.data.mean);
  keys.number("data.deviation", c.data.deviation);
  keys.text("model.name", c.model.name, {"cnn", "mlp"});
  keys.integers("model.hidden", c.model.hidden);
  keys.integers("model.channels", c.model.channels);
  keys.boolean("model.batch_norm", c.model.batch_norm);
  keys.number("model.dropout", c.model.dropout, 0.0);
  keys.integer("training.peers", c.mesh.peers, 1);
  keys.integer("training.batch", c.mesh.batch, 1);
  keys.unsigned_integer("training.epochs", c.mesh.epochs);
  keys.boolean("training.shuffle", c.mesh.shuffle);
  keys.small_integer("training.threads", c.mesh.threads);
  keys.text("optimizer.name", c.optimizer, {"sgd", "adam", "adamw"});
  keys.number("optimizer.learning_rate", c.learning_rate, 0.0);
  keys.number("optimizer.momentum", c.momentum, 0.0);
  keys.number("optimizer.weight_decay", c.weight_decay, 0.0);
  keys.text("schedule.name", c.schedule_name, {"constant", "step", "cosine"});
  keys.integer("schedule.warmup_steps", c.warmup_steps, 0);
  keys.integer("schedule.step_size", c.schedule_step_size, 1);
  keys.number("schedule.gamma", c.schedule_gamma, 0.0);
  keys.number("schedule.floor", c.schedule_floor, 0.0);
  keys.unsigned_integer("snapshot.every", c.mesh.snapshot_every);
  keys.unsigned_integer("snapshot.keep_last", c.mesh.retention.keep_last);
  keys.boolean("snapshot.keep_best", c.mesh.retention.keep_best);
  keys.milliseconds("supervision.progress_deadline_ms", c.mesh.progress_deadline);
  keys.milliseconds("supervision.step_deadline_ms", c.mesh.step_deadline);
  keys.unsigned_integer("supervision.intensity", c.mesh.intensity);
  keys.unsigned_integer("supervision.step_attempts", c.mesh.step_attempts);
  keys.milliseconds("supervision.period_ms", c.mesh.period);
  keys.texts("faults.kill", c.kills);
  keys.integer("faults.random_kills", c.random_kills, 0);
  keys.integer("faults.seed", c.fault_seed, 0);
  keys.boolean("faults.compare_fault_free", c.compare_fault_free);
  return keys;
}

optimizer_options optimizer_of(const train_config& c) {
  auto options = make_optimizer_options(c.optimizer, c.learning_rate);
  if (auto* sgd = std::get_if<torch::optim::SGDOptions>(&options))
    sgd->momentum(c.momentum).weight_decay(c.weight_decay);
  if (auto* adam = std::get_if<torch::optim::AdamOptions>(&options)) adam->weight_decay(c.weight_decay);
  if (auto* adamw = std::get_if<torch::optim::AdamWOptions>(&options)) adamw->weight_decay(c.weight_decay);
  return options;
}

std::string required(const std::string& value, const char* key) {
  if (value.empty()) throw error(errc::invalid_input, std::string(key) + " is missing");
  return value;
}

dataset_ptr open_data(const data_options& d, bool test) {
  if (d.format == "csv") {
    if (test && d.test.empty()) return nullptr;
    return csv_dataset(test ? d.test : required(d.train, "data.train"), required(d.label, "data.label"));
  }
  if (d.deviation <= 0.0) throw error(errc::invalid_input, "data.deviation must be above 0");
  if (test && d.test_images.empty() && d.test_labels.empty()) return nullptr;
  const idx_options options{.mean = d.mean, .deviation = d.deviation};
  return test ? idx_dataset(required(d.test_images, "data.test_images"), required(d.test_labels, "data.test_labels"),
                            options)
              : idx_dataset(required(d.train_images, "data.train_images"),
                            required(d.train_labels, "data.train_labels"), options);
}

schedule schedule_of(const train_config& c, std::uint64_t total_steps) {
  schedule made;
  made.how = c.schedule_name == "cosine" ? schedule::kind::cosine
             : c.schedule_name == "step" ? schedule::kind::step
                                         : schedule::kind::constant;
  made.warmup_steps = static_cast<std::uint64_t>(c.warmup_steps);
  made.step_size = static_cast<std::uint64_t>(c.schedule_step_size);
  made.gamma = c.schedule_gamma;
  made.total_steps = total_steps;
  made.floor = c.schedule_floor;
  return made;
}

}  // namespace

train_config read_config(const std::filesystem::path& file, const std::vector<std::string>& settings) {
  train_config config;
  keys_of(config).read(file, settings);
  return config;
}

mesh_options make_mesh_options(const train_config& config) {
  auto mesh = config.mesh;
  mesh.data = open_data(config.data, false);
  mesh.test = open_data(config.data, true);
  const sampler plan({.seed = mesh.seed, .samples = mesh.data->size(), .batch = mesh.batch, .ranks = mesh.peers});
  const auto steps = plan.steps_per_epoch() * mesh.epochs;
  module_trainer_options trainer;
  trainer.make = make_model_function(config.model, *mesh.data);
  trainer.data = mesh.data;
  trainer.optimizer = optimizer_of(config);
  trainer.schedule = schedule_of(config, steps);
  trainer.seed = mesh.seed;
  mesh.make_trainer = make_trainer_factory(std::move(trainer));
  mesh.kills = mesh::random_kills(static_cast<std::size_t>(config.random_kills),
                                  static_cast<std::uint64_t>(config.fault_seed), steps, mesh.peers);
  for (const auto& kill : config.kills) mesh.kills.push_back(mesh::parse_kill(kill, mesh.peers));
  return mesh;
}

}  // namespace planaria::apps
