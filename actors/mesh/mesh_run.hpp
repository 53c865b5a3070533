#pragma once

#include <planaria/actors/mesh/checkpoint.hpp>
#include <planaria/actors/mesh/exchange.hpp>
#include <planaria/actors/mesh/spare_trainers.hpp>
#include <planaria/actors/mesh_job.hpp>
#include <planaria/runtime/child_spec.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace planaria::mesh {

/// What all incarnations of a job's mesh and peers share: set up by the job, kept by whoever still works on it.
struct mesh_run {
  mesh_options options;
  std::shared_ptr<const sampler> plan;
  std::uint64_t planned_steps = 0;
  std::shared_ptr<spare_trainers> spares;
  std::shared_ptr<checkpoint_queue> checkpoints;  // nullptr in a node without a store
  std::function<void(const step_report&)> on_step;
  std::function<void(std::string)> on_fenced;
  std::function<void(mesh_result)> on_finished;
  std::function<void(std::string)> on_given_up;  // options.step_attempts failures in vain

  std::mutex mutex;
  std::shared_ptr<exchange> meeting;  // guarded by mutex: of the mesh's living incarnation
  std::vector<bool> seen;             // guarded by mutex: ranks that have had an incarnation before
  double loss_sum = 0.0;              // guarded by mutex: since the last snapshot
  std::uint64_t loss_count = 0;
  std::uint64_t averaged_steps = 0;  // guarded by mutex: in this process, recomputed ones included
  std::uint64_t furthest_step = 0;   // guarded by mutex: steps averaged, those recomputed counted once
  std::uint64_t failures = 0;        // guarded by mutex: exceptions of peers since the run last got further
  bool given_up = false;             // guarded by mutex
  bool stopping = false;             // guarded by mutex: stop() was asked for
};

/// The children of a mesh supervisor: makes a new exchange and one peer a rank.
[[nodiscard]] std::vector<child_spec> mesh_children(const std::shared_ptr<mesh_run>& run);

/// The child spec of one peer: a training loop on a compute slot that meets the others in the exchange.
[[nodiscard]] child_spec peer(std::shared_ptr<mesh_run> run, std::shared_ptr<exchange> meeting, rank_index rank);

}  // namespace planaria::mesh
