#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace planaria {

/// Samples stacked along a first dimension: data [n, …], target [n, …].
struct example_batch {
  torch::Tensor data;
  torch::Tensor target;
};

/// A map-style dataset: any sample by its index, the same each time. Shared by all peers of a process.
///
/// Thread  get() may be called from any number of compute slots at once.
class dataset {
 public:
  virtual ~dataset() = default;
  /// The number of samples.
  [[nodiscard]] virtual std::int64_t size() const = 0;
  /// Returns the samples in the order asked for; every index is in [0, size()).
  [[nodiscard]] virtual example_batch get(std::span<const std::int64_t> indices) const = 0;
};

using dataset_ptr = std::shared_ptr<const dataset>;

/// Samples held in memory: data [n, …] of any dtype, target [n, …]; shared, not copied, and not to be changed any more.
/// Errors: errc::invalid_input when the first dimensions differ or there is no sample.
[[nodiscard]] dataset_ptr tensor_dataset(torch::Tensor data, torch::Tensor target);

/// How pixels are scaled: (pixel / 255 − mean) / deviation.
struct idx_options {
  double mean = 0.0;
  double deviation = 1.0;
};

/// Images and labels in IDX files (gzip or plain), as MNIST and Fashion-MNIST have them.
///
/// data [n, 1, rows, columns] f32, (pixel / 255 − mean) / deviation; target [n] int64.
/// Errors: errc::not_found, errc::invalid_input name the file and what is wrong with it, or both counts when they
/// differ.
[[nodiscard]] dataset_ptr idx_dataset(const std::filesystem::path& images, const std::filesystem::path& labels,
                                      const idx_options& options = {});

/// Rows of a numeric CSV file: every column but `label_column` is data.
///
/// data [n, columns − 1] f32; target [n] int64 when every label is whole, else [n, 1] f32.
/// Errors: errc::not_found, errc::invalid_input with file, line and column.
[[nodiscard]] dataset_ptr csv_dataset(const std::filesystem::path& file, const std::string& label_column);

/// Any map-style LibTorch dataset whose examples are a tensor and a target tensor. get_batch() must be safe to call
/// from several threads, as LibTorch's own datasets are.
template <class Dataset>
class map_style_dataset final : public dataset {
 public:
  explicit map_style_dataset(Dataset wrapped) : wrapped_(std::move(wrapped)) {}

  [[nodiscard]] std::int64_t size() const override { return static_cast<std::int64_t>(wrapped_.size().value()); }
  [[nodiscard]] example_batch get(std::span<const std::int64_t> indices) const override {
    std::vector<std::size_t> wanted(indices.begin(), indices.end());
    std::vector<torch::Tensor> data;
    std::vector<torch::Tensor> target;
    for (auto& example : wrapped_.get_batch(wanted)) {
      data.push_back(std::move(example.data));
      target.push_back(std::move(example.target));
    }
    return {torch::stack(data), torch::stack(target)};
  }

 private:
  mutable Dataset wrapped_;  // get_batch() is not const in LibTorch
};

/// Wraps a map-style LibTorch dataset; see map_style_dataset.
template <class Dataset>
[[nodiscard]] dataset_ptr map_style(Dataset wrapped) {
  return std::make_shared<map_style_dataset<Dataset>>(std::move(wrapped));
}

}  // namespace planaria
