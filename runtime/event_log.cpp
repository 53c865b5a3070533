#include <planaria/runtime/event_log.hpp>
#include <planaria/storage/detail/bytes.hpp>
#include <planaria/storage/error.hpp>
#include <planaria/storage/store.hpp>

#include <planaria/v1/event.pb.h>

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>

namespace planaria {
namespace {

using std::chrono::system_clock;

constexpr std::string_view prefix = "event/";
// How many events the store may have beyond those that are kept: they are erased together.
constexpr std::size_t erased_together = 1000;

std::string key_of(std::uint64_t sequence) { return std::string(prefix) + detail::big_endian(sequence); }

std::string encode(const event& e) {
  v1::Event record;
  record.set_boot(e.boot);
  record.set_kind(static_cast<std::uint32_t>(e.kind));
  record.set_path(e.path);
  record.set_incarnation(e.incarnation);
  record.set_reason(e.reason);
  record.set_at_us(std::chrono::duration_cast<std::chrono::microseconds>(e.at.time_since_epoch()).count());
  record.set_ticks(e.ticks);
  record.set_took_us(e.took_us);
  return record.SerializeAsString();
}

event decode(std::uint64_t sequence, std::string_view bytes) {
  v1::Event record;
  if (!record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    throw error(errc::corrupt, "event " + std::to_string(sequence) + " cannot be read");
  return {.sequence = sequence,
          .boot = record.boot(),
          .kind = static_cast<event_kind>(record.kind()),
          .path = record.path(),
          .incarnation = record.incarnation(),
          .reason = record.reason(),
          .at = system_clock::time_point(
              std::chrono::duration_cast<system_clock::duration>(std::chrono::microseconds(record.at_us()))),
          .ticks = record.ticks(),
          .took_us = record.took_us()};
}

spdlog::level::level_enum level_of(event_kind kind) {
  switch (kind) {
    case event_kind::escalated:
    case event_kind::quarantined:
    case event_kind::refused: return spdlog::level::warn;
    default: return spdlog::level::info;
  }
}

// Forgets the oldest events of earlier boots, so that a run directory does not grow for ever.
void trim(store& where, std::size_t capacity) {
  std::deque<std::string> keys;
  batch old;
  where.scan(prefix, [&](std::string_view key, std::string_view) {
    keys.emplace_back(key);
    if (keys.size() > capacity) {
      old.erase(keys.front());
      keys.pop_front();
    }
    return true;
  });
  if (!old.empty()) where.commit(old, sync_policy::none);
}

}  // namespace

std::string_view to_string(event_kind kind) noexcept {
  switch (kind) {
    case event_kind::started: return "started";
    case event_kind::killed: return "killed";
    case event_kind::detected: return "detected";
    case event_kind::respawned: return "respawned";
    case event_kind::recovered: return "recovered";
    case event_kind::caught_up: return "caught up";
    case event_kind::stopped: return "stopped";
    case event_kind::escalated: return "escalated";
    case event_kind::start_failed: return "start failed";
    case event_kind::fenced: return "fenced";
    case event_kind::slot_abandoned: return "slot abandoned";
    case event_kind::snapshot: return "snapshot";
    case event_kind::refused: return "refused";
    case event_kind::step_skipped: return "step skipped";
    case event_kind::note: return "note";
    case event_kind::ignored: return "ignored";
    case event_kind::quarantined: return "quarantined";
  }
  return "unknown";
}

std::vector<recovery> recovery_table(const std::vector<event>& events) {
  std::vector<recovery> all;
  std::map<std::string, std::pair<std::uint64_t, std::int64_t>> kills;  // path -> incarnation, ticks
  std::map<std::string, std::size_t> open;                              // path -> the recovery that goes on
  std::vector<std::int64_t> begun;
  std::vector<std::uint64_t> dead;
  for (const auto& e : events) {
    // What the dead one still tells is not its replacement's.
    auto current = open.find(e.path);
    if (current != open.end() && e.incarnation <= dead[current->second]) current = open.end();
    const auto since = [&] { return static_cast<double>(e.ticks - begun[current->second]) / 1e3; };
    switch (e.kind) {
      case event_kind::killed: kills[e.path] = {e.incarnation, e.ticks}; break;
      case event_kind::detected: {
        const auto kill = kills.find(e.path);
        const bool injected = kill != kills.end() && kill->second.first == e.incarnation;
        dead.push_back(e.incarnation);
        begun.push_back(injected ? kill->second.second : e.ticks);
        all.push_back(
            {.path = e.path, .reason = e.reason, .detected_us = static_cast<double>(e.ticks - begun.back()) / 1e3});
        open[e.path] = all.size() - 1;
        break;
      }
      case event_kind::respawned:
        if (current == open.end()) break;
        all[current->second].incarnation = e.incarnation;
        all[current->second].respawned_us = since();
        break;
      case event_kind::recovered:
        if (current != open.end() && all[current->second].incarnation <= e.incarnation)
          all[current->second].recovered_us = since();
        break;
      case event_kind::caught_up:
        if (current == open.end() || all[current->second].incarnation > e.incarnation) break;
        all[current->second].incarnation = e.incarnation;
        all[current->second].caught_up_us = since();
        all[current->second].recomputed_us = static_cast<double>(e.took_us);
        open.erase(current);
        break;
      default: break;
    }
  }
  return all;
}

struct event_log::impl {
  std::uint64_t boot = 0;
  std::size_t capacity = 0;
  bool persists = false;
  clock now;
  std::shared_ptr<spdlog::logger> log;

  std::mutex store_mutex;
  planaria::store* store = nullptr;  // guarded by store_mutex, as all below
  std::uint64_t written = 0;
  std::uint64_t erased = 0;  // of those written

  // By count, since whole events arrive out of order here.
  void write(const event& what) {
    std::lock_guard lock(store_mutex);
    if (store == nullptr) return;
    try {
      store->put(key_of(what.sequence), encode(what), sync_policy::none);
      if (++written < erased + capacity + erased_together) return;
      batch old;
      while (erased + capacity < written) old.erase(key_of((boot << 32) | ++erased));
      store->commit(old, sync_policy::none);
    } catch (const error& failed) {
      log->error("an event could not be kept: {}", failed.what());
    }
  }

  mutable std::mutex mutex;
  std::deque<event> kept;   // guarded by mutex
  std::uint64_t count = 0;  // guarded by mutex

  std::mutex subscribers_mutex;
  std::map<std::uint64_t, subscriber> subscribers;  // guarded by subscribers_mutex
  std::uint64_t next_subscriber = 1;
  std::atomic<bool> subscribed{false};
};

event_log::event_log(planaria::store* where, const std::string& log_level, std::size_t capacity, clock now)
    : impl_(std::make_unique<impl>()) {
  if (!now) now = [] { return time{std::chrono::steady_clock::now(), system_clock::now()}; };
  impl_->now = std::move(now);
  impl_->store = where;
  impl_->persists = where != nullptr;
  impl_->capacity = capacity;
  impl_->log = std::make_shared<spdlog::logger>("planaria", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  impl_->log->set_level(spdlog::level::from_str(log_level));
  if (where == nullptr || where->options().mode == open_mode::read_only) return;
  impl_->boot = where->boot();
  trim(*where, capacity);
}

event_log::~event_log() = default;

void event_log::record(event what) {
  const auto now = impl_->now();
  if (what.ticks == 0) what.ticks = now.ticks.time_since_epoch() / std::chrono::nanoseconds(1);
  if (what.at == system_clock::time_point{}) what.at = now.at;
  what.boot = impl_->boot;
  {
    std::lock_guard lock(impl_->mutex);
    what.sequence = (impl_->boot << 32) | ++impl_->count;
    impl_->kept.push_back(what);
    if (impl_->kept.size() > impl_->capacity) impl_->kept.pop_front();
  }
  if (impl_->persists) impl_->write(what);
  if (impl_->subscribed.load(std::memory_order_acquire)) {
    std::lock_guard lock(impl_->subscribers_mutex);
    for (const auto& [id, callback] : impl_->subscribers) callback(what);
  }
  const auto level = level_of(what.kind);
  if (impl_->log->should_log(level))
    impl_->log->log(level, "{} {} (incarnation {}){}{}", what.path, to_string(what.kind), what.incarnation,
                    what.reason.empty() ? "" : ": ", what.reason);
}

void event_log::record(event_kind kind, std::string_view path, std::uint64_t incarnation, std::string_view reason) {
  record({.kind = kind, .path = std::string(path), .incarnation = incarnation, .reason = std::string(reason)});
}

std::vector<event> event_log::events() const {
  std::lock_guard lock(impl_->mutex);
  return {impl_->kept.begin(), impl_->kept.end()};
}

std::uint64_t event_log::subscribe(subscriber callback) {
  std::lock_guard lock(impl_->subscribers_mutex);
  impl_->subscribed.store(true, std::memory_order_release);
  impl_->subscribers.emplace(impl_->next_subscriber, std::move(callback));
  return impl_->next_subscriber++;
}

void event_log::unsubscribe(std::uint64_t id) {
  std::lock_guard lock(impl_->subscribers_mutex);
  impl_->subscribers.erase(id);
  impl_->subscribed.store(!impl_->subscribers.empty(), std::memory_order_release);
}

void event_log::detach() {
  std::lock_guard lock(impl_->store_mutex);
  impl_->store = nullptr;
}

std::vector<event> event_log::history(const planaria::store& where) {
  std::vector<event> all;
  where.scan(prefix, [&](std::string_view key, std::string_view value) {
    if (key.size() == prefix.size() + sizeof(std::uint64_t))
      all.push_back(decode(detail::read_big_endian<std::uint64_t>(key.substr(prefix.size())), value));
    return true;
  });
  return all;
}

}  // namespace planaria
