#pragma once

#include <planaria/actors/dataset.hpp>
#include <planaria/storage/tensor_codec.hpp>

#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace planaria {

/// Which step is to be computed, by whom, on which samples. Everything a trainer draws at random comes from these.
struct step_context {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t step = 0;  ///< counted over the whole run
  std::int64_t rank = 0;
  std::int64_t ranks = 1;
  std::span<const std::int64_t> samples;  ///< dataset indices; empty when the tail has none for this rank
};

/// With which the names of buffers begin in trainer::weights() and in a state.
inline constexpr std::string_view buffer_prefix = "buffer/";

/// What a rank found for its samples: the gradient of the *mean* loss over them.
struct contribution {
  /// One a parameter, in the order of weights(): same shape and dtype, contiguous, CPU; undefined where the parameter
  /// got no gradient. The exchange keeps references until the step is over: compute() must make new tensors each time.
  std::vector<torch::Tensor> gradients;
  double loss = 0.0;
};

enum class state_scope : std::uint8_t {
  complete,  ///< everything; only between steps, on the trainer's own thread
  stable,    ///< what apply() and load() alone change; may be read on another thread while compute() runs
};

/// A trainer's state: live tensors, not copies, and the options that must be equal for the state to make sense.
struct trainer_state {
  tensor_map tensors;
  std::string options;
};

struct evaluation {
  double loss = 0.0;      ///< mean over the samples
  double accuracy = 0.0;  ///< share of samples whose largest output is the target's class; 0 for other targets
  std::int64_t samples = 0;
};

/// The user's side of training: pure maths, no threads, no I/O. One a peer; the mesh makes it, feeds it and replaces
/// it.
///
/// Thread  one compute slot at a time, save state(stable), which may run beside compute().
/// Errors  an exception from any member ends the peer with its text as the reason; the supervisor starts another.
class trainer {
 public:
  virtual ~trainer() = default;

  /// Returns the gradient for the samples of this step; called only with samples. Must depend on the state and the
  /// context alone, so that another trainer with the same state finds the same bits.
  [[nodiscard]] virtual contribution compute(const step_context& where) = 0;
  /// Moves the state one step on with the mean gradient; mean[i] is undefined when no rank had a gradient for i. Reads
  /// `mean`, never writes it.
  virtual void apply(const step_context& where, const std::vector<torch::Tensor>& mean) = 0;

  /// Names, in order, what is averaged and hashed: parameters first, then buffers as "buffer/NAME".
  [[nodiscard]] virtual tensor_map weights() const = 0;
  /// The live buffers that compute() changes beside the gradient, such as BatchNorm's; empty by default.
  [[nodiscard]] virtual std::vector<torch::Tensor> buffers() const { return {}; }
  [[nodiscard]] virtual trainer_state state(state_scope scope) const = 0;
  /// Takes over the values of a state (complete, or stable: then buffers stay as they are).
  /// Errors: errc::schema_mismatch names the first tensor or option that differs; nothing was changed.
  virtual void load(const trainer_state& saved) = 0;

  /// Measures the model on a dataset, without changing the state. `alive` is called between batches.
  [[nodiscard]] virtual evaluation evaluate(const dataset& data, const std::function<void()>& alive) = 0;
};

/// Makes a trainer in its initial state, the same bits each time. Called for each incarnation, from any compute slot,
/// also while others train.
using trainer_factory = std::function<std::unique_ptr<trainer>()>;

}  // namespace planaria
