#include <planaria/actors/mesh/checkpoint.hpp>
#include <planaria/runtime/compute_child.hpp>
#include <planaria/runtime/deadline.hpp>
#include <planaria/runtime/event_log.hpp>
#include <planaria/storage/error.hpp>

#include <algorithm>

namespace planaria::mesh {
namespace {

constexpr const char* state_prefix = "state/";
constexpr const char* ledger_part = "ledger";
constexpr const char* plan_part = "plan";
constexpr std::chrono::milliseconds tick{50};

const std::string& part(const loaded_snapshot& of, const char* name) {
  const auto found = std::find_if(of.parts.begin(), of.parts.end(), [&](const auto& p) { return p.name == name; });
  if (found == of.parts.end()) throw error(errc::corrupt, "snapshot " + snapshot_name(of.info.id) + " has no " + name);
  return found->bytes;
}

}  // namespace

pending_snapshot copy_state(const trainer& from, std::uint64_t step, std::string ledger, std::optional<double> metric) {
  auto state = from.state(state_scope::complete);
  return {step,   schema_hash(from.weights()),         std::move(state.options), std::move(ledger),
          metric, encoded_tensors::copy(state.tensors)};
}

origin_state origin_from(const loaded_snapshot& loaded) {
  origin_state origin{.step = loaded.info.step};
  trainer_state state;
  state.options = loaded.info.meta;
  state.tensors = decode_tensors(loaded.parts, state_prefix);
  origin.state = std::move(state);
  origin.ledger = part(loaded, ledger_part);
  return origin;
}

std::string plan_of(const loaded_snapshot& loaded) { return part(loaded, plan_part); }

void checkpoint_queue::submit(pending_snapshot next) {
  std::lock_guard lock(mutex_);
  waiting_ = std::make_shared<const pending_snapshot>(std::move(next));
  failed_.reset();
  change_.notify_all();
}

void checkpoint_queue::await(std::uint64_t step, std::chrono::milliseconds deadline,
                             const std::function<void()>& alive) {
  const auto until = std::chrono::steady_clock::now() + bounded(deadline);
  std::unique_lock lock(mutex_);
  while (!(committed_ && *committed_ >= step)) {
    if (failed_ && failed_->first >= step) throw error(errc::io, failed_->second);
    if (std::chrono::steady_clock::now() > until)
      throw error(errc::timeout, "the snapshot of step " + std::to_string(step) + " was not committed in time");
    alive();
    change_.wait_for(lock, tick);
  }
}

void checkpoint_queue::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  change_.notify_all();
}

bool checkpoint_queue::on_its_way(std::uint64_t step) const {
  std::lock_guard lock(mutex_);
  return (waiting_ && waiting_->step >= step) || (writing_ && writing_->step >= step);
}

std::optional<std::uint64_t> checkpoint_queue::committed() const {
  std::lock_guard lock(mutex_);
  return committed_;
}

void checkpoint_queue::wake() {
  std::lock_guard lock(mutex_);
  change_.notify_all();
}

child_spec checkpoint_queue::writer(std::shared_ptr<checkpoint_queue> queue) {
  auto spec = compute_child(
      "snapshots", [queue](const child_context& context) { queue->serve(context); },
      [queue](const child_context&) { queue->wake(); });
  spec.restart = restart::transient;
  return spec;
}

void checkpoint_queue::serve(const child_context& context) {
  std::unique_lock lock(mutex_);
  // What the incarnation before was writing may not have been committed.
  if (writing_ && !waiting_) waiting_ = writing_;
  writing_.reset();
  while (!context.fenced()) {
    context.progress();
    if (!waiting_) {
      if (closed_) return;
      change_.wait_for(lock, tick);
      continue;
    }
    const auto mine = std::exchange(waiting_, nullptr);
    writing_ = mine;
    lock.unlock();
    write(context, *mine);
    lock.lock();
    if (!context.fenced()) writing_.reset();
    change_.notify_all();
  }
}

void checkpoint_queue::write(const child_context& context, const pending_snapshot& what) {
  snapshot_request request{.run = run_,
                           .step = what.step,
                           .schema_hash = what.schema_hash,
                           .metric = what.metric,
                           .meta = what.options,
                           .parts = what.state.parts(state_prefix)};
  request.parts.push_back({ledger_part, std::as_bytes(std::span(what.ledger))});
  request.parts.push_back({plan_part, std::as_bytes(std::span(plan_))});
  try {
    const auto written = where_.write(request);
    {
      std::lock_guard lock(mutex_);
      committed_ = std::max(committed_.value_or(0), what.step);
    }
    context.events().record(event_kind::snapshot, context.path(), context.incarnation(),
                            "step " + std::to_string(what.step) + ", " + std::to_string(written.bytes) + " bytes");
  } catch (const error& refused) {
    {
      std::lock_guard lock(mutex_);
      failed_ = {what.step, refused.what()};
    }
    context.events().record(event_kind::refused, context.path(), context.incarnation(),
                            "snapshot of step " + std::to_string(what.step) + ": " + refused.what());
  }
}

std::shared_ptr<const origin_state> checkpoint_queue::recover(const child_context& context) {
  const auto loaded = where_.recover(run_);
  if (!loaded) return std::make_shared<const origin_state>();
  for (const auto& skipped : loaded->skipped)
    context.events().record(event_kind::refused, context.path(), context.incarnation(), skipped);
  if (loaded->skipped.empty()) {
    std::lock_guard lock(mutex_);
    committed_ = std::max(committed_.value_or(0), loaded->info.step);
  }
  return std::make_shared<const origin_state>(origin_from(*loaded));
}

}  // namespace planaria::mesh
