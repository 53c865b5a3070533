// The mean over ranks in one process: each rank a thread, as the exchange drives it, without the rest of a step.
#include "bench.hpp"

#include <planaria/actors/mesh/all_reduce.hpp>

#include <atomic>
#include <iostream>
#include <thread>

namespace planaria::bench {

void report(const nlohmann::json& figure) { std::cout << figure.dump() << std::endl; }

namespace {

// Spins: what is measured is the reduction, with ranks that arrive together.
class rendezvous {
 public:
  explicit rendezvous(std::int64_t ranks) : ranks_(ranks) {}
  void meet() {
    const auto round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.fetch_add(1, std::memory_order_release);
      return;
    }
    while (round_.load(std::memory_order_acquire) == round) std::this_thread::yield();
  }

 private:
  const std::int64_t ranks_;
  std::atomic<std::int64_t> arrived_{0};
  std::atomic<std::int64_t> round_{0};
};

struct reduction {
  reduction(std::int64_t ranks, std::int64_t elements) : meeting(ranks) {
    for (std::int64_t r = 0; r < ranks; ++r) gradients.push_back(torch::randn({elements}));
  }
  std::vector<torch::Tensor> gradients;
  std::vector<torch::Tensor> memory;
  std::shared_ptr<mesh::shared_mean> mean;
  rendezvous meeting;
};

double timed_round(reduction& all, std::int64_t rank) {
  all.meeting.meet();
  const auto begin = std::chrono::steady_clock::now();
  if (rank == 0) {
    std::vector<mesh::summand> summands;
    const auto weight = 1.0 / static_cast<double>(all.gradients.size());
    for (std::size_t r = 0; r < all.gradients.size(); ++r)
      summands.push_back({{all.gradients[r]}, weight, static_cast<std::int64_t>(r)});
    all.mean = std::make_shared<mesh::shared_mean>(std::move(summands), all.memory);
  }
  all.meeting.meet();
  static_cast<void>(all.mean->work());
  all.meeting.meet();
  if (rank == 0) all.memory = all.mean->reusable();
  return seconds_since(begin);
}

double median_time(std::int64_t ranks, std::int64_t elements, int runs) {
  reduction all(ranks, elements);
  std::vector<double> times;
  std::vector<std::thread> others;
  const auto rank_loop = [&](std::int64_t rank) {
    for (int i = 0; i < runs + 3; ++i) {
      const auto took = timed_round(all, rank);
      if (rank == 0 && i >= 3) times.push_back(took);
    }
  };
  for (std::int64_t r = 1; r < ranks; ++r) others.emplace_back(rank_loop, r);
  rank_loop(0);
  for (auto& other : others) other.join();
  return median(times);
}

}  // namespace

void run_all_reduce(std::int64_t ranks) {
  for (const std::int64_t elements : {1L << 10, 1L << 16, 1L << 20, 25'000'000L})
    report({{"what", "allreduce"},
            {"world", ranks},
            {"bytes", 4 * elements},
            {"seconds", median_time(ranks, elements, elements <= 1L << 16 ? 500 : 15)}});
}

}  // namespace planaria::bench
