#include <planaria/actors/mesh_job.hpp>

#include <planaria/actors/mesh/mesh_run.hpp>
#include <planaria/runtime/deadline.hpp>
#include <planaria/runtime/event_log.hpp>
#include <planaria/runtime/node.hpp>
#include <planaria/storage/error.hpp>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <optional>

namespace planaria {
namespace {

using clock = std::chrono::steady_clock;

using namespace std::chrono_literals;

constexpr std::int64_t most_peers = 1024;

// A planned fault that never happens would make a drill look passed.
void check_kills(const mesh_options& o, std::uint64_t steps) {
  for (const auto& kill : o.kills) {
    const auto where = "the kill of " + (kill.path.empty() ? std::string("the mesh") : kill.path) + " at step " +
                       std::to_string(kill.step);
    if (!kill.path.empty() && !mesh::rank_of(kill.path, o.peers))
      throw error(errc::invalid_input, where + ": there is no such peer among " + std::to_string(o.peers));
    if (kill.step > steps) throw error(errc::invalid_input, where + ": the run ends at step " + std::to_string(steps));
  }
}

std::shared_ptr<const sampler> plan_for(const mesh_options& o) {
  if (!o.make_trainer) throw error(errc::invalid_input, "a mesh needs a function that makes its trainers");
  if (!o.data) throw error(errc::invalid_input, "a mesh needs a dataset to train on");
  if (o.peers > most_peers)
    throw error(errc::invalid_input, "a mesh in one process has at most " + std::to_string(most_peers) +
                                         " peers, not " + std::to_string(o.peers) + ": each needs threads of its own");
  if (o.epochs == 0) throw error(errc::invalid_input, "epochs must be at least 1");
  if (o.threads < 1) throw error(errc::invalid_input, "threads must be at least 1, not " + std::to_string(o.threads));
  if (o.step_attempts == 0) throw error(errc::invalid_input, "step_attempts must be at least 1");
  if (o.retention.keep_last < 1) throw error(errc::invalid_input, "retention.keep_last must be at least 1");
  check_duration("step_deadline", o.step_deadline, 1ms);
  check_duration("progress_deadline", o.progress_deadline, 0ms);
  check_duration("period", o.period, 1ms);
  auto plan = std::make_shared<const sampler>(sampler_options{
      .seed = o.seed, .samples = o.data->size(), .batch = o.batch, .ranks = o.peers, .shuffle = o.shuffle});
  if (o.epochs > std::numeric_limits<std::int64_t>::max() / plan->steps_per_epoch())
    throw error(errc::invalid_input, std::to_string(o.epochs) + " epochs are more steps than can be counted");
  check_kills(o, plan->steps_per_epoch() * o.epochs);
  return plan;
}

// A trainer as all will be: what it refuses is refused before anything is made.
std::unique_ptr<trainer> probe_for(const mesh_options& o) {
  auto probe = o.make_trainer();
  if (probe->weights().empty())
    throw error(errc::invalid_input, "the model has no parameters: there is nothing to train");
  return probe;
}

// Refuses to resume a run of another model, and to begin a new one over an old one.
void check_store(const snapshots& kept, const mesh_options& o, const trainer& probe, const sampler& plan) {
  std::vector<std::string> unreadable;
  const auto all = kept.list(o.name, &unreadable);
  if (all.empty() && unreadable.empty()) return;
  if (o.start == start_from::fresh)
    throw error(errc::already_exists,
                "the store holds a run \"" + o.name + "\"" +
                    (all.empty() ? ", though unreadable" : " at step " + std::to_string(all.back().step)) +
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
  if (const auto found_plan = mesh::plan_of(*newest); found_plan != plan.describe())
    throw error(errc::schema_mismatch, "the run \"" + o.name +
                                           "\" in the store deals its samples out with other options, so some would be "
                                           "lost and others used twice: \"" +
                                           found_plan + "\" there, \"" + plan.describe() + "\" here");
  if (const auto steps = plan.steps_per_epoch() * o.epochs; origin.step > steps)
    throw error(errc::invalid_input, "the run \"" + o.name + "\" in the store is at step " +
                                         std::to_string(origin.step) + ", beyond the " + std::to_string(steps) +
                                         " steps that are asked for; ask for more epochs");
  ledger(plan.options().samples).load(origin.ledger);
}

}  // namespace

void check_options(const mesh_options& options) {
  static_cast<void>(plan_for(options));
  static_cast<void>(probe_for(options));
}

std::size_t mesh_slots(std::int64_t peers) noexcept { return 2 * static_cast<std::size_t>(peers) + 2; }

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
  if (const auto most = where.compute().options().max_slots; mesh_slots(options.peers) > most)
    throw error(errc::invalid_input, std::to_string(options.peers) + " peers need " +
                                         std::to_string(mesh_slots(options.peers)) + " compute slots, the node has " +
                                         std::to_string(most) + " (compute_options::max_slots)");
  run->planned_steps = run->plan->steps_per_epoch() * options.epochs;
  run->seen.assign(static_cast<std::size_t>(options.peers), false);
  auto probe = probe_for(options);
  if (auto* store = where.store()) {
    run->checkpoints =
        std::make_shared<mesh::checkpoint_queue>(*store, options.retention, options.name, run->plan->describe());
    check_store(run->checkpoints->stored(), options, *probe, *run->plan);
  }
  run->spares = std::make_shared<mesh::spare_trainers>(options.make_trainer, where.compute());
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
  run->on_given_up = [weak](const std::string& why) {
    auto self = weak.lock();
    if (!self) return;
    self->failed(why);
    self->where.kill(self->options.name, why);
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

// Learns of the job's end from the event log: its supervisor, or the node's, giving up or being killed or stopped is
// the job's failure, unless there is a result.
void mesh_job::impl::watch() {
  auto weak = weak_from_this();
  subscription = where.events().subscribe([weak, name = options.name](const event& e) {
    const bool gone = e.kind == event_kind::escalated || e.kind == event_kind::detected;
    if (!(e.path == name && (gone || e.kind == event_kind::stopped)) &&
        !(e.path.empty() && e.kind == event_kind::escalated))
      return;
    if (auto self = weak.lock())
      self->failed(e.kind == event_kind::stopped ? "its supervision tree was stopped from outside" : e.reason);
  });
}

void mesh_job::impl::observe(const mesh::step_report& report) {
  {
    std::lock_guard lock(run->mutex);
    if (!report.skipped && std::isfinite(report.loss)) {
      run->loss_sum += report.loss;
      ++run->loss_count;
    }
    ++run->averaged_steps;
    if (report.step >= run->furthest_step) {
      run->furthest_step = report.step + 1;
      run->failures = 0;
    }
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
  if (!impl_->change.wait_for(lock, bounded(deadline), [this] { return impl_->result || impl_->failure; }))
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
