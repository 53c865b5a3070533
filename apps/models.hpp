#pragma once

#include <planaria/actors/module_trainer.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace planaria::apps {

/// The models that a configuration file can name.
struct model_options {
  std::string name = "cnn";               ///< "cnn" (images [n, 1, r, c]) or "mlp" (anything, flattened)
  std::vector<std::int64_t> hidden{128};  ///< widths of the hidden linear layers
  std::vector<std::int64_t> channels{16,
                                     32};  ///< cnn: channels of each 3×3 convolution, each halved in size by pooling
  bool batch_norm = false;                 ///< cnn: BatchNorm after each convolution
  double dropout = 0.0;                    ///< before the last layer, on the step's own generator
};

/// Returns a function that makes the model for inputs and classes as the dataset has them.
/// Errors: errc::invalid_input for an unknown name, an empty layer or images too small for the pooling.
[[nodiscard]] std::function<model(const model_context&)> make_model_function(const model_options& options,
                                                                             const dataset& data);

}  // namespace planaria::apps
