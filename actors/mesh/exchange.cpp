#include <planaria/actors/mesh/exchange.hpp>
#include <planaria/storage/error.hpp>

#include <algorithm>
#include <thread>

namespace planaria::mesh {
namespace {

using clock = std::chrono::steady_clock;

// Below this size waking helpers costs more than their help saves.
constexpr std::size_t help_from_bytes = std::size_t{512} << 10;
// The longest that a waiting rank stays silent.
constexpr std::chrono::milliseconds tick{50};

// About a third of a microsecond: a tighter loop takes from the core's other thread, which may be the awaited rank's.
void pause_cpu() noexcept {
#if defined(__x86_64__)
  for (int i = 0; i < 16; ++i) __builtin_ia32_pause();
#endif
}

std::string describe(torch::ScalarType type, torch::IntArrayRef sizes) {
  return std::string(c10::toString(type)) + " " + sizes_text(sizes);
}

std::string rank_name(rank_index rank) { return "peer-" + std::to_string(rank); }

}  // namespace

exchange::exchange(exchange_options options, std::shared_ptr<const sampler> plan, std::shared_ptr<ledger> samples_used)
    : options_(std::move(options)),
      plan_(std::move(plan)),
      protocol_(options_.ranks, options_.total_steps),
      ranks_(options_.ranks),
      ledger_(std::move(samples_used)) {}

std::vector<exchange::parameter> exchange::parameters_of(const tensor_map& weights) {
  std::vector<parameter> all;
  for (const auto& w : weights)
    if (!w.name.starts_with(buffer_prefix)) all.push_back({w.name, w.tensor.scalar_type(), w.tensor.sizes().vec()});
  return all;
}

void exchange::changed() {
  changes_.fetch_add(1, std::memory_order_release);
  change_.notify_all();
}

void exchange::changed_for_joiners() {
  if (joiners_ > 0) changed();
}

// Without the lock: whoever is told may ask the mesh in return.
void exchange::fenced(lock& held, const membership& who, const char* what) {
  held.unlock();
  fenced_count_.fetch_add(1, std::memory_order_relaxed);
  if (options_.on_fenced)
    options_.on_fenced(rank_name(who.rank) + " incarnation " + std::to_string(who.incarnation) + ": " + what +
                       " was dropped");
}

void exchange::check_failed() const {
  if (!failure_.empty()) throw error(errc::stopped, failure_);
}

// Waits with the lock held before and after, until `ready` says so: spins first when every rank has a core, then
// blocks.
template <class Ready>
void exchange::wait(lock& held, const membership& who, Ready ready) {
  const auto begin = clock::now();
  auto seen = changes_.load(std::memory_order_acquire);
  while (!ready()) {
    check_failed();
    const auto waited = clock::now() - begin;
    if (waited > options_.step_deadline)
      throw error(errc::timeout, rank_name(who.rank) + " waited " +
                                     std::to_string(std::chrono::duration_cast<std::chrono::seconds>(waited).count()) +
                                     " s at step " + std::to_string(protocol_.step()) + " for the other ranks");
    if (waited < options_.spin) {
      held.unlock();
      const auto until = begin + options_.spin;
      while (changes_.load(std::memory_order_acquire) == seen && clock::now() < until) pause_cpu();
      held.lock();
    } else {
      if (who.alive) who.alive();
      change_.wait_for(held, tick);
    }
    seen = changes_.load(std::memory_order_acquire);
  }
}

void exchange::check_schema(const membership& who, std::uint64_t schema, const trainer& self) {
  for (rank_index r = 0; r < ranks_.size(); ++r) {
    if (r == who.rank || !ranks_[r].self || ranks_[r].schema == schema) continue;
    const auto difference = schema_difference(ranks_[r].self->weights(), self.weights());
    throw error(errc::schema_mismatch,
                rank_name(who.rank) + " has another model than " + rank_name(r) + ": " + difference);
  }
  ranks_[who.rank].schema = schema;
}

// What is averaged is read by all ranks as the first trainer described it: anything else is the trainer's fault.
void exchange::check_contribution(const membership& who, const contribution& found, bool has_samples) const {
  const auto refuse = [&](const std::string& why) {
    throw error(errc::user_error, rank_name(who.rank) + "'s contribution to step " + std::to_string(protocol_.step()) +
                                      " cannot be averaged: " + why);
  };
  const auto& gradients = found.gradients;
  const auto wanted = has_samples && expected_ ? expected_->size() : 0;
  if (gradients.size() != wanted)
    refuse("it has " + std::to_string(gradients.size()) + " gradients, not " + std::to_string(wanted));
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const auto& g = gradients[i];
    if (!g.defined()) continue;
    const auto& p = (*expected_)[i];
    if (g.scalar_type() != p.type || g.sizes() != p.sizes)
      refuse("the gradient of " + p.name + " is " + describe(g.scalar_type(), g.sizes()) + ", not " +
             describe(p.type, p.sizes));
    if (!g.is_contiguous() || !g.device().is_cpu() || g.is_sparse())
      refuse("the gradient of " + p.name + " is not a contiguous tensor in the CPU's memory");
  }
}

grant exchange::await_grant(lock& held, const membership& who) {
  struct counted {
    explicit counted(std::size_t& n) : count(n) { ++count; }
    ~counted() { --count; }
    std::size_t& count;
  } joiner(joiners_);
  grant given;
  wait(held, who, [&] {
    given = protocol_.ask(who.rank, who.incarnation);
    return given.what != grant::kind::wait;
  });
  return given;
}

join_result exchange::join(const membership& who, std::shared_ptr<const trainer> self) {
  const auto weights = self->weights();
  const auto schema = schema_hash(weights);
  auto expected = parameters_of(weights);
  lock held(mutex_);
  check_failed();
  if (!protocol_.enter(who.rank, who.incarnation)) {
    fenced(held, who, "joining");
    return {};
  }
  check_schema(who, schema, *self);
  if (!expected_) expected_ = std::move(expected);
  changed();
  const auto given = await_grant(held, who);
  // The rank is another's by now, and so is its place here.
  if (given.what == grant::kind::fenced) {
    fenced(held, who, "joining");
    return {};
  }
  using kind = join_result::kind;
  join_result result;
  switch (given.what) {
    case grant::kind::finished: result.how = kind::finished; break;
    case grant::kind::recover: result.how = kind::recover; break;
    case grant::kind::load: result = {kind::load, origin_, nullptr, {}}; break;
    case grant::kind::copy: result = {kind::copy, nullptr, ranks_[given.donor].self, boundary_buffers_}; break;
    case grant::kind::fenced:
    case grant::kind::wait: break;
  }
  ranks_[who.rank].self = std::move(self);
  return result;
}

bool exchange::recovered(const membership& who, std::shared_ptr<const origin_state> origin) {
  lock held(mutex_);
  if (!protocol_.recovered(who.rank, who.incarnation, origin->step)) return false;
  if (origin->ledger.empty())
    *ledger_ = ledger(plan_->options().samples);
  else
    ledger_->load(origin->ledger);
  origin_ = std::move(origin);
  boundary_buffers_.clear();
  claim_.reset();
  for (auto& r : ranks_) {
    r.found = {};
    r.buffers.clear();
    r.samples.clear();
  }
  return true;
}

bool exchange::ready(const membership& who) {
  lock held(mutex_);
  if (!protocol_.ready(who.rank, who.incarnation)) return false;
  if (boundary_buffers_.empty()) publish_buffers(ranks_[who.rank].self->buffers());
  changed();
  return true;
}

std::optional<std::uint64_t> exchange::step(const membership& who) const {
  lock held(mutex_);
  if (!protocol_.current(who.rank, who.incarnation) || protocol_.step() >= protocol_.total()) return std::nullopt;
  return protocol_.step();
}

step_result exchange::offer(const membership& who, std::uint64_t step, contribution found, const trainer& self,
                            std::vector<std::int64_t> samples) {
  auto buffers = self.buffers();
  lock held(mutex_);
  check_contribution(who, found, !samples.empty());
  if (!protocol_.offer(who.rank, who.incarnation, step)) {
    fenced(held, who, "its gradient");
    return {};
  }
  auto& mine = ranks_[who.rank];
  mine.found = std::move(found);
  mine.buffers = std::move(buffers);
  mine.samples = std::move(samples);
  changed_for_joiners();
  std::shared_ptr<shared_mean> helped;
  if (protocol_.complete()) {
    protocol_.seal();
    or_fail(held, step, [&] {
      averaging_ = begin_averaging();
      if (averaging_->bytes() >= help_from_bytes) changed();
      helped = averaging_;
      if (helped->empty()) finish_averaging(held, *helped);
    });
    if (!helped->empty()) help(held, helped);
  }
  const auto over = [&] { return protocol_.step() != step || !protocol_.current(who.rank, who.incarnation); };
  while (!over()) {
    wait(held, who,
         [&] { return over() || (averaging_ && averaging_ != helped && averaging_->bytes() >= help_from_bytes); });
    if (over() || averaging_ == nullptr) continue;
    helped = averaging_;
    help(held, helped);
  }
  return result_for(who);
}

step_result exchange::result_for(const membership& who) {
  if (!protocol_.current(who.rank, who.incarnation)) return {};
  step_result result;
  result.how = skipped_ ? step_result::kind::skip : step_result::kind::apply;
  result.buffers = boundary_buffers_;
  if (skipped_) return result;
  result.mean = mean_;
  readers_->fetch_add(1, std::memory_order_relaxed);
  result.lease =
      std::shared_ptr<void>(nullptr, [readers = readers_](void*) { readers->fetch_sub(1, std::memory_order_release); });
  return result;
}

std::shared_ptr<shared_mean> exchange::begin_averaging() {
  std::int64_t total = 0;
  for (const auto& r : ranks_) total += static_cast<std::int64_t>(r.samples.size());
  std::vector<summand> summands;
  for (rank_index r = 0; r < ranks_.size(); ++r) {
    const auto weight =
        static_cast<double>(ranks_[r].samples.size()) / static_cast<double>(std::max<std::int64_t>(total, 1));
    summands.push_back({ranks_[r].found.gradients, weight, static_cast<std::int64_t>(r)});
  }
  mean_.clear();
  // A zombie may still read the last mean: then the next one gets memory of its own.
  const bool idle = readers_ != nullptr && readers_->load(std::memory_order_acquire) == 0;
  if (!idle) mean_memory_.clear();
  return std::make_shared<shared_mean>(std::move(summands), mean_memory_);
}

void exchange::help(lock& held, const std::shared_ptr<shared_mean>& averaging) {
  or_fail(held, protocol_.step(), [&] {
    held.unlock();
    const bool last = averaging->work();
    held.lock();
    if (last) finish_averaging(held, *averaging);
  });
}

// A step whose averaging broke off would stay sealed for ever: the mesh fails instead, and its supervisor makes
// another.
template <class Part>
void exchange::or_fail(lock& held, std::uint64_t step, Part part) {
  try {
    part();
  } catch (const std::exception& broken) {
    if (!held.owns_lock()) held.lock();
    if (protocol_.sealed() && protocol_.step() == step && failure_.empty()) {
      failure_ = "the averaging of step " + std::to_string(step) + " broke off: " + broken.what();
      changed();
    }
    throw;
  }
}

void exchange::finish_averaging(lock& held, const shared_mean& done) {
  const auto report = report_of(done);
  skipped_ = report.skipped;
  mean_ = done.mean();
  mean_memory_ = done.reusable();
  readers_ = std::make_shared<std::atomic<int>>(0);
  const auto place = plan_->place(report.step);
  bool published = skipped_;
  for (auto& r : ranks_) {
    ledger_->mark(place.epoch, r.samples);
    if (!published && !r.samples.empty()) {
      publish_buffers(r.buffers);
      published = true;
    }
    r.found = {};
    r.buffers.clear();
    r.samples.clear();
  }
  if (place.step_in_epoch + 1 == plan_->steps_per_epoch()) ledger_->close(place.epoch);
  averaging_.reset();
  origin_.reset();
  protocol_.advance();
  changed();
  if (!options_.on_step) return;
  held.unlock();
  options_.on_step(report);
  held.lock();
}

step_report exchange::report_of(const shared_mean& done) const {
  step_report report{.step = protocol_.step(), .epoch = plan_->place(protocol_.step()).epoch};
  double loss = 0;
  for (const auto& r : ranks_) {
    report.samples += static_cast<std::int64_t>(r.samples.size());
    loss += r.found.loss * static_cast<double>(r.samples.size());
  }
  report.loss = loss / static_cast<double>(std::max<std::int64_t>(report.samples, 1));
  if (done.finite()) return report;
  report.skipped = true;
  const auto [rank, tensor] = done.culprit();
  if (rank < 0) {
    report.skip_reason = "the mean gradient overflowed";
    return report;
  }
  const auto& self = ranks_[static_cast<std::size_t>(rank)].self;
  report.skip_reason = "gradient of " + self->weights().at(tensor).name + " on " +
                       rank_name(static_cast<rank_index>(rank)) + " is not finite";
  return report;
}

void exchange::publish_buffers(const std::vector<torch::Tensor>& from) {
  torch::NoGradGuard no_grad;
  boundary_buffers_.clear();
  for (const auto& buffer : from) boundary_buffers_.push_back(buffer.detach().clone());
}

bool exchange::applied(const membership& who) {
  lock held(mutex_);
  if (!protocol_.applied(who.rank, who.incarnation)) {
    fenced(held, who, "its step");
    return false;
  }
  changed_for_joiners();
  return true;
}

std::optional<std::string> exchange::claim_snapshot(const membership& who, std::uint64_t step, bool again) {
  lock held(mutex_);
  if (!protocol_.current(who.rank, who.incarnation) || protocol_.step() != step) return std::nullopt;
  if (claim_ && claim_->step == step && !again) return std::nullopt;
  claim_ = {step, who.rank, who.incarnation};
  return ledger_->save();
}

void exchange::close() {
  lock held(mutex_);
  closed_ = true;
  protocol_.close();
  changed();
}

exchange::final_duty exchange::await_close(const membership& who) {
  lock held(mutex_);
  wait(held, who, [&] { return closed_ || !saver_ || !protocol_.current(who.rank, who.incarnation); });
  if (!protocol_.current(who.rank, who.incarnation)) return final_duty::fenced;
  if (closed_) return final_duty::closed;
  saver_ = {who.rank, who.incarnation};
  return final_duty::save;
}

void exchange::leave(rank_index rank, std::uint64_t incarnation) {
  lock held(mutex_);
  protocol_.leave(rank, incarnation);
  if (saver_ == std::pair{rank, incarnation}) saver_.reset();
  // It may have died before it handed the state over: whoever comes by next may have the duty.
  if (claim_ && claim_->rank == rank && claim_->incarnation == incarnation) claim_.reset();
  changed();
}

void exchange::stop() {
  lock held(mutex_);
  protocol_.stop_early();
  changed();
}

void exchange::fail(std::string reason) {
  lock held(mutex_);
  failure_ = std::move(reason);
  changed();
}

std::vector<epoch_count> exchange::ledger_epochs() const {
  lock held(mutex_);
  return ledger_->epochs();
}

std::uint64_t exchange::current_step() const {
  lock held(mutex_);
  return protocol_.step();
}

std::uint64_t exchange::total_steps() const {
  lock held(mutex_);
  return protocol_.total();
}

}  // namespace planaria::mesh
