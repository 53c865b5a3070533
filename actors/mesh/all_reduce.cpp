#include <planaria/actors/mesh/all_reduce.hpp>
#include <planaria/actors/mesh/weighted_sum.hpp>

#include <planaria/storage/error.hpp>

#include <algorithm>
#include <cmath>
#include <span>

namespace planaria::mesh {
namespace {

constexpr std::int64_t piece_elements = std::int64_t{1} << 16;
constexpr std::size_t bypass_cache_bytes = std::size_t{8} << 20;

bool finite_tensor(const torch::Tensor& t) {
  if (!t.defined()) return true;
  if (t.scalar_type() == torch::kFloat32 && t.is_contiguous()) return all_finite(t.data_ptr<float>(), t.numel());
  return torch::isfinite(t).all().item<bool>();
}

// bf16 and half: accumulate in f32, round once.
template <class T>
bool narrow_sum(const std::vector<const T*>& sources, std::span<const float> weights, T* out, std::int64_t count) {
  bool finite = true;
  for (std::int64_t i = 0; i < count; ++i) {
    float sum = weights[0] * static_cast<float>(sources[0][i]);
    for (std::size_t r = 1; r < sources.size(); ++r) sum += weights[r] * static_cast<float>(sources[r][i]);
    out[i] = static_cast<T>(sum);
    finite = finite && std::isfinite(static_cast<float>(out[i]));
  }
  return finite;
}

template <class T>
std::vector<const T*> sources_at(const std::vector<torch::Tensor>& tensors, std::int64_t begin) {
  std::vector<const T*> all;
  for (const auto& t : tensors) all.push_back(t.data_ptr<T>() + begin);
  return all;
}

}  // namespace

shared_mean::shared_mean(std::vector<summand> summands, const std::vector<torch::Tensor>& reuse)
    : summands_(std::move(summands)) {
  // A rank without samples has no part in the mean, whatever its tensors hold.
  std::erase_if(summands_, [](const summand& s) { return s.gradients.empty(); });
  if (summands_.empty()) return;
  shares_summand_ = summands_.size() == 1;
  if (shares_summand_) {
    mean_ = summands_[0].gradients;
  } else {
    mean_.resize(summands_[0].gradients.size());
    for (std::size_t t = 0; t < mean_.size(); ++t) {
      for (const auto& s : summands_) {
        if (!s.gradients[t].defined()) continue;
        const bool fits = t < reuse.size() && reuse[t].defined();
        mean_[t] = fits ? reuse[t] : torch::empty_like(s.gradients[t], torch::MemoryFormat::Contiguous);
        break;
      }
    }
  }
  plan();
}

void shared_mean::plan() {
  for (std::size_t t = 0; t < mean_.size(); ++t) {
    if (!mean_[t].defined()) continue;
    const auto count = mean_[t].numel();
    bytes_ += static_cast<std::size_t>(count) * mean_[t].element_size();
    for (std::int64_t begin = 0; begin < count; begin += piece_elements)
      pieces_.push_back({t, begin, std::min(count, begin + piece_elements)});
  }
  remaining_.store(pieces_.size(), std::memory_order_release);
}

bool shared_mean::work() {
  torch::NoGradGuard no_grad;
  bool last = false;
  for (;;) {
    const auto mine = next_.fetch_add(1, std::memory_order_relaxed);
    if (mine >= pieces_.size()) return last;
    reduce(pieces_[mine]);
    last = remaining_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
}

void shared_mean::reduce(const piece& what) {
  std::vector<torch::Tensor> tensors;
  std::vector<float> weights;
  std::vector<double> wide_weights;
  for (const auto& s : summands_) {
    if (!s.gradients[what.tensor].defined()) continue;
    tensors.push_back(s.gradients[what.tensor]);
    weights.push_back(static_cast<float>(s.weight));
    wide_weights.push_back(s.weight);
  }
  auto& out = mean_[what.tensor];
  const auto count = what.end - what.begin;
  bool finite = true;
  if (shares_summand_) {
    finite = finite_tensor(out.view({-1}).slice(0, what.begin, what.end));
  } else {
    switch (out.scalar_type()) {
      case torch::kFloat32:
        finite = weighted_sum(sources_at<float>(tensors, what.begin), weights, out.data_ptr<float>() + what.begin,
                              count, bytes_ >= bypass_cache_bytes);
        break;
      case torch::kFloat64:
        finite = weighted_sum(sources_at<double>(tensors, what.begin), wide_weights,
                              out.data_ptr<double>() + what.begin, count);
        break;
      case torch::kBFloat16:
        finite = narrow_sum<at::BFloat16>(sources_at<at::BFloat16>(tensors, what.begin), weights,
                                          out.data_ptr<at::BFloat16>() + what.begin, count);
        break;
      case torch::kFloat16:
        finite = narrow_sum<at::Half>(sources_at<at::Half>(tensors, what.begin), weights,
                                      out.data_ptr<at::Half>() + what.begin, count);
        break;
      default: throw error(errc::invalid_input, "a gradient's dtype cannot be averaged");
    }
  }
  if (!finite) non_finite_.store(true, std::memory_order_relaxed);
}

std::pair<std::int64_t, std::size_t> shared_mean::culprit() const {
  for (const auto& s : summands_)
    for (std::size_t t = 0; t < s.gradients.size(); ++t)
      if (!finite_tensor(s.gradients[t])) return {s.rank, t};
  return {-1, 0};
}

std::vector<torch::Tensor> shared_mean::reusable() const {
  return shares_summand_ ? std::vector<torch::Tensor>{} : mean_;
}

}  // namespace planaria::mesh
