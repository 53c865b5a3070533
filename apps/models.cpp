#include "models.hpp"

#include <planaria/storage/error.hpp>

namespace planaria::apps {
namespace {

void check(const model_options& o) {
  if (o.name != "cnn" && o.name != "mlp")
    throw error(errc::invalid_input, "model.name \"" + o.name + "\" is not known; use cnn or mlp");
  for (const auto width : o.hidden)
    if (width < 1)
      throw error(errc::invalid_input, "model.hidden has a width of " + std::to_string(width) + "; at least 1");
  for (const auto channels : o.channels)
    if (channels < 1)
      throw error(errc::invalid_input, "model.channels has " + std::to_string(channels) + "; at least 1");
  if (o.dropout < 0.0 || o.dropout >= 1.0) throw error(errc::invalid_input, "model.dropout must be in [0, 1)");
}

std::int64_t classes_of(const dataset& data) {
  std::int64_t highest = 0;
  constexpr std::int64_t at_once = 10'000;
  std::vector<std::int64_t> indices;
  for (std::int64_t begin = 0; begin < data.size(); begin += at_once) {
    indices.clear();
    for (auto i = begin; i < std::min(data.size(), begin + at_once); ++i) indices.push_back(i);
    const auto target = data.get(indices).target;
    if (target.scalar_type() != torch::kInt64 || target.dim() != 1)
      throw error(errc::invalid_input, "the labels must be whole numbers (classes)");
    if (target.min().item<std::int64_t>() < 0) throw error(errc::invalid_input, "the labels must not be negative");
    highest = std::max(highest, target.max().item<std::int64_t>());
  }
  return highest + 1;
}

// Adds the linear layers; returns nothing else: the sequence ends in class scores.
void add_head(torch::nn::Sequential& net, const model_options& o, std::int64_t inputs, std::int64_t classes,
              const torch::Generator& generator) {
  for (const auto width : o.hidden) {
    net->push_back(torch::nn::Linear(inputs, width));
    net->push_back(torch::nn::ReLU());
    inputs = width;
  }
  if (o.dropout > 0.0) net->push_back(step_dropout(o.dropout, generator));
  net->push_back(torch::nn::Linear(inputs, classes));
}

}  // namespace

std::function<model(const model_context&)> make_model_function(const model_options& options, const dataset& data) {
  check(options);
  const std::int64_t first[] = {0};
  const auto shape = data.get(first).data.sizes().vec();
  const auto classes = classes_of(data);
  if (options.name == "mlp") {
    std::int64_t inputs = 1;
    for (std::size_t d = 1; d < shape.size(); ++d) inputs *= shape[d];
    return [options, inputs, classes](const model_context& context) {
      torch::nn::Sequential net{torch::nn::Flatten()};
      add_head(net, options, inputs, classes, context.generator);
      return make_model(net);
    };
  }
  if (shape.size() != 4)
    throw error(errc::invalid_input, "model cnn needs images [n, channels, rows, columns]; this data has " +
                                         std::to_string(shape.size()) + " dimensions");
  const auto shrink = std::int64_t{1} << options.channels.size();
  if (shape[2] < shrink || shape[3] < shrink)
    throw error(errc::invalid_input, "model.channels has more layers than the images can be halved");
  return [options, shape, classes, shrink](const model_context& context) {
    torch::nn::Sequential net;
    auto inputs = shape[1];
    for (const auto channels : options.channels) {
      net->push_back(torch::nn::Conv2d(torch::nn::Conv2dOptions(inputs, channels, 3).padding(1)));
      if (options.batch_norm) net->push_back(torch::nn::BatchNorm2d(channels));
      net->push_back(torch::nn::ReLU());
      net->push_back(torch::nn::MaxPool2d(2));
      inputs = channels;
    }
    net->push_back(torch::nn::Flatten());
    // Each pooling rounds down.
    auto rows = shape[2];
    auto columns = shape[3];
    for (auto s = shrink; s > 1; s /= 2) {
      rows /= 2;
      columns /= 2;
    }
    add_head(net, options, inputs * rows * columns, classes, context.generator);
    return make_model(net);
  };
}

}  // namespace planaria::apps
