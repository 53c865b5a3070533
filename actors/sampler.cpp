#include <planaria/actors/sampler.hpp>
#include <planaria/actors/seed.hpp>
#include <planaria/storage/error.hpp>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

namespace planaria {
namespace {

std::uint64_t steps_of(const sampler_options& o) {
  if (o.samples < 1) throw error(errc::invalid_input, "the dataset has no samples");
  if (o.ranks < 1) throw error(errc::invalid_input, "peers must be at least 1, not " + std::to_string(o.ranks));
  if (o.batch < 1) throw error(errc::invalid_input, "batch must be at least 1, not " + std::to_string(o.batch));
  if (o.batch > o.samples)
    throw error(errc::invalid_input, "batch is " + std::to_string(o.batch) + " but the dataset has only " +
                                         std::to_string(o.samples) + " samples; use a smaller batch");
  std::int64_t global = 0;
  if (__builtin_mul_overflow(o.batch, o.ranks, &global) ||
      global > std::numeric_limits<std::int64_t>::max() - o.samples)
    throw error(errc::invalid_input, "batch " + std::to_string(o.batch) + " times " + std::to_string(o.ranks) +
                                         " peers is more than can be counted");
  return static_cast<std::uint64_t>((o.samples + global - 1) / global);
}

}  // namespace

sampler::sampler(const sampler_options& options) : options_(options), steps_per_epoch_(steps_of(options)) {}

step_place sampler::place(std::uint64_t step) const noexcept {
  return {step / steps_per_epoch_, step % steps_per_epoch_};
}

std::string sampler::describe() const {
  return "seed=" + std::to_string(options_.seed) + " samples=" + std::to_string(options_.samples) +
         " batch=" + std::to_string(options_.batch) + " peers=" + std::to_string(options_.ranks) +
         " shuffle=" + (options_.shuffle ? "true" : "false");
}

std::vector<std::int64_t> sampler::samples(std::uint64_t step, std::int64_t rank) const {
  const auto [epoch, in_epoch] = place(step);
  const auto all = order(epoch);
  const auto global = options_.batch * options_.ranks;
  const auto first = static_cast<std::int64_t>(in_epoch) * global;
  const auto count = std::min(global, options_.samples - first);
  // Equal parts in a whole step; in the tail the lower ranks take one more until the rest is gone.
  const auto base = count / options_.ranks;
  const auto extra = count % options_.ranks;
  const auto begin = first + rank * base + std::min(rank, extra);
  const auto end = begin + base + (rank < extra ? 1 : 0);
  return {all->begin() + begin, all->begin() + end};
}

std::shared_ptr<const std::vector<std::int64_t>> sampler::order(std::uint64_t epoch) const {
  std::lock_guard lock(mutex_);
  auto& slot = cache_[epoch % 2];
  if (slot.order && slot.epoch == epoch) return slot.order;
  auto made = std::make_shared<std::vector<std::int64_t>>(static_cast<std::size_t>(options_.samples));
  std::iota(made->begin(), made->end(), std::int64_t{0});
  if (options_.shuffle) {
    for (auto i = made->size(); i > 1; --i) {
      const auto draw = mix_seed(options_.seed, epoch, i, 2) % i;
      std::swap((*made)[i - 1], (*made)[draw]);
    }
  }
  slot = {epoch, made};
  return slot.order;
}

}  // namespace planaria
