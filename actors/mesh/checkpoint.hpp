#pragma once

#include <planaria/actors/mesh/exchange.hpp>
#include <planaria/actors/trainer.hpp>
#include <planaria/runtime/child_context.hpp>
#include <planaria/runtime/child_spec.hpp>
#include <planaria/storage/snapshot.hpp>
#include <planaria/storage/tensor_codec.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace planaria::mesh {

/// A training state copied out of a trainer, waiting to be written behind the training.
struct pending_snapshot {
  std::uint64_t step = 0;
  std::uint64_t schema_hash = 0;
  std::string options;
  std::string ledger;
  std::optional<double> metric;
  encoded_tensors state;
};

/// Copies the complete state; the trainer is free to change as soon as this returns.
[[nodiscard]] pending_snapshot copy_state(const trainer& from, std::uint64_t step, std::string ledger,
                                          std::optional<double> metric);

/// The one snapshot on its way to the store: copied by a peer, written by the writer child. At most one waits and one
/// is being written, so memory stays bounded; a newer one takes the place of one that still waits.
///
/// Outlives the incarnations of the writer: what a killed writer left is taken up by the next. Thread: any.
class checkpoint_queue {
 public:
  /// Borrows the store, which a node keeps for as long as a body that may write still runs. `plan` says how the samples
  /// are dealt out and is kept with each snapshot.
  checkpoint_queue(store& where, retention_policy retention, std::string run, std::string plan)
      : where_(where, retention), run_(std::move(run)), plan_(std::move(plan)) {}

  [[nodiscard]] const snapshots& stored() const noexcept { return where_; }

  /// Hands a snapshot over without waiting.
  void submit(pending_snapshot next);
  /// Waits until a snapshot of `step` or later is committed, calling `alive` meanwhile.
  /// Errors: errc::timeout; the error with which writing it failed.
  void await(std::uint64_t step, std::chrono::milliseconds deadline, const std::function<void()>& alive);
  /// Ends the writer's loop once nothing waits.
  void close();
  /// Whether a snapshot of `step` or later waits, or is being written.
  [[nodiscard]] bool on_its_way(std::uint64_t step) const;
  /// The step of the newest committed snapshot.
  [[nodiscard]] std::optional<std::uint64_t> committed() const;

  /// The child that writes: body and wake for a compute_child called "snapshots".
  [[nodiscard]] static child_spec writer(std::shared_ptr<checkpoint_queue> queue);
  /// The state of the newest snapshot that verifies, with what was skipped recorded in the event log.
  [[nodiscard]] std::shared_ptr<const origin_state> recover(const child_context& context);

 private:
  void serve(const child_context& context);
  void write(const child_context& context, const pending_snapshot& what);
  void wake();

  snapshots where_;
  const std::string run_;
  const std::string plan_;
  mutable std::mutex mutex_;
  std::condition_variable change_;
  std::shared_ptr<const pending_snapshot> waiting_;  // guarded by mutex_, as all below
  std::shared_ptr<const pending_snapshot> writing_;
  std::optional<std::uint64_t> committed_;
  std::optional<std::pair<std::uint64_t, std::string>> failed_;
  bool closed_ = false;
};

/// Rebuilds the state that copy_state() took. Errors: errc::corrupt.
[[nodiscard]] origin_state origin_from(const loaded_snapshot& loaded);
/// The plan that the snapshot was written with. Errors: errc::corrupt.
[[nodiscard]] std::string plan_of(const loaded_snapshot& loaded);

}  // namespace planaria::mesh
