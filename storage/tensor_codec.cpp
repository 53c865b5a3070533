#include <planaria/storage/detail/names.hpp>
#include <planaria/storage/error.hpp>
#include <planaria/storage/tensor_codec.hpp>

#include <planaria/v1/tensors.pb.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace planaria {
namespace {

constexpr std::pair<torch::ScalarType, v1::Dtype> dtypes[] = {
    {torch::kUInt8, v1::DTYPE_UINT8},
    {torch::kInt8, v1::DTYPE_INT8},
    {torch::kInt16, v1::DTYPE_INT16},
    {torch::kInt32, v1::DTYPE_INT32},
    {torch::kInt64, v1::DTYPE_INT64},
    {torch::kFloat16, v1::DTYPE_FLOAT16},
    {torch::kBFloat16, v1::DTYPE_BFLOAT16},
    {torch::kFloat32, v1::DTYPE_FLOAT32},
    {torch::kFloat64, v1::DTYPE_FLOAT64},
    {torch::kBool, v1::DTYPE_BOOL},
    {torch::ScalarType::ComplexHalf, v1::DTYPE_COMPLEX32},
    {torch::ScalarType::ComplexFloat, v1::DTYPE_COMPLEX64},
    {torch::ScalarType::ComplexDouble, v1::DTYPE_COMPLEX128},
};

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw error(errc::invalid_input, "tensor \"" + name + "\" " + why);
}

v1::Dtype stored_dtype(const named_tensor& t) {
  for (const auto& [ours, stored] : dtypes)
    if (ours == t.tensor.scalar_type()) return stored;
  refuse(t.name, std::string("has the dtype ") + torch::toString(t.tensor.scalar_type()) + ", which cannot be stored");
}

torch::ScalarType live_dtype(v1::Dtype stored, const std::string& name) {
  for (const auto& [ours, known] : dtypes)
    if (known == stored) return ours;
  throw error(errc::corrupt, "tensor \"" + name + "\" is stored with the unknown dtype " + std::to_string(stored));
}

void check_storable(const tensor_map& tensors) {
  std::set<std::string_view> names;
  for (const auto& t : tensors) {
    detail::check_name(t.name, "a tensor");
    if (!names.insert(t.name).second) refuse(t.name, "needs a name of its own");
    if (!t.tensor.defined()) refuse(t.name, "is undefined");
    if (t.tensor.layout() != torch::kStrided) refuse(t.name, "is sparse");
    if (t.tensor.is_quantized()) refuse(t.name, "is quantized");
    if (!t.tensor.device().is_cpu()) refuse(t.name, "is on " + t.tensor.device().str() + ", not on the CPU");
  }
}

// What two names of the same elements have in common; only tensors with elements can be tied.
using identity = std::tuple<const void*, std::vector<std::int64_t>, std::vector<std::int64_t>, torch::ScalarType>;

identity identity_of(const torch::Tensor& t) {
  return {t.data_ptr(), t.sizes().vec(), t.strides().vec(), t.scalar_type()};
}

// For each tensor the position of the first one that it is tied to, or its own.
std::vector<std::size_t> ties_of(const tensor_map& tensors) {
  std::map<identity, std::size_t> first;
  std::vector<std::size_t> ties;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    ties.push_back(tensors[i].tensor.numel() == 0 ? i : first.emplace(identity_of(tensors[i].tensor), i).first->second);
  return ties;
}

torch::Tensor plain_copy(const torch::Tensor& t) {
  torch::NoGradGuard no_grad;
  auto out = torch::empty(t.sizes(), t.options().requires_grad(false).memory_format(torch::MemoryFormat::Contiguous));
  if (t.numel() == 0) return out;
  // Bytes where the layout allows it: some dtypes have no copy kernel of their own.
  if (t.is_contiguous() && !t.is_conj() && !t.is_neg())
    std::memcpy(out.data_ptr(), t.data_ptr(), t.nbytes());
  else
    out.copy_(t);
  return out;
}

std::span<const std::byte> bytes_of(const torch::Tensor& t) {
  return {static_cast<const std::byte*>(t.data_ptr()), static_cast<std::size_t>(t.numel()) * t.element_size()};
}

std::string payload_name(const std::string& prefix, std::size_t number) {
  const auto digits = std::to_string(number);
  return prefix + "tensor/" + std::string(digits.size() < 6 ? 6 - digits.size() : 0, '0') + digits;
}

std::string shape_text(const torch::Tensor& t) { return torch::toString(t.scalar_type()) + sizes_text(t.sizes()); }

const loaded_part& part_named(const std::vector<loaded_part>& parts, const std::string& name) {
  const auto found = std::find_if(parts.begin(), parts.end(), [&](const loaded_part& p) { return p.name == name; });
  if (found == parts.end()) throw error(errc::corrupt, "the part \"" + name + "\" is missing");
  return *found;
}

torch::Tensor decode_one(const v1::TensorEntry& entry, const loaded_part& payload) {
  const auto dtype = live_dtype(entry.dtype(), entry.name());
  std::uint64_t bytes = c10::elementSize(dtype);
  for (const auto size : entry.sizes()) {
    if (size < 0 || (size > 0 && bytes > std::numeric_limits<std::uint64_t>::max() / static_cast<std::uint64_t>(size)))
      throw error(errc::corrupt, "tensor \"" + entry.name() + "\" is stored with an impossible shape");
    bytes *= static_cast<std::uint64_t>(size);
  }
  if (bytes != payload.bytes.size())
    throw error(errc::corrupt, "the part \"" + payload.name + "\" has " + std::to_string(payload.bytes.size()) +
                                   " bytes; tensor \"" + entry.name() + "\" needs " + std::to_string(bytes));
  auto out = torch::empty(std::vector<std::int64_t>(entry.sizes().begin(), entry.sizes().end()), dtype);
  if (bytes != 0) std::memcpy(out.data_ptr(), payload.bytes.data(), bytes);
  return out;
}

void hash_schema(hasher& into, const named_tensor& t) {
  const auto dtype = static_cast<std::uint32_t>(stored_dtype(t));
  const auto length = static_cast<std::uint64_t>(t.name.size());
  const auto rank = static_cast<std::uint64_t>(t.tensor.dim());
  into.update(std::as_bytes(std::span(&length, 1))).update(t.name);
  into.update(std::as_bytes(std::span(&dtype, 1))).update(std::as_bytes(std::span(&rank, 1)));
  into.update(std::as_bytes(std::span(t.tensor.sizes().data(), t.tensor.sizes().size())));
}

}  // namespace

encoded_tensors encoded_tensors::copy(const tensor_map& tensors) {
  check_storable(tensors);
  const auto ties = ties_of(tensors);
  encoded_tensors encoded;
  v1::TensorIndex index;
  std::vector<std::uint32_t> payload_of;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (ties[i] == i) {
      payload_of.push_back(static_cast<std::uint32_t>(encoded.payloads_.size()));
      encoded.payloads_.push_back(plain_copy(tensors[i].tensor));
    } else {
      payload_of.push_back(payload_of[ties[i]]);
    }
    auto* entry = index.add_tensors();
    entry->set_name(tensors[i].name);
    entry->set_dtype(stored_dtype(tensors[i]));
    for (const auto size : tensors[i].tensor.sizes()) entry->add_sizes(size);
    entry->set_payload(payload_of.back());
  }
  index.set_payloads(static_cast<std::uint32_t>(encoded.payloads_.size()));
  if (!index.SerializeToString(&encoded.index_)) throw error(errc::invalid_input, "too many tensors for one index");
  return encoded;
}

std::vector<part> encoded_tensors::parts(const std::string& prefix) const {
  std::vector<part> all{{prefix + "index", std::as_bytes(std::span(index_))}};
  for (std::size_t i = 0; i < payloads_.size(); ++i) all.push_back({payload_name(prefix, i), bytes_of(payloads_[i])});
  return all;
}

std::uint64_t encoded_tensors::bytes() const noexcept {
  std::uint64_t total = index_.size();
  for (const auto& p : payloads_) total += p.nbytes();
  return total;
}

tensor_map decode_tensors(const std::vector<loaded_part>& parts, const std::string& prefix) {
  const auto& bytes = part_named(parts, prefix + "index").bytes;
  v1::TensorIndex index;
  if (!index.ParseFromString(bytes)) throw error(errc::corrupt, "the part \"" + prefix + "index\" cannot be read");
  std::map<std::uint32_t, std::pair<torch::Tensor, const v1::TensorEntry*>> decoded;
  tensor_map all;
  for (const auto& entry : index.tensors()) {
    const auto known = decoded.find(entry.payload());
    if (known == decoded.end()) {
      auto made = decode_one(entry, part_named(parts, payload_name(prefix, entry.payload())));
      decoded.emplace(entry.payload(), std::pair(made, &entry));
      all.push_back({entry.name(), std::move(made)});
      continue;
    }
    const auto& first = *known->second.second;
    if (first.dtype() != entry.dtype() ||
        !std::equal(first.sizes().begin(), first.sizes().end(), entry.sizes().begin(), entry.sizes().end()))
      throw error(errc::corrupt, "tensors \"" + first.name() + "\" and \"" + entry.name() +
                                     "\" share a payload but differ in shape or dtype");
    all.push_back({entry.name(), known->second.first});
  }
  if (decoded.size() != index.payloads()) throw error(errc::corrupt, "the part \"" + prefix + "index\" is not whole");
  return all;
}

std::string schema_difference(const tensor_map& expected, const tensor_map& found) {
  const auto both = std::min(expected.size(), found.size());
  for (std::size_t i = 0; i < both; ++i) {
    const auto& e = expected[i];
    const auto& f = found[i];
    if (e.name != f.name) return "expected the tensor \"" + e.name + "\", found \"" + f.name + "\"";
    if (e.tensor.scalar_type() != f.tensor.scalar_type() || e.tensor.sizes() != f.tensor.sizes())
      return "the tensor \"" + e.name + "\" should be " + shape_text(e.tensor) + ", found " + shape_text(f.tensor);
  }
  if (expected.size() > both) return "the tensor \"" + expected[both].name + "\" is missing";
  if (found.size() > both) return "the tensor \"" + found[both].name + "\" is not expected";
  return {};
}

void restore_into(const tensor_map& live, const tensor_map& saved) {
  auto difference = schema_difference(live, saved);
  const auto live_ties = ties_of(live);
  if (difference.empty()) {
    const auto saved_ties = ties_of(saved);
    for (std::size_t i = 0; i < live.size() && difference.empty(); ++i)
      if (live_ties[i] != saved_ties[i])
        difference = "the tensor \"" + live[i].name + "\" is tied to another one than when it was saved";
  }
  if (!difference.empty()) throw error(errc::schema_mismatch, difference);
  torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (live_ties[i] != i || live[i].tensor.numel() == 0) continue;
    auto to = live[i].tensor;
    if (to.is_contiguous() && saved[i].tensor.is_contiguous() && !to.is_conj() && !to.is_neg())
      std::memcpy(to.data_ptr(), saved[i].tensor.data_ptr(), to.nbytes());
    else
      to.copy_(saved[i].tensor);
  }
}

std::string sizes_text(torch::IntArrayRef sizes) {
  std::string text = "[";
  for (const auto size : sizes) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

std::uint64_t schema_hash(const tensor_map& tensors) {
  hasher all;
  for (const auto& t : tensors) hash_schema(all, t);
  return all.finish().low;
}

digest content_hash(const tensor_map& tensors) {
  hasher all;
  for (const auto& t : tensors) {
    hash_schema(all, t);
    const bool plain = t.tensor.is_contiguous() && !t.tensor.is_conj() && !t.tensor.is_neg();
    all.update(bytes_of(plain ? t.tensor : plain_copy(t.tensor)));
  }
  return all.finish();
}

}  // namespace planaria
