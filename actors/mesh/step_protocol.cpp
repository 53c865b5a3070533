#include <planaria/actors/mesh/step_protocol.hpp>

#include <algorithm>

namespace planaria::mesh {

step_protocol::step_protocol(std::size_t ranks, std::uint64_t total_steps) : ranks_(ranks), total_(total_steps) {}

bool step_protocol::current(rank_index rank, std::uint64_t incarnation) const noexcept {
  return ranks_[rank].incarnation == incarnation && ranks_[rank].now != standing::absent;
}

bool step_protocol::holds_state(standing s) noexcept {
  return s == standing::computing || s == standing::arrived || s == standing::applying;
}

bool step_protocol::anybody(bool (*test)(standing)) const noexcept {
  return std::any_of(ranks_.begin(), ranks_.end(), [&](const member& m) { return test(m.now); });
}

std::optional<rank_index> step_protocol::donor() const noexcept {
  // A rank that waits is the better donor: its memory is idle.
  for (const auto wanted : {standing::arrived, standing::computing})
    for (rank_index r = 0; r < ranks_.size(); ++r)
      if (ranks_[r].now == wanted) return r;
  return std::nullopt;
}

bool step_protocol::enter(rank_index rank, std::uint64_t incarnation) {
  auto& m = ranks_[rank];
  if (incarnation <= m.incarnation) return false;
  m.incarnation = incarnation;
  m.now = standing::joining;
  return true;
}

void step_protocol::leave(rank_index rank, std::uint64_t incarnation) {
  auto& m = ranks_[rank];
  if (incarnation < m.incarnation) return;
  // Also one that has not come yet: dead before its body began, it would be waited for, and wait, in vain.
  m.incarnation = incarnation;
  m.now = standing::absent;
}

grant step_protocol::ask(rank_index rank, std::uint64_t incarnation) {
  if (!current(rank, incarnation)) return {grant::kind::fenced};
  if (closed_) return {grant::kind::finished, 0, step_};
  auto& m = ranks_[rank];
  const bool held = anybody(holds_state);
  if (!held) {
    if (sealed_ || anybody([](standing s) { return s == standing::loading; })) return {grant::kind::wait};
    m.now = standing::loading;
    return {grant::kind::recover};
  }
  // After the last step the holders only make the final state safe; at any other, a kept contribution stands for the
  // rank.
  if (step_ >= total_ || sealed_ || m.contributed) return {grant::kind::wait};
  if (origin_ == step_) {
    m.now = standing::loading;
    return {grant::kind::load, 0, step_};
  }
  const auto from = donor();
  if (!from) return {grant::kind::wait};
  m.now = standing::loading;
  return {grant::kind::copy, *from, step_};
}

bool step_protocol::recovered(rank_index rank, std::uint64_t incarnation, std::uint64_t step) {
  if (!current(rank, incarnation)) return false;
  step_ = step;
  origin_ = step;
  for (auto& m : ranks_) m.contributed = false;
  return true;
}

bool step_protocol::ready(rank_index rank, std::uint64_t incarnation) {
  if (!current(rank, incarnation)) return false;
  ranks_[rank].now = standing::computing;
  return true;
}

bool step_protocol::offer(rank_index rank, std::uint64_t incarnation, std::uint64_t step) {
  if (!current(rank, incarnation) || step != step_ || ranks_[rank].now != standing::computing) return false;
  ranks_[rank].now = standing::arrived;
  ranks_[rank].contributed = true;
  return true;
}

bool step_protocol::complete() const noexcept {
  return !sealed_ && std::all_of(ranks_.begin(), ranks_.end(), [](const member& m) { return m.contributed; });
}

void step_protocol::seal() noexcept { sealed_ = true; }

void step_protocol::advance() {
  sealed_ = false;
  ++step_;
  for (auto& m : ranks_) {
    m.contributed = false;
    if (m.now == standing::arrived) m.now = standing::applying;
  }
}

bool step_protocol::applied(rank_index rank, std::uint64_t incarnation) {
  if (!current(rank, incarnation)) return false;
  ranks_[rank].now = standing::computing;
  return true;
}

std::uint64_t step_protocol::stop_early() noexcept {
  // Ranks compute step_ already, or will: the run ends once it is applied.
  total_ = std::min(total_, step_ + 1);
  return total_;
}

}  // namespace planaria::mesh
