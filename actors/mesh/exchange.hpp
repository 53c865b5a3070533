#pragma once

#include <planaria/actors/ledger.hpp>
#include <planaria/actors/mesh/all_reduce.hpp>
#include <planaria/actors/mesh/step_protocol.hpp>
#include <planaria/actors/sampler.hpp>
#include <planaria/actors/trainer.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace planaria::mesh {

/// A state that the run (re)starts from, held in memory until the first step after it.
struct origin_state {
  std::uint64_t step = 0;
  /// Nothing: a trainer as its factory makes it.
  std::optional<trainer_state> state;
  std::string ledger;
};

/// What is known of a step once it is averaged; handed to the observer by the rank that averaged last.
struct step_report {
  std::uint64_t step = 0;
  std::uint64_t epoch = 0;
  double loss = 0.0;  ///< mean over the step's samples
  std::int64_t samples = 0;
  bool skipped = false;     ///< the mean was not finite: no rank applies it
  std::string skip_reason;  ///< which rank and parameter
};

struct exchange_options {
  std::size_t ranks = 1;
  std::uint64_t total_steps = 0;
  /// Waits longer than this for the other ranks fail the waiting peer with errc::timeout.
  std::chrono::milliseconds step_deadline{600'000};
  /// How long a waiting rank spins before it blocks; worth it while every rank has a core. 0: never.
  std::chrono::microseconds spin{0};
  std::function<void(const step_report&)> on_step;
  std::function<void(std::string)> on_fenced;  ///< something a zombie did was dropped
};

/// How one incarnation of a rank presents itself.
struct membership {
  rank_index rank = 0;
  std::uint64_t incarnation = 0;
  std::function<void()> alive;  ///< called while it waits, so that waiting does not count as hanging
};

/// What a joining incarnation got.
struct join_result {
  enum class kind : std::uint8_t { fenced, finished, recover, load, copy };
  kind how = kind::fenced;
  std::shared_ptr<const origin_state> origin;  ///< load
  std::shared_ptr<const trainer> donor;        ///< copy: read state(stable)
  std::vector<torch::Tensor> buffers;          ///< copy: the buffers at the step's boundary; own copies
};

/// What became of a contribution.
struct step_result {
  enum class kind : std::uint8_t { fenced, apply, skip };
  kind how = kind::fenced;
  std::vector<torch::Tensor> mean;     ///< apply; read-only, to be let go of before applied()
  std::vector<torch::Tensor> buffers;  ///< the buffers every rank continues with; read-only
  std::shared_ptr<void> lease;         ///< while it is held, mean's memory is not written again
};

/// Where the ranks of a mesh in one process meet: the step protocol with real threads, gradients and waiting.
///
/// Shared by the peers of one incarnation of the mesh; a later incarnation has a new one, so zombies of an old one
/// reach nothing. Protocol of the shared memory: a rank's gradients are read by all from offer() until the step
/// advances; the mean and the buffers are written by the averaging ranks before it and read by all until applied(); a
/// trainer's stable state changes only between a step's end and applied(). Everything else is guarded by one mutex.
/// Rule for buffers: after a step every rank continues with those of the lowest rank that had samples (as in PyTorch
/// DDP's broadcast_buffers); they are copied, never averaged, so integer counters stay what they are. Thread  each
/// member by the rank's own compute slot, save leave() and stop(), which any thread may call.
class exchange {
 public:
  exchange(exchange_options options, std::shared_ptr<const sampler> plan, std::shared_ptr<ledger> samples_used);

  /// Waits until this incarnation can have the state of the current step. `self` may be read by later joiners.
  /// Errors: errc::timeout; errc::schema_mismatch when its weights differ from the other ranks'.
  join_result join(const membership& who, std::shared_ptr<const trainer> self);
  /// The answer to join_result::recover. False when fenced.
  bool recovered(const membership& who, std::shared_ptr<const origin_state> origin);
  /// The state is in place. False when fenced.
  bool ready(const membership& who);

  /// The step to compute, or nothing when every step is done or this incarnation is fenced.
  [[nodiscard]] std::optional<std::uint64_t> step(const membership& who) const;
  /// Offers a rank's contribution, waits for the others' and averages with them. `samples` are those it was computed
  /// on. Errors: errc::user_error names the gradient that is not as its parameter (then nothing was offered);
  /// errc::timeout; errc::stopped when the mesh failed.
  step_result offer(const membership& who, std::uint64_t step, contribution found, const trainer& self,
                    std::vector<std::int64_t> samples);
  /// The result has been applied (or skipped) and is no longer read. False when fenced.
  bool applied(const membership& who);

  /// Takes the duty of saving the state of `step`; one living rank has it at a time, unless one asks for it `again`.
  /// Returns the ledger as of that step; nothing when another has the duty, at another step or when fenced.
  std::optional<std::string> claim_snapshot(const membership& who, std::uint64_t step, bool again = false);
  /// The final state is safe: everybody may go.
  void close();
  /// Waits until close(), or until the duty to make the final state safe falls to this rank, or it is fenced.
  enum class final_duty : std::uint8_t { closed, save, fenced };
  final_duty await_close(const membership& who);

  /// The incarnation is dead. Wakes it, should it wait.
  void leave(rank_index rank, std::uint64_t incarnation);
  /// Ends the run after the step that is being gathered.
  void stop();
  /// Fails every wait with this error: the mesh cannot go on.
  void fail(std::string reason);

  [[nodiscard]] std::vector<epoch_count> ledger_epochs() const;
  [[nodiscard]] std::uint64_t current_step() const;
  [[nodiscard]] std::uint64_t total_steps() const;
  /// Things that zombies did and that were dropped.
  [[nodiscard]] std::uint64_t fenced_count() const noexcept { return fenced_count_.load(std::memory_order_relaxed); }

 private:
  struct rank_data {
    std::shared_ptr<const trainer> self;
    contribution found;
    std::vector<torch::Tensor> buffers;  // live ones of the rank, read while its contribution is held
    std::vector<std::int64_t> samples;
    std::uint64_t schema = 0;
  };
  // What a gradient must be like.
  struct parameter {
    std::string name;
    torch::ScalarType type;
    std::vector<std::int64_t> sizes;
  };
  // Who saves the state of which step.
  struct claim {
    std::uint64_t step;
    rank_index rank;
    std::uint64_t incarnation;
  };
  using lock = std::unique_lock<std::mutex>;

  template <class Ready>
  void wait(lock& held, const membership& who, Ready ready);
  grant await_grant(lock& held, const membership& who);
  static std::vector<parameter> parameters_of(const tensor_map& weights);
  void changed();
  void changed_for_joiners();
  void fenced(lock& held, const membership& who, const char* what);
  void check_failed() const;
  template <class Part>
  void or_fail(lock& held, std::uint64_t step, Part part);
  void check_contribution(const membership& who, const contribution& found, bool has_samples) const;
  void check_schema(const membership& who, std::uint64_t schema, const trainer& self);
  std::shared_ptr<shared_mean> begin_averaging();
  void help(lock& held, const std::shared_ptr<shared_mean>& averaging);
  void finish_averaging(lock& held, const shared_mean& done);
  void publish_buffers(const std::vector<torch::Tensor>& from);
  step_report report_of(const shared_mean& done) const;
  step_result result_for(const membership& who);

  // set at construction
  exchange_options options_;
  std::shared_ptr<const sampler> plan_;

  // guarded by mutex_
  mutable std::mutex mutex_;
  std::condition_variable change_;
  step_protocol protocol_;
  std::vector<rank_data> ranks_;
  std::shared_ptr<ledger> ledger_;
  std::shared_ptr<const origin_state> origin_;
  std::shared_ptr<shared_mean> averaging_;          // while the protocol is sealed
  std::vector<torch::Tensor> mean_;                 // of the step before the current one
  std::vector<torch::Tensor> mean_memory_;          // of which the next averaging may write again, once nobody reads it
  std::shared_ptr<std::atomic<int>> readers_;       // leases on mean_memory_
  std::vector<torch::Tensor> boundary_buffers_;     // at the current step's boundary; never written again
  bool skipped_ = false;                            // whether the last step was
  std::optional<claim> claim_;                      // on a snapshot, the last
  std::optional<std::vector<parameter>> expected_;  // how gradients must look, once one has joined
  std::optional<std::pair<rank_index, std::uint64_t>> saver_;  // who makes the final state safe
  std::size_t joiners_ = 0;                                    // waiting for a grant
  bool closed_ = false;
  std::string failure_;

  std::atomic<std::uint64_t> changes_{0};  // counts changes, for spinning waiters
  std::atomic<std::uint64_t> fenced_count_{0};
};

}  // namespace planaria::mesh
