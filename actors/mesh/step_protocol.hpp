#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace planaria::mesh {

using rank_index = std::size_t;

/// Where a rank's current incarnation stands.
///
///            enter            ask → load/copy/recover         ready
///   absent ────────▶ joining ────────────────────▶ loading ─────────▶ computing ◀──────────┐
///     ▲                                                                  │ offer            │ applied
///     │ leave (from anywhere)                                            ▼                  │
///     └───────────────────────────────────────────────────────────── arrived ──advance──▶ applying
///
/// After the last step a rank stays computing, as a holder of the final state, until the run is closed.
enum class standing : std::uint8_t { absent, joining, loading, computing, arrived, applying };

/// What a joining incarnation is to do next.
struct grant {
  enum class kind : std::uint8_t {
    wait,      ///< ask again after the next change
    recover,   ///< nobody has the state: take it from the store, then say recovered(step)
    load,      ///< take the state that this run (re)started from, which is the current step's
    copy,      ///< take the current step's state from `donor`
    finished,  ///< the run is closed: nothing is left to do
    fenced,    ///< a higher incarnation has the rank
  };
  kind what = kind::wait;
  rank_index donor = 0;
  std::uint64_t step = 0;
};

/// The synchronous step protocol of a mesh in exact mode, as a pure state machine: no threads, no clock, no tensors.
///
/// Step s is complete when every rank's contribution for s is in. A contribution stays valid when its rank dies after
/// offering it: it is what the replacement would recompute. A replacement gets the state of the step that still lacks
/// its rank's contribution, so the step cannot complete, and no donor's state can change, while it copies. When no
/// incarnation holds the state any more, the first to ask recovers from the store and the run goes back to that step.
/// Invariants: at most one incarnation a rank is current; `step()` grows by one at each advance and only falls in
/// recovered(); every living holder that computes or has arrived is at step().
class step_protocol {
 public:
  step_protocol(std::size_t ranks, std::uint64_t total_steps);

  /// Gives the rank to a new incarnation, fencing the one before. False when `incarnation` is not higher.
  bool enter(rank_index rank, std::uint64_t incarnation);
  /// The rank's incarnation is dead; nothing happens unless it is the current one.
  void leave(rank_index rank, std::uint64_t incarnation);

  [[nodiscard]] grant ask(rank_index rank, std::uint64_t incarnation);
  /// The answer to grant::recover: the store's newest state is of this step. Contributions to a later step are dropped.
  bool recovered(rank_index rank, std::uint64_t incarnation, std::uint64_t step);
  /// The incarnation has the state of step() and begins to compute.
  bool ready(rank_index rank, std::uint64_t incarnation);
  /// The rank's contribution to `step` is in. False: fenced, or not the current step.
  bool offer(rank_index rank, std::uint64_t incarnation, std::uint64_t step);
  /// Whether every rank's contribution is in and nobody averages them yet.
  [[nodiscard]] bool complete() const noexcept;
  /// The averaging begins: deaths no longer change anything in this step.
  void seal() noexcept;
  /// The averaging is done: on to the next step.
  void advance();
  /// The incarnation has applied the mean.
  bool applied(rank_index rank, std::uint64_t incarnation);
  /// The final state is safe: nobody needs to join any more.
  void close() noexcept { closed_ = true; }

  /// Ends the run after the step that is being gathered now; returns the total that results.
  std::uint64_t stop_early() noexcept;

  [[nodiscard]] bool current(rank_index rank, std::uint64_t incarnation) const noexcept;
  [[nodiscard]] standing standing_of(rank_index rank) const { return ranks_[rank].now; }
  [[nodiscard]] std::uint64_t step() const noexcept { return step_; }
  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
  [[nodiscard]] std::size_t ranks() const noexcept { return ranks_.size(); }
  [[nodiscard]] bool sealed() const noexcept { return sealed_; }
  [[nodiscard]] bool has_contributed(rank_index rank) const { return ranks_[rank].contributed; }

 private:
  struct member {
    standing now = standing::absent;
    std::uint64_t incarnation = 0;
    bool contributed = false;
  };
  [[nodiscard]] static bool holds_state(standing s) noexcept;
  [[nodiscard]] std::optional<rank_index> donor() const noexcept;
  [[nodiscard]] bool anybody(bool (*test)(standing)) const noexcept;

  std::vector<member> ranks_;
  std::uint64_t total_;
  std::uint64_t step_ = 0;
  std::optional<std::uint64_t> origin_;  // the step that the run (re)started from, once known
  bool sealed_ = false;
  bool closed_ = false;
};

}  // namespace planaria::mesh
