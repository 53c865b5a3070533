#pragma once

#include <planaria/actors/trainer.hpp>
#include <planaria/runtime/compute_pool.hpp>

#include <cstdint>
#include <memory>
#include <mutex>

namespace planaria::mesh {

/// One trainer built ahead, so that a replacement needs no construction: it costs milliseconds and fresh memory to
/// build a model.
///
/// Thread any. refill() builds on a compute slot; while no spare is ready, take() builds in place.
class spare_trainers : public std::enable_shared_from_this<spare_trainers> {
 public:
  spare_trainers(trainer_factory factory, compute_pool& pool) : factory_(std::move(factory)), pool_(pool) {}

  /// Puts a trainer in as the spare.
  void keep(std::unique_ptr<trainer> spare);
  /// Returns a trainer in its initial state. Errors: whatever the factory throws.
  [[nodiscard]] std::shared_ptr<trainer> take();
  /// Builds a spare on a compute slot unless there is one, or none is free; returns at once.
  void refill();
  /// Builds no more spares and drops the one there is.
  void close();

 private:
  void build();

  const trainer_factory factory_;
  compute_pool& pool_;
  std::mutex mutex_;
  std::unique_ptr<trainer> spare_;  // guarded by mutex_
  bool building_ = false;
  bool closed_ = false;
};

}  // namespace planaria::mesh
