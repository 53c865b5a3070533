#include "test.hpp"

#include <planaria/actors/mesh/all_reduce.hpp>
#include <planaria/actors/mesh/weighted_sum.hpp>

#include <torch/torch.h>

#include <cstring>
#include <limits>
#include <thread>

using namespace planaria::mesh;

namespace {

std::vector<summand> ranks_of(std::vector<std::vector<torch::Tensor>> gradients, std::vector<double> weights) {
  std::vector<summand> all;
  for (std::size_t r = 0; r < gradients.size(); ++r)
    all.push_back({gradients[r], weights[r], static_cast<std::int64_t>(r)});
  return all;
}

bool same_bits(const torch::Tensor& a, const torch::Tensor& b) {
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() &&
         std::memcmp(a.data_ptr(), b.data_ptr(), a.nbytes()) == 0;
}

// ((w0·g0 + w1·g1) + w2·g2) in plain C++.
torch::Tensor by_hand(const std::vector<torch::Tensor>& g, const std::vector<double>& w) {
  auto out = torch::empty_like(g[0]);
  for (std::int64_t i = 0; i < g[0].numel(); ++i) {
    float sum = static_cast<float>(w[0]) * g[0].data_ptr<float>()[i];
    for (std::size_t r = 1; r < g.size(); ++r) {
      const float term = static_cast<float>(w[r]) * g[r].data_ptr<float>()[i];
      sum = sum + term;
    }
    out.data_ptr<float>()[i] = sum;
  }
  return out;
}

}  // namespace

TEST_CASE("the mean has the bits of the plain sum in rank order, for every length and number of threads") {
  torch::manual_seed(8);
  const std::vector<double> weights{0.5, 0.3, 0.2};
  for (const std::int64_t n : {1, 7, 8, 9, 31, 1000, 65536, 65537, 300000}) {
    CAPTURE(n);
    const std::vector<torch::Tensor> g{torch::randn({n}), torch::randn({n}), torch::randn({n})};
    for (const int threads : {1, 3}) {
      shared_mean mean(ranks_of({{g[0]}, {g[1]}, {g[2]}}, weights), {});
      std::atomic<int> last{0};
      std::vector<std::thread> helpers;
      for (int t = 0; t < threads; ++t) helpers.emplace_back([&] { last += mean.work() ? 1 : 0; });
      for (auto& h : helpers) h.join();
      CHECK(last == 1);
      CHECK(mean.finite());
      CHECK(same_bits(mean.mean()[0], by_hand(g, weights)));
    }
  }
}

TEST_CASE("one summand alone is the mean itself, without a copy") {
  const auto g = torch::randn({10});
  shared_mean mean(ranks_of({{g}, {}}, {1.0, 0.0}), {});
  CHECK(mean.work());
  CHECK(mean.mean()[0].data_ptr() == g.data_ptr());
  CHECK(mean.reusable().empty());
}

TEST_CASE("a missing gradient counts as zero and one that nobody has stays undefined") {
  const auto g = torch::ones({4});
  shared_mean mean(ranks_of({{g, torch::Tensor()}, {torch::Tensor(), torch::Tensor()}}, {0.5, 0.5}), {});
  CHECK(mean.work());
  CHECK(torch::equal(mean.mean()[0], torch::full({4}, 0.5F)));
  CHECK_FALSE(mean.mean()[1].defined());
}

TEST_CASE("doubles are summed as doubles, half types through f32") {
  const auto d = torch::full({3}, 1.0 / 3.0, torch::kFloat64);
  const auto h = torch::full({3}, 0.1, torch::kBFloat16);
  shared_mean mean(ranks_of({{d, h}, {d, h}}, {0.5, 0.5}), {});
  CHECK(mean.work());
  CHECK(mean.mean()[0][0].item<double>() == 1.0 / 3.0);
  CHECK(same_bits(mean.mean()[1], h));
}

TEST_CASE("a NaN or an infinity anywhere is noticed and its place named") {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()})
    for (const std::int64_t at : {0, 5, 99'999}) {
      CAPTURE(at);
      auto g = torch::zeros({100'000});
      g[at] = bad;
      shared_mean mean(ranks_of({{torch::zeros({3}), torch::zeros({100'000})}, {torch::zeros({3}), g}}, {0.5, 0.5}),
                       {});
      CHECK(mean.work());
      CHECK_FALSE(mean.finite());
      CHECK(mean.culprit() == std::pair<std::int64_t, std::size_t>(1, 1));
    }
  const auto huge = torch::full({2}, 3e38F);
  shared_mean overflow(ranks_of({{huge}, {huge}}, {1.0, 1.0}), {});
  CHECK(overflow.work());
  CHECK_FALSE(overflow.finite());
  CHECK(overflow.culprit().first == -1);
}

TEST_CASE("reused memory is written again") {
  const auto g = torch::ones({8});
  shared_mean first(ranks_of({{g}, {g}}, {0.5, 0.5}), {});
  CHECK(first.work());
  const auto memory = first.reusable();
  shared_mean second(ranks_of({{g * 3}, {g * 3}}, {0.5, 0.5}), memory);
  CHECK(second.work());
  CHECK(second.mean()[0].data_ptr() == memory[0].data_ptr());
  CHECK(second.mean()[0][0].item<float>() == 3.0F);
}

TEST_CASE("nothing to average is said so") {
  shared_mean none(ranks_of({{}, {}}, {0, 0}), {});
  CHECK(none.empty());
  CHECK_FALSE(none.work());
}
