// An application that links all of Planaria and uses its tensors: a round trip through the codec.
#include <planaria/storage/tensor_codec.hpp>

#include <torch/types.h>

#include <cstdlib>
#include <string>
#include <vector>

int main() {
  const planaria::tensor_map before{{"weight", torch::ones({2, 3})}};
  const auto encoded = planaria::encoded_tensors::copy(before);
  std::vector<planaria::loaded_part> stored;
  for (const auto& part : encoded.parts("model/")) {
    stored.push_back({part.name, std::string(reinterpret_cast<const char*>(part.bytes.data()), part.bytes.size())});
  }
  const auto after = planaria::decode_tensors(stored, "model/");
  return planaria::content_hash(before) == planaria::content_hash(after) ? EXIT_SUCCESS : EXIT_FAILURE;
}
