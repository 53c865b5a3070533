#pragma once

#include "expect_error.hpp"
#include "temporary_directory.hpp"
#include "test.hpp"

#include <planaria/actors/mesh_job.hpp>
#include <planaria/actors/module_trainer.hpp>
#include <planaria/runtime/event_log.hpp>
#include <planaria/runtime/node.hpp>
#include <planaria/storage/error.hpp>

#include <torch/torch.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace planaria::testing {

constexpr std::chrono::seconds patience{60};

/// Samples of 8 features in 3 classes, the same for the same count.
inline dataset_ptr small_data(std::int64_t samples) {
  auto random = torch::make_generator<at::CPUGeneratorImpl>(11);
  const auto data = torch::randn({samples, 8}, random);
  const auto classes = torch::randint(0, 3, {samples}, random, torch::kInt64);
  return tensor_dataset(data, classes);
}

inline model small_mlp(const model_context&) {
  return make_model(torch::nn::Sequential(torch::nn::Linear(8, 16), torch::nn::ReLU(), torch::nn::Linear(16, 3)));
}

/// A mesh to be put through something: its trainers' options and its own.
struct stage {
  explicit stage(std::int64_t peers = 3, std::int64_t samples = 90, std::int64_t batch = 5, std::uint64_t epochs = 3) {
    trainer.make = small_mlp;
    trainer.data = small_data(samples);
    trainer.optimizer = torch::optim::SGDOptions(0.1).momentum(0.9);
    trainer.seed = 5;
    mesh.seed = 5;
    mesh.peers = peers;
    mesh.data = trainer.data;
    mesh.batch = batch;
    mesh.epochs = epochs;
    mesh.snapshot_every = 4;
    mesh.spin = std::chrono::microseconds{0};
  }

  [[nodiscard]] mesh_options options() const {
    auto all = mesh;
    all.make_trainer = make_trainer_factory(trainer);
    if (wrap) all.make_trainer = wrap(all.make_trainer);
    return all;
  }
  /// A node whose backoff and limits let a test kill often.
  [[nodiscard]] mesh_result run(node& where) const {
    mesh_job job(where, options());
    job.start();
    return job.wait(patience);
  }
  [[nodiscard]] mesh_result run() const {
    node where;
    return run(where);
  }
  /// The same training without faults, hooks and stored state.
  [[nodiscard]] mesh_result fault_free() const {
    stage plain = *this;
    plain.wrap = nullptr;
    plain.mesh.kills.clear();
    plain.mesh.start = start_from::fresh;
    return plain.run();
  }

  module_trainer_options trainer;
  mesh_options mesh;
  std::function<trainer_factory(trainer_factory)> wrap;
};

/// Where a hook is called.
enum class moment : std::uint8_t {
  compute,
  computed,
  apply,
  load,
  weights,
  copy,  ///< the complete state is asked for, to be copied into a snapshot
};

/// Delegates to another trainer and calls a hook first (at `computed`: after the gradient is there). What the hook
/// throws leaves the trainer as user code's exceptions do.
class hooked_trainer final : public trainer {
 public:
  using hook = std::function<void(moment, const step_context*, contribution*)>;
  hooked_trainer(std::unique_ptr<trainer> inner, hook call) : inner_(std::move(inner)), call_(std::move(call)) {}

  [[nodiscard]] contribution compute(const step_context& where) override {
    call_(moment::compute, &where, nullptr);
    auto found = inner_->compute(where);
    call_(moment::computed, &where, &found);
    return found;
  }
  void apply(const step_context& where, const std::vector<torch::Tensor>& mean) override {
    call_(moment::apply, &where, nullptr);
    inner_->apply(where, mean);
  }
  [[nodiscard]] tensor_map weights() const override {
    call_(moment::weights, nullptr, nullptr);
    return inner_->weights();
  }
  [[nodiscard]] std::vector<torch::Tensor> buffers() const override { return inner_->buffers(); }
  [[nodiscard]] trainer_state state(state_scope scope) const override {
    if (scope == state_scope::complete) call_(moment::copy, nullptr, nullptr);
    return inner_->state(scope);
  }
  void load(const trainer_state& saved) override {
    call_(moment::load, nullptr, nullptr);
    inner_->load(saved);
  }
  [[nodiscard]] evaluation evaluate(const dataset& data, const std::function<void()>& alive) override {
    return inner_->evaluate(data, alive);
  }

 private:
  std::unique_ptr<trainer> inner_;
  hook call_;
};

/// Wraps every trainer of a stage; the hook is shared and must be thread-safe.
inline std::function<trainer_factory(trainer_factory)> with_hook(hooked_trainer::hook call) {
  return [call = std::move(call)](trainer_factory inner) -> trainer_factory {
    return [inner = std::move(inner), call]() -> std::unique_ptr<trainer> {
      return std::make_unique<hooked_trainer>(inner(), call);
    };
  };
}

/// True for the first `count` callers.
class at_most {
 public:
  explicit at_most(int count) : left_(count) {}
  bool operator()() { return left_.fetch_sub(1) > 0; }

 private:
  std::atomic<int> left_;
};

/// A count that others wait for, with a deadline.
class counter {
 public:
  void add() {
    std::lock_guard lock(mutex_);
    ++count_;
    change_.notify_all();
  }
  void wait_for(int wanted) {
    std::unique_lock lock(mutex_);
    if (!change_.wait_for(lock, patience, [&] { return count_ >= wanted; }))
      throw std::runtime_error("the test waited in vain");
  }

 private:
  std::mutex mutex_;
  std::condition_variable change_;
  int count_ = 0;
};

/// For a hook's compute: rank 1 hangs in step 4 until its replacement computes the same step; then its result comes
/// late.
class late_gradient {
 public:
  void operator()(moment at, const step_context* where) {
    if (at != moment::compute || where->step != 4 || where->rank != 1) return;
    if (once_())
      replaced_.wait_for(1);
    else
      replaced_.add();
  }

 private:
  at_most once_{1};
  counter replaced_;
};

inline std::size_t count_events(node& where, event_kind kind) {
  std::size_t count = 0;
  for (const auto& e : where.events().events()) count += e.kind == kind ? 1 : 0;
  return count;
}

inline void check_exactly_once(const mesh_result& result, std::uint64_t epochs, std::int64_t samples) {
  CHECK(result.epochs.size() == epochs);
  for (const auto& epoch : result.epochs) {
    CAPTURE(epoch.epoch);
    CHECK(epoch.complete);
    CHECK(epoch.used == samples);
    CHECK(epoch.lost == 0);
    CHECK(epoch.duplicated == 0);
  }
}

/// Runs with faults and without and compares the bits and the ledger.
inline mesh_result check_same_bits(const stage& faulty, node& where) {
  const auto expected = faulty.fault_free();
  auto result = faulty.run(where);
  CHECK(result.complete);
  CHECK(result.weights_hash == expected.weights_hash);
  check_exactly_once(result, faulty.mesh.epochs, faulty.mesh.data->size());
  return result;
}

}  // namespace planaria::testing
