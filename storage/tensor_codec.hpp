#pragma once

#include <planaria/storage/hash.hpp>
#include <planaria/storage/snapshot.hpp>

#include <torch/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace planaria {

/// A tensor under the name it is stored and restored by.
struct named_tensor {
  std::string name;
  torch::Tensor tensor;
};

/// An ordered list of named tensors; names are unique. The order is part of what is stored.
using tensor_map = std::vector<named_tensor>;

/// Tensors as bytes that no longer depend on the live ones: what a snapshot writes behind the training.
///
/// Every dtype LibTorch has on the CPU, 0-dim, empty and non-contiguous tensors and views: only the viewed part is
/// kept. Tensors that share storage, offset, shape and strides (tied) are kept once. Undefined tensors are refused.
class encoded_tensors {
 public:
  /// Copies the tensors (the only copy). Errors: errc::invalid_input names an undefined, duplicate, sparse, quantized
  /// or non-CPU tensor.
  [[nodiscard]] static encoded_tensors copy(const tensor_map& tensors);

  /// The parts of a snapshot, each name with `prefix` before it: one index and one part a distinct tensor.
  /// The spans are valid while this object lives.
  [[nodiscard]] std::vector<part> parts(const std::string& prefix) const;
  [[nodiscard]] std::uint64_t bytes() const noexcept;

 private:
  std::string index_;
  std::vector<torch::Tensor> payloads_;
};

/// Rebuilds the tensors that parts(prefix) described; tied ones come back tied.
/// Errors: errc::corrupt names the part that is missing, has the wrong length or cannot be parsed.
[[nodiscard]] tensor_map decode_tensors(const std::vector<loaded_part>& parts, const std::string& prefix);

/// Copies `saved` into the tensors of `live` in place, after checking everything.
/// Errors: errc::schema_mismatch names the first tensor that is missing, unexpected, or of another shape or dtype, or
/// whose ties differ; then nothing was written. Never reshapes, never converts.
void restore_into(const tensor_map& live, const tensor_map& saved);

/// Returns the first difference in names, shapes and dtypes as a sentence, or an empty string.
[[nodiscard]] std::string schema_difference(const tensor_map& expected, const tensor_map& found);

/// Returns the sizes as messages show them, such as "[16, 8]".
[[nodiscard]] std::string sizes_text(torch::IntArrayRef sizes);

/// Hashes names, dtypes and shapes in order.
[[nodiscard]] std::uint64_t schema_hash(const tensor_map& tensors);

/// Hashes names, dtypes, shapes and the bytes of the elements in row-major order: the state hash of promise P1.
[[nodiscard]] digest content_hash(const tensor_map& tensors);

}  // namespace planaria
