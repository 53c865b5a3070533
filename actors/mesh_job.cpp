#include <planaria/actors/mesh_job.hpp>

#include <planaria/actors/mesh/mesh_run.hpp>
#include <planaria/runtime/event_log.hpp>
#include <planaria/runtime/node.hpp>
#include <planaria/storage/error.hpp>

#include <algorithm>
#include <condition_variable>
#include <optional>

namespace planaria {
namespace {

using clock = std::chrono::steady_clock;

std::shared_ptr<const sampler> plan_for(const mesh_options& o) {
  if (!o.make_trainer) throw error(errc::invalid_input, "a mesh needs a function that makes its trainers");
  if (!o.data) throw error(errc::invalid_input, "a mesh needs a dataset to train on");
  if (o.epochs == 0) throw error(errc::invalid_input, "epochs must be at least 1");
  if (o.threads < 1) throw error(errc::invalid_input, "threads must be at least 1, not " + std::to_string(o.threads));
  return std::make_shared<const sampler>(sampler_options{
      .seed = o.seed, .samples = o.data->size(), .batch = o.batch, .ranks = o.peers, .shuffle = o.shuffle});
}

// How many share the process decides what a model may use; any of them shows its parameters.
std::unique_ptr<trainer> probe_for(const mesh_options& o) {
  auto probe = o.make_trainer(o.peers);
  if (probe->weights().empty())
    throw error(errc::invalid_input, "the model has no parameters: there is nothing to train");
  return probe;
}

// Refuses to resume a run of another model, and to begin a new one over an old one.
void check_store(const snapshots& kept, const mesh_options& o, const trainer& probe, std::int64_t samples) {
  const auto all = kept.list(o.name);
  if (all.empty()) return;
  if (o.start == start_from::fresh)
    throw error(errc::already_exists, "the store holds a run \"" + o.name + "\" at step " +
                                          std::to_string(all.back().step) +
                                          "; resume it, or use another run directory");
  const auto newest = kept.recover(o.name);
  if (!newest) return;
  const auto origin = mesh::origin_from(*newest);
  const auto own = probe.state(state_scope::complete);
  tensor_map expected;
  for (const auto& w : own.tensors)
    if (!w.name.starts_with("optimizer/")) expected.push_back(w);
  tensor_map found;
  for (const auto& w : origin.state->tensors)
    if (!w.name.starts_with("optimizer/")) found.push_back(w);
  const auto difference = schema_difference(expected, found);
  if (!difference.empty())
    throw error(errc::schema_mismatch, "the run \"" + o.name + "\" in the store is of another model: " + difference);
  if (origin.state->options != own.options)
    throw error(errc::schema_mismatch,
                "the run \"" + o.name +
                    "\" in the store was trained with other options, and would not end with the same bits: \"" +
                    origin.state->options + "\" there, \"" + own.options + "\" here");
  ledger(samples).load(origin.ledger);
}

}  // namespace

void check_options(const mesh_options& options) {
  static_cast<void>(plan_for(options));
  static_cast<void>(probe_for(options));
}

struct mesh_job::impl : std::enable_shared_from_this<mesh_job::impl> {
  impl(node& n, mesh_options o) : where(n), options(std::move(o)) {}

  void prepare();
  void begin();
  void observe(const mesh::step_report& report);
  void finished(mesh_result result);
  void failed(const std::string& reason);
  void fire(std::uint64_t step);
  void watch();
  [[nodiscard]] std::string mesh_path() const { return options.name + "/mesh"; }

  node& where;
  mesh_options options;
  std::shared_ptr<mesh::mesh_run> run;
  std::function<void(const mesh_progress&)> callback;
  std::uint64_t subscription = 0;

  mutable std::mutex mutex;
  std::condition_variable change;
  mesh_progress now;  // guarded by mutex, as all below
  std::optional<clock::time_point> first_step;
  std::optional<mesh_result> result;
  std::optional<std::string> failure;
  std::vector<mesh::planned_kill> kills;  // not yet fired, by step
  bool started = false;
};

void mesh_job::impl::prepare() {
  run = std::make_shared<mesh::mesh_run>();
  run->options = options;
  run->plan = plan_for(options);
  run->planned_steps = run->plan->steps_per_epoch() * options.epochs;
  run->seen.assign(static_cast<std::size_t>(options.peers), false);
  auto probe = probe_for(options);
  if (auto* store = where.store()) {
    run->checkpoints = std::make_shared<mesh::checkpoint_queue>(*store, options.retention, options.name);
    check_store(run->checkpoints->stored(), options, *probe, options.data->size());
  }
  run->spares = std::make_shared<mesh::spare_trainers>(options.make_trainer, options.peers, where.compute());
  run->spares->keep(std::move(probe));
  kills = options.kills;
  std::stable_sort(kills.begin(), kills.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
  now.total_steps = run->planned_steps;
}

void mesh_job::impl::begin() {
  // The callbacks hold the job weakly: a zombie peer may outlive it.
  auto weak = weak_from_this();
  run->on_step = [weak](const mesh::step_report& report) {
    if (auto self = weak.lock()) self->observe(report);
  };
  run->on_finished = [weak](mesh_result done) {
    if (auto self = weak.lock()) self->finished(std::move(done));
  };
  run->on_fenced = [weak, path = mesh_path()](const std::string& what) {
    if (auto self = weak.lock()) self->where.events().record(event_kind::fenced, path, 0, what);
  };
  watch();
  supervisor_options job{.strategy = strategy::rest_for_one, .intensity = 3, .period = std::chrono::seconds{60}};
  supervisor_options mesh{.intensity = options.intensity, .period = options.period};
  // The other peers wait for the replacement: pauses begin short, and the intensity bounds a crash loop.
  mesh.backoff = {.step = std::chrono::milliseconds{1},
                  .maximum = std::chrono::milliseconds{100},
                  .reset_after = std::chrono::milliseconds{100}};
  std::vector<child_spec> children;
  if (run->checkpoints) children.push_back(mesh::checkpoint_queue::writer(run->checkpoints));
  children.push_back(supervisor("mesh", mesh, [shared = run] { return mesh::mesh_children(shared); }));
  auto spec = supervisor(options.name, job, std::move(children));
  spec.restart = restart::temporary;
  where.start(std::move(spec));
  fire(0);
}

// Learns of the job's end from the event log: its supervisor giving up, or being killed, is the job's failure.
void mesh_job::impl::watch() {
  auto weak = weak_from_this();
  subscription = where.events().subscribe([weak, name = options.name](const event& e) {
    if (e.path != name || (e.kind != event_kind::escalated && e.kind != event_kind::detected)) return;
    if (auto self = weak.lock()) self->failed(e.reason);
  });
}

void mesh_job::impl::observe(const mesh::step_report& report) {
  {
    std::lock_guard lock(run->mutex);
    run->loss_sum += report.loss;
    ++run->loss_count;
    ++run->averaged_steps;
  }
  if (report.skipped)
    where.events().record(event_kind::step_skipped, mesh_path(), 0,
                          "step " + std::to_string(report.step) + ": " + report.skip_reason);
  mesh_progress copy;
  {
    std::lock_guard lock(mutex);
    if (!first_step) first_step = clock::now();
    now.step = report.step + 1;
    now.epoch = report.epoch;
    now.loss = report.loss;
    now.samples += report.samples;
    ++now.averaged_steps;
    now.skipped_steps += report.skipped ? 1 : 0;
    now.seconds = std::chrono::duration<double>(clock::now() - *first_step).count();
    copy = now;
  }
  if (copy.averaged_steps == 1) run->spares->refill();
  fire(report.step + 1);
  if (callback) callback(copy);
}

void mesh_job::impl::fire(std::uint64_t step) {
  std::vector<mesh::planned_kill> due;
  {
    std::lock_guard lock(mutex);
    while (!kills.empty() && kills.front().step <= step) {
      due.push_back(kills.front());
      kills.erase(kills.begin());
    }
  }
  for (const auto& kill : due)
    where.kill(kill.path.empty() ? mesh_path() : mesh_path() + "/" + kill.path,
               "fault plan: killed at step " + std::to_string(kill.step));
}

void mesh_job::impl::finished(mesh_result done) {
  run->spares->close();
  if (run->checkpoints) run->checkpoints->close();
  std::lock_guard lock(mutex);
  if (!result) result = std::move(done);
  change.notify_all();
}

void mesh_job::impl::failed(const std::string& reason) {
  std::lock_guard lock(mutex);
  if (!failure) failure = reason;
  change.notify_all();
}

mesh_job::mesh_job(node& where, mesh_options options) : impl_(std::make_shared<impl>(where, std::move(options))) {
  impl_->prepare();
}

mesh_job::~mesh_job() {
  if (!impl_->started) return;
  impl_->where.events().unsubscribe(impl_->subscription);
  try {
    impl_->where.stop(impl_->options.name);
    impl_->where.remove(impl_->options.name);
  } catch (const error& gone) {
    // It has ended by itself: nothing is left to stop.
    static_cast<void>(gone);
  }
  impl_->run->spares->close();
}

void mesh_job::start() {
  if (impl_->started)
    throw error(errc::already_exists, "the job \"" + impl_->options.name + "\" has been started before");
  impl_->begin();
  impl_->started = true;
}

void mesh_job::stop() {
  std::lock_guard lock(impl_->run->mutex);
  impl_->run->stopping = true;
  if (impl_->run->meeting) impl_->run->meeting->stop();
}

mesh_result mesh_job::wait(std::chrono::milliseconds deadline) {
  std::unique_lock lock(impl_->mutex);
  if (!impl_->change.wait_for(lock, deadline, [this] { return impl_->result || impl_->failure; }))
    throw error(errc::timeout, "the job \"" + impl_->options.name + "\" did not end in time; it is at step " +
                                   std::to_string(impl_->now.step) + " of " + std::to_string(impl_->now.total_steps));
  if (!impl_->result)
    throw error(errc::limit_reached, "the job \"" + impl_->options.name + "\" failed: " + *impl_->failure);
  return *impl_->result;
}

bool mesh_job::ended() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->result || impl_->failure;
}

mesh_progress mesh_job::progress() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->now;
}

std::vector<epoch_count> mesh_job::ledger() const {
  std::lock_guard lock(impl_->run->mutex);
  return impl_->run->meeting ? impl_->run->meeting->ledger_epochs() : std::vector<epoch_count>{};
}

void mesh_job::on_step(std::function<void(const mesh_progress&)> callback) { impl_->callback = std::move(callback); }

}  // namespace planaria
