#include <planaria/actors/dataset.hpp>
#include <planaria/storage/error.hpp>
#include <planaria/storage/formats/csv.hpp>
#include <planaria/storage/formats/idx.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace planaria {
namespace {

// As index_select along dimension 0, without its set-up, which for small rows costs more than the copy.
torch::Tensor rows_of(const torch::Tensor& all, std::span<const std::int64_t> indices) {
  auto shape = all.sizes().vec();
  const auto count = std::exchange(shape[0], static_cast<std::int64_t>(indices.size()));
  auto found = torch::empty(shape, all.options());
  const auto row = all.nbytes() / static_cast<std::size_t>(count);
  const auto* from = static_cast<const std::byte*>(all.data_ptr());
  auto* to = static_cast<std::byte*>(found.data_ptr());
  for (const auto index : indices) {
    if (index < 0 || index >= count)
      throw error(errc::invalid_input,
                  "sample " + std::to_string(index) + " of a dataset that has " + std::to_string(count));
    if (row > 0) std::memcpy(to, from + static_cast<std::size_t>(index) * row, row);
    to += row;
  }
  return found;
}

class in_memory final : public dataset {
 public:
  in_memory(torch::Tensor data, torch::Tensor target) : data_(std::move(data)), target_(std::move(target)) {}

  [[nodiscard]] std::int64_t size() const override { return data_.size(0); }
  [[nodiscard]] example_batch get(std::span<const std::int64_t> indices) const override {
    return {rows_of(data_, indices), rows_of(target_, indices)};
  }

 private:
  torch::Tensor data_;
  torch::Tensor target_;
};

std::string count_text(std::int64_t count) { return std::to_string(count); }

torch::Tensor labels_to_tensor(const std::vector<float>& values, std::size_t columns, std::size_t column) {
  std::vector<float> labels;
  for (std::size_t i = column; i < values.size(); i += columns) labels.push_back(values[i]);
  const auto real = torch::tensor(labels);
  const bool whole = std::all_of(labels.begin(), labels.end(), [](float v) { return v == std::floor(v); });
  return whole ? real.to(torch::kInt64) : real.unsqueeze(1);
}

}  // namespace

dataset_ptr tensor_dataset(torch::Tensor data, torch::Tensor target) {
  if (!data.defined() || !target.defined() || data.dim() == 0 || target.dim() == 0)
    throw error(errc::invalid_input, "a dataset needs data and target tensors with a first dimension of samples");
  if (data.size(0) != target.size(0))
    throw error(errc::invalid_input, "data has " + count_text(data.size(0)) + " samples but target has " +
                                         count_text(target.size(0)) + "; they must be equal");
  if (data.size(0) == 0) throw error(errc::invalid_input, "a dataset needs at least one sample");
  return std::make_shared<in_memory>(data.detach().contiguous(), target.detach().contiguous());
}

dataset_ptr idx_dataset(const std::filesystem::path& images, const std::filesystem::path& labels,
                        const idx_options& options) {
  const auto pixels = read_idx(images);
  const auto classes = read_idx(labels);
  if (pixels.type != idx_type::uint8 || pixels.dims.size() != 3)
    throw error(errc::invalid_input,
                images.string() + ": expected unsigned bytes in 3 dimensions (images, rows, columns)");
  if (classes.type != idx_type::uint8 || classes.dims.size() != 1)
    throw error(errc::invalid_input, labels.string() + ": expected unsigned bytes in 1 dimension (labels)");
  if (pixels.dims[0] != classes.dims[0])
    throw error(errc::invalid_input, images.string() + " has " + count_text(static_cast<std::int64_t>(pixels.dims[0])) +
                                         " images but " + labels.string() + " has " +
                                         count_text(static_cast<std::int64_t>(classes.dims[0])) + " labels");
  const auto shape =
      std::vector<std::int64_t>{static_cast<std::int64_t>(pixels.dims[0]), 1, static_cast<std::int64_t>(pixels.dims[1]),
                                static_cast<std::int64_t>(pixels.dims[2])};
  auto raw = torch::empty(shape, torch::kUInt8);
  std::memcpy(raw.data_ptr(), pixels.bytes.data(), pixels.bytes.size());
  auto data = raw.to(torch::kFloat32).div_(255.0).sub_(options.mean).div_(options.deviation);
  auto target = torch::empty({shape[0]}, torch::kUInt8);
  std::memcpy(target.data_ptr(), classes.bytes.data(), classes.bytes.size());
  return tensor_dataset(data, target.to(torch::kInt64));
}

dataset_ptr csv_dataset(const std::filesystem::path& file, const std::string& label_column) {
  const auto table = read_csv(file);
  const auto found = std::find(table.names.begin(), table.names.end(), label_column);
  if (found == table.names.end())
    throw error(errc::invalid_input, file.string() + ": no column is named \"" + label_column + "\"");
  const auto label = static_cast<std::size_t>(found - table.names.begin());
  const auto columns = table.names.size();
  const auto rows = static_cast<std::int64_t>(table.values.size() / columns);
  const auto all = torch::tensor(table.values).view({rows, static_cast<std::int64_t>(columns)});
  std::vector<std::int64_t> kept;
  for (std::size_t c = 0; c < columns; ++c)
    if (c != label) kept.push_back(static_cast<std::int64_t>(c));
  return tensor_dataset(all.index_select(1, torch::tensor(kept)), labels_to_tensor(table.values, columns, label));
}

}  // namespace planaria
