#include <planaria/actors/mesh/mesh_run.hpp>
#include <planaria/runtime/child_context.hpp>
#include <planaria/runtime/compute_child.hpp>
#include <planaria/runtime/event_log.hpp>
#include <planaria/storage/error.hpp>

#include <thread>

namespace planaria::mesh {
namespace {

// LibTorch keeps the number of intra-op threads partly a thread, partly globally: set by one thread at a time.
void set_intra_op_threads(int threads) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  at::set_num_threads(threads);
}

// One incarnation's training loop; lives on its compute slot.
class peer_loop {
 public:
  peer_loop(mesh_run& run, exchange& meeting, rank_index rank, child_context context)
      : run_(run), meeting_(meeting), context_(std::move(context)), who_{rank, context_.incarnation(), [this] {
                                                                           context_.progress();
                                                                         }} {}

  void run() {
    try {
      train();
    } catch (const error& ended) {
      // The mesh's own end is nobody's failure.
      if (ended.code() != errc::stopped) count_failure(ended.what());
      throw;
    } catch (const std::exception& failed) {
      count_failure(failed.what());
      throw;
    }
  }

 private:
  void train() {
    set_intra_op_threads(run_.options.threads);
    {
      std::lock_guard lock(run_.mutex);
      replacement_ = run_.seen[who_.rank];
      run_.seen[who_.rank] = true;
    }
    trainer_ = run_.spares->take();
    context_.progress();
    if (!obtain_state()) return;
    for (;;) {
      while (const auto step = meeting_.step(who_)) {
        context_.progress();
        if (!take_step(*step)) return;
      }
      if (context_.fenced() || finish()) return;
    }
  }

  // A failure that comes back whatever is restarted, such as a sample that the model cannot take, ends the job.
  void count_failure(const std::string& text) {
    if (context_.fenced()) return;
    {
      std::lock_guard lock(run_.mutex);
      if (++run_.failures < run_.options.step_attempts || std::exchange(run_.given_up, true)) return;
    }
    run_.on_given_up("step " + std::to_string(meeting_.current_step()) + " failed " +
                     std::to_string(run_.options.step_attempts) +
                     " times without the run getting any further; the last: " + text);
  }

  // Returns false when there is nothing to do for this incarnation.
  bool obtain_state() {
    const auto given = meeting_.join(who_, trainer_);
    using kind = join_result::kind;
    switch (given.how) {
      case kind::fenced:
      case kind::finished: return false;
      case kind::recover: {
        auto origin = run_.checkpoints ? run_.checkpoints->recover(context_) : std::make_shared<const origin_state>();
        if (origin->state) trainer_->load(*origin->state);
        if (!meeting_.recovered(who_, std::move(origin))) return false;
        break;
      }
      case kind::load:
        if (given.origin->state) trainer_->load(*given.origin->state);
        break;
      case kind::copy:
        trainer_->load(given.donor->state(state_scope::stable));
        take_buffers(given.buffers);
        break;
    }
    note(event_kind::recovered);
    return meeting_.ready(who_);
  }

  void note(event_kind kind) {
    if (replacement_) context_.events().record(kind, context_.path(), context_.incarnation());
  }

  void note_caught_up(std::chrono::steady_clock::duration computed) {
    if (!std::exchange(replacement_, false)) return;
    context_.events().record({.kind = event_kind::caught_up,
                              .path = context_.path(),
                              .incarnation = context_.incarnation(),
                              .took_us = std::chrono::duration_cast<std::chrono::microseconds>(computed).count()});
    // The next replacement finds a trainer built ahead again.
    run_.spares->refill();
  }

  void take_buffers(const std::vector<torch::Tensor>& from) {
    if (from.empty()) return;
    torch::NoGradGuard no_grad;
    auto mine = trainer_->buffers();
    if (mine.size() != from.size())
      throw error(errc::schema_mismatch, "the model's number of buffers changed while training");
    for (std::size_t i = 0; i < mine.size(); ++i) {
      if (mine[i].sizes() != from[i].sizes() || mine[i].scalar_type() != from[i].scalar_type())
        throw error(errc::schema_mismatch,
                    "buffer " + std::to_string(i) + " changed its shape or dtype while training");
      mine[i].copy_(from[i]);
    }
  }

  step_context context_of(std::uint64_t step, const std::vector<std::int64_t>& samples) const {
    return {run_.options.seed,
            run_.plan->place(step).epoch,
            step,
            static_cast<std::int64_t>(who_.rank),
            run_.options.peers,
            samples};
  }

  bool take_step(std::uint64_t step) {
    auto samples = run_.plan->samples(step, static_cast<std::int64_t>(who_.rank));
    const auto where = context_of(step, samples);
    contribution found;
    const auto begin = std::chrono::steady_clock::now();
    if (!samples.empty()) found = trainer_->compute(where);
    const auto computed = std::chrono::steady_clock::now() - begin;
    context_.progress();
    auto copy = samples;
    // From here on its contribution is in.
    note_caught_up(computed);
    {
      auto result = meeting_.offer(who_, step, std::move(found), *trainer_, std::move(copy));
      if (result.how == step_result::kind::fenced) return false;
      context_.progress();
      // A step without any gradient moves nothing, and a skipped one must not.
      if (result.how == step_result::kind::apply && !result.mean.empty()) trainer_->apply(where, result.mean);
      take_buffers(result.buffers);
    }
    if (!meeting_.applied(who_)) return false;
    if (run_.checkpoints && run_.options.snapshot_every != 0 && (step + 1) % run_.options.snapshot_every == 0)
      snapshot(step + 1);
    return true;
  }

  std::optional<double> mean_loss() {
    std::lock_guard lock(run_.mutex);
    if (run_.loss_count == 0) return std::nullopt;
    const auto mean = run_.loss_sum / static_cast<double>(run_.loss_count);
    run_.loss_sum = 0;
    run_.loss_count = 0;
    return mean;
  }

  void snapshot(std::uint64_t step, bool again = false) {
    if (auto ledger = meeting_.claim_snapshot(who_, step, again)) {
      auto copied = copy_state(*trainer_, step, std::move(*ledger), mean_loss());
      // A zombie's copy may be torn by its successor's progress only in the ledger, so it is dropped whole.
      if (!context_.fenced()) run_.checkpoints->submit(std::move(copied));
    }
  }

  // After the last step: one rank makes the final state safe, the others wait for it. False: there are steps again.
  bool finish() {
    switch (meeting_.await_close(who_)) {
      case exchange::final_duty::closed:
      case exchange::final_duty::fenced: return true;
      case exchange::final_duty::save: break;
    }
    const auto step = meeting_.current_step();
    const auto alive = [this] { context_.progress(); };
    bool nothing_new = true;
    if (run_.checkpoints && run_.checkpoints->committed() != step) {
      // Whoever had the duty may be dead, or its snapshot refused: this rank has the same state.
      if (!run_.checkpoints->on_its_way(step)) snapshot(step, true);
      run_.checkpoints->await(step, run_.options.step_deadline, alive);
    }
    {
      std::lock_guard lock(run_.mutex);
      nothing_new = run_.averaged_steps == 0;
    }
    mesh_result result;
    for (const auto& w : trainer_->weights()) result.weights.push_back({w.name, w.tensor.detach().clone()});
    result.weights_hash = content_hash(result.weights).hex();
    result.steps = step;
    result.complete = step == run_.planned_steps;
    result.already_complete = nothing_new && result.complete;
    result.epochs = meeting_.ledger_epochs();
    if (run_.options.test) result.test = trainer_->evaluate(*run_.options.test, alive);
    if (context_.fenced()) return true;
    meeting_.close();
    run_.on_finished(std::move(result));
    return true;
  }

  mesh_run& run_;
  exchange& meeting_;
  child_context context_;
  membership who_;
  std::shared_ptr<trainer> trainer_;
  bool replacement_ = false;
};

}  // namespace

child_spec peer(std::shared_ptr<mesh_run> run, std::shared_ptr<exchange> meeting, rank_index rank) {
  auto spec = compute_child(
      "peer-" + std::to_string(rank),
      [run, meeting, rank](const child_context& context) { peer_loop(*run, *meeting, rank, context).run(); },
      [meeting, rank](const child_context& context) { meeting->leave(rank, context.incarnation()); });
  spec.restart = restart::transient;
  spec.shutdown = shutdown::timeout(std::chrono::seconds{5});
  spec.progress_deadline = run->options.progress_deadline;
  return spec;
}

std::vector<child_spec> mesh_children(const std::shared_ptr<mesh_run>& run) {
  const auto ranks = static_cast<std::size_t>(run->options.peers);
  const bool core_each = ranks <= std::thread::hardware_concurrency();
  exchange_options options{.ranks = ranks,
                           .total_steps = run->planned_steps,
                           .step_deadline = run->options.step_deadline,
                           .spin = core_each && ranks > 1 ? run->options.spin : std::chrono::microseconds{0},
                           .on_step = run->on_step,
                           .on_fenced = run->on_fenced};
  auto meeting =
      std::make_shared<exchange>(std::move(options), run->plan, std::make_shared<ledger>(run->plan->options().samples));
  {
    std::lock_guard lock(run->mutex);
    if (run->meeting) run->meeting->fail("the mesh was started anew");
    run->meeting = meeting;
    if (run->stopping) meeting->stop();
  }
  std::vector<child_spec> children;
  for (rank_index rank = 0; rank < ranks; ++rank) children.push_back(peer(run, meeting, rank));
  return children;
}

}  // namespace planaria::mesh
