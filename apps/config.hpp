#pragma once

#include "models.hpp"

#include <planaria/actors/mesh_job.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace planaria::apps {

/// Where the samples are.
struct data_options {
  std::string format = "idx";                                        ///< "idx" or "csv"
  std::string train_images, train_labels, test_images, test_labels;  ///< idx
  std::string train, test, label;                                    ///< csv files and the label's column
  double mean = 0.0;                                                 ///< idx: subtracted from pixels in [0, 1]
  double deviation = 1.0;                                            ///< idx: then divided by
};

/// A configuration file of `planaria train`, read and checked.
struct train_config {
  std::filesystem::path run_dir = "run";
  data_options data;
  model_options model;
  std::string optimizer = "sgd";
  double learning_rate = 0.05, momentum = 0.9, weight_decay = 0.0;
  std::string schedule_name = "constant";
  std::int64_t warmup_steps = 0, schedule_step_size = 1;
  double schedule_gamma = 0.1, schedule_floor = 0.0;
  std::vector<std::string> kills;
  std::int64_t random_kills = 0, fault_seed = 1;
  bool compare_fault_free = false;  ///< train again without faults and compare the hashes
  mesh_options mesh;                ///< all but the trainer and the data
};

/// Reads a TOML file and the `key=value` settings that override it.
/// Errors: errc::not_found, and errc::invalid_input with file, line, key and, for an unknown key, the nearest known
/// one.
[[nodiscard]] train_config read_config(const std::filesystem::path& file, const std::vector<std::string>& settings);

/// Opens the data and fills in the mesh's trainer, datasets, schedule and faults. Errors: errc::not_found,
/// errc::invalid_input.
[[nodiscard]] mesh_options make_mesh_options(const train_config& config);

}  // namespace planaria::apps
