#pragma once

#include <planaria/actors/ledger.hpp>
#include <planaria/actors/mesh/fault_plan.hpp>
#include <planaria/actors/trainer.hpp>
#include <planaria/storage/snapshot.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace planaria {

class node;

enum class start_from : std::uint8_t {
  fresh,   ///< a new run; refused when the store holds snapshots of this name
  resume,  ///< the newest snapshot that verifies; a fresh start when there is none
};

/// A training run on a P2P mesh of gradient-averaging peers in one process, in exact mode.
struct mesh_options {
  /// Names the run in the store and in the supervision tree ("train/mesh/peer-0").
  std::string name = "train";
  std::int64_t peers = 2;
  trainer_factory make_trainer;
  dataset_ptr data;         ///< what the peers train on
  dataset_ptr test;         ///< evaluated once at the end; may be null
  std::int64_t batch = 64;  ///< samples a peer and step
  std::uint64_t epochs = 1;
  std::uint64_t seed = 0;  ///< of the data order and of the models' own randomness
  bool shuffle = true;
  start_from start = start_from::fresh;

  /// A snapshot every so many steps; 0: only at the end. Smaller: less to recompute after the whole process died, more
  /// writing.
  std::uint64_t snapshot_every = 100;
  retention_policy retention = {};

  /// A peer silent for this long inside user code is hung and counts as dead; 0: never.
  std::chrono::milliseconds progress_deadline{60'000};
  /// The longest that a peer waits for the others in one step.
  std::chrono::milliseconds step_deadline{600'000};
  /// More deaths of peers than this within the period, and the mesh gives up and starts again from the newest snapshot;
  /// when that has happened three times a minute, the job fails.
  std::size_t intensity = 50;
  std::chrono::milliseconds period{10'000};
  /// So many exceptions of peers without the run getting further than ever before, and the job fails: what comes back
  /// whatever is restarted is no fault to heal. At least 1.
  std::size_t step_attempts = 20;

  /// Intra-op threads of LibTorch a peer.
  int threads = 1;
  /// How long a waiting peer spins before it blocks; used only while there are no more peers than cores.
  std::chrono::microseconds spin{200};

  std::vector<mesh::planned_kill> kills;  ///< faults to inject
};

/// Refuses options that cannot work, as mesh_job does, without a node: errc::invalid_input says which and why.
void check_options(const mesh_options& options);

/// The compute slots that a node needs for a mesh of so many peers: beside them the snapshots are written and a spare
/// trainer is built, and the bodies of a killed mesh may still be on their way out when the next one starts.
[[nodiscard]] std::size_t mesh_slots(std::int64_t peers) noexcept;

/// How far a run is.
struct mesh_progress {
  std::uint64_t step = 0;
  std::uint64_t total_steps = 0;
  std::uint64_t epoch = 0;
  double loss = 0.0;                 ///< of the last step, mean over its samples
  std::int64_t samples = 0;          ///< averaged in this process, recomputed ones included
  std::uint64_t averaged_steps = 0;  ///< likewise
  std::uint64_t skipped_steps = 0;
  double seconds = 0.0;  ///< since the first step of this process
};

/// How a run ended.
struct mesh_result {
  tensor_map weights;               ///< own copies, parameters then buffers
  std::string weights_hash;         ///< content_hash(weights), hexadecimal
  evaluation test;                  ///< all zero without a test dataset
  std::uint64_t steps = 0;          ///< of the whole run
  bool complete = false;            ///< false when it was stopped early
  bool already_complete = false;    ///< resumed a run that had nothing left to do
  std::vector<epoch_count> epochs;  ///< the ledger
};

/// Starts, watches and ends a training run in a node.
///
/// Owned by the application and outlived by the node. Any thread that is not an actor of the node.
/// Under the node's root it adds the supervisor `name` with the children `snapshots` and `mesh`, and under `mesh` one
/// child a peer.
class mesh_job {
 public:
  /// Checks everything that can be checked before anything is created. Errors: errc::invalid_input (options, data,
  /// model), errc::already_exists (a fresh start over an existing run), errc::schema_mismatch (resuming another model's
  /// run), errc::corrupt, errc::newer_format.
  mesh_job(node& where, mesh_options options);
  ~mesh_job();
  mesh_job(const mesh_job&) = delete;
  mesh_job& operator=(const mesh_job&) = delete;

  /// Starts the supervision tree; the training goes on in the background.
  void start();
  /// Asks the run to end after the step at hand, with a snapshot. Does not wait.
  void stop();
  /// Waits for the end. Errors: errc::timeout; errc::limit_reached with the last reason when the supervisors gave up.
  mesh_result wait(std::chrono::milliseconds deadline);
  /// Whether it has ended, well or not.
  [[nodiscard]] bool ended() const;

  [[nodiscard]] mesh_progress progress() const;
  /// The samples used so far, by epoch.
  [[nodiscard]] std::vector<epoch_count> ledger() const;
  /// Calls back after each step, on the thread of the peer that averaged last; must be quick and thread-safe. Set
  /// before start().
  void on_step(std::function<void(const mesh_progress&)> callback);

 private:
  struct impl;
  std::shared_ptr<impl> impl_;
};

}  // namespace planaria
