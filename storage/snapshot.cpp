#include <planaria/storage/detail/bytes.hpp>
#include <planaria/storage/detail/names.hpp>
#include <planaria/storage/error.hpp>
#include <planaria/storage/hash.hpp>
#include <planaria/storage/snapshot.hpp>
#include <planaria/storage/store.hpp>

#include <planaria/v1/snapshot.pb.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace planaria {
namespace {

using std::chrono::system_clock;

constexpr std::uint32_t record_format = 1;
constexpr std::string_view record_prefix = "snapshot/";
constexpr std::string_view verified_prefix = "verified/";
constexpr std::string_view blob_prefix = "s/";

std::string record_key(std::uint64_t id) { return std::string(record_prefix) + detail::big_endian(id); }
std::string verified_key(std::uint64_t id) { return std::string(verified_prefix) + detail::big_endian(id); }
std::string mark_of(const std::string& run) { return "snapshot/" + run; }

std::string parts_prefix(std::uint64_t id) {
  return std::string(blob_prefix) + digest{id, 0}.hex().substr(0, 16) + "/";
}

std::uint64_t id_of_blob(std::string_view key) {
  std::uint64_t id = 0;
  for (const char c : key.substr(blob_prefix.size(), 16))
    id = (id << 4) | static_cast<std::uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
  return id;
}

std::string describe(const snapshot_info& s) {
  return "snapshot " + snapshot_name(s.id) + " (step " + std::to_string(s.step) + ")";
}

std::int64_t microseconds(system_clock::time_point at) {
  return std::chrono::duration_cast<std::chrono::microseconds>(at.time_since_epoch()).count();
}

system_clock::time_point time_of(std::int64_t us) {
  return system_clock::time_point(std::chrono::duration_cast<system_clock::duration>(std::chrono::microseconds(us)));
}

std::string record_of(const snapshot_info& s) {
  v1::Snapshot record;
  record.set_format(record_format);
  record.set_run(s.run);
  record.set_step(s.step);
  record.set_schema_hash(s.schema_hash);
  if (s.metric) record.set_metric(*s.metric);
  record.set_meta(s.meta);
  for (const auto& p : s.parts) {
    auto* part = record.add_parts();
    part->set_name(p.name);
    part->set_bytes(p.bytes);
    part->set_xxh3(p.xxh3);
  }
  record.set_committed_us(microseconds(s.committed_at));
  std::string bytes;
  if (!record.SerializeToString(&bytes))
    throw error(errc::invalid_input, describe(s) + ": its commit record is too large");
  return bytes;
}

snapshot_info parse_record(std::uint64_t id, std::string_view bytes) {
  v1::Snapshot record;
  if (!record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    throw error(errc::corrupt, "snapshot " + snapshot_name(id) + ": its commit record cannot be read");
  if (record.format() > record_format)
    throw error(errc::newer_format,
                "snapshot " + snapshot_name(id) + ": written in format " + std::to_string(record.format()) +
                    " by a newer Planaria; this one knows formats up to " + std::to_string(record_format));
  snapshot_info s{
      .id = id, .run = record.run(), .step = record.step(), .schema_hash = record.schema_hash(), .meta = record.meta()};
  if (record.has_metric()) s.metric = record.metric();
  for (const auto& p : record.parts()) {
    s.parts.push_back({p.name(), p.bytes(), p.xxh3()});
    s.bytes += p.bytes();
  }
  s.committed_at = time_of(record.committed_us());
  return s;
}

// The commit records by id; `visit` gets those that cannot be read too.
void visit_records(const store& from, const std::function<void(std::uint64_t, std::string_view)>& visit) {
  from.scan(record_prefix, [&](std::string_view key, std::string_view value) {
    if (key.size() == record_prefix.size() + sizeof(std::uint64_t))
      visit(detail::read_big_endian<std::uint64_t>(key.substr(record_prefix.size())), value);
    return true;
  });
}

std::vector<loaded_part> read_parts(const store& from, const snapshot_info& s) {
  std::vector<loaded_part> parts;
  for (const auto& p : s.parts) {
    auto bytes = from.read_blob(parts_prefix(s.id) + p.name);
    const auto where = describe(s) + ", part \"" + p.name + "\": ";
    if (!bytes) throw error(errc::corrupt, where + "is missing");
    if (bytes->size() != p.bytes)
      throw error(errc::corrupt,
                  where + "has " + std::to_string(bytes->size()) + " bytes, not " + std::to_string(p.bytes));
    if (hash64(std::as_bytes(std::span(*bytes))) != p.xxh3)
      throw error(errc::corrupt, where + "its bytes do not match their hash");
    parts.push_back({p.name, std::move(*bytes)});
  }
  return parts;
}

// Reads every part once and drops it: one part in memory at a time.
void verify_parts(const store& from, const snapshot_info& s) {
  auto one = s;
  for (const auto& p : s.parts) {
    one.parts = {p};
    static_cast<void>(read_parts(from, one));
  }
}

void check_request(const snapshot_request& request) {
  detail::check_name(request.run, "a snapshot's run");
  std::set<std::string_view> names;
  for (const auto& p : request.parts) {
    detail::check_name(p.name, "a snapshot's part");
    if (!names.insert(p.name).second)
      throw error(errc::invalid_input, "a snapshot's parts need names that differ; \"" + p.name + "\" does not");
  }
}

// Says so when the newest record that was ever committed is gone, and everything after it.
std::string lost_since(std::uint64_t highest, const std::vector<snapshot_info>& all) {
  const bool there = std::any_of(all.begin(), all.end(), [&](const snapshot_info& s) { return s.id >= highest; });
  if (there || highest == 0) return {};
  return "snapshot " + snapshot_name(highest) +
         ": was committed, but its record is gone: the store has lost its newest records";
}

}  // namespace

std::string snapshot_name(std::uint64_t id) {
  return std::to_string(id >> 32) + "." + std::to_string(id & 0xffffffffU);
}

snapshots::snapshots(store& where, retention_policy retention) : store_(where), retention_(retention) {
  if (retention_.keep_last < 1) throw error(errc::invalid_input, "keep_last must be at least 1");
  if (store_.options().mode != open_mode::read_only) remove_orphans();
}

void snapshots::remove_orphans() {
  std::set<std::uint64_t> committed;
  visit_records(store_, [&](std::uint64_t id, std::string_view) { committed.insert(id); });
  std::set<std::uint64_t> orphans;
  try {
    store_.scan_blobs(blob_prefix, [&](std::string_view key) {
      const auto id = id_of_blob(key);
      // Of this boot: its record may be about to be written.
      if (id >> 32 < store_.boot() && !committed.contains(id)) orphans.insert(id);
      return true;
    });
  } catch (const error& damaged) {
    // Reading the snapshot names the damage; what lies beyond it is looked at in a later boot.
    if (damaged.code() != errc::corrupt) throw;
  }
  for (const auto id : orphans) store_.erase_blobs(parts_prefix(id));
}

snapshot_info snapshots::write(const snapshot_request& request) {
  check_request(request);
  std::lock_guard lock(writing_);
  snapshot_info s{.id = store_.next_id(),
                  .run = request.run,
                  .step = request.step,
                  .schema_hash = request.schema_hash,
                  .metric = request.metric,
                  .meta = request.meta,
                  .committed_at = system_clock::now()};
  std::vector<blob> blobs;
  for (const auto& p : request.parts) {
    s.parts.push_back({p.name, p.bytes.size(), hash64(p.bytes)});
    s.bytes += p.bytes.size();
    blobs.push_back({parts_prefix(s.id) + p.name, p.bytes});
  }
  const auto record = record_of(s);
  store_.ingest(blobs);
  // Fails it to be synced, the record may still be there after a restart: the parts stay, and the next boot removes
  // them if it is not.
  store_.put(record_key(s.id), record, sync_policy::every_commit);
  store_.raise_mark(mark_of(request.run), s.id);
  verify_parts(store_, s);
  s.verified_at = system_clock::now();
  store_.put(verified_key(s.id), detail::big_endian(static_cast<std::uint64_t>(microseconds(*s.verified_at))),
             sync_policy::none);
  prune(request.run);
  return s;
}

std::vector<snapshot_info> snapshots::list(const std::string& run, std::vector<std::string>* unreadable) const {
  std::vector<snapshot_info> all;
  visit_records(store_, [&](std::uint64_t id, std::string_view value) {
    snapshot_info s;
    try {
      s = parse_record(id, value);
    } catch (const error& bad) {
      if (unreadable == nullptr || bad.code() != errc::corrupt) throw;
      unreadable->emplace_back(bad.what());
      return;
    }
    if (!run.empty() && s.run != run) return;
    if (const auto at = store_.get(verified_key(id)); at && at->size() == sizeof(std::uint64_t))
      s.verified_at = time_of(static_cast<std::int64_t>(detail::read_big_endian<std::uint64_t>(*at)));
    all.push_back(std::move(s));
  });
  return all;
}

bool snapshots::exists(std::uint64_t id) const { return store_.get(record_key(id)).has_value(); }

std::optional<loaded_snapshot> snapshots::recover(const std::string& run) const {
  std::vector<std::string> skipped;
  // Ends: a snapshot that retention removes meanwhile has made way for a newer one, which the next look finds.
  for (bool removed = true; std::exchange(removed, false);) {
    skipped.clear();
    // Before the list: what is committed meanwhile is no loss.
    const auto highest = store_.mark(mark_of(run));
    auto all = list(run, &skipped);
    std::reverse(skipped.begin(), skipped.end());
    if (auto lost = lost_since(highest, all); !lost.empty()) skipped.push_back(std::move(lost));
    for (auto s = all.rbegin(); s != all.rend() && !removed; ++s) {
      try {
        auto parts = read_parts(store_, *s);
        return loaded_snapshot{std::move(*s), std::move(parts), std::move(skipped)};
      } catch (const error& bad) {
        if (bad.code() != errc::corrupt) throw;
        removed = !exists(s->id);
        skipped.push_back(describe(*s) + ": " + bad.what());
      }
    }
  }
  if (skipped.empty()) return std::nullopt;
  std::string text = "no snapshot of the run \"" + run + "\" verifies";
  for (const auto& why : skipped) text += "; " + why;
  throw error(errc::corrupt, text);
}

loaded_snapshot snapshots::load(std::uint64_t id) const {
  const auto record = store_.get(record_key(id));
  if (!record) throw error(errc::not_found, "there is no snapshot " + snapshot_name(id));
  auto s = parse_record(id, *record);
  try {
    auto parts = read_parts(store_, s);
    return {std::move(s), std::move(parts), {}};
  } catch (const error& bad) {
    if (bad.code() != errc::corrupt || exists(id)) throw;
    throw error(errc::not_found, "snapshot " + snapshot_name(id) + " was removed while it was read");
  }
}

void snapshots::remove(const snapshot_info& which) {
  // The record goes first and for good: a record without its parts would read as damage.
  store_.commit(batch{}.erase(record_key(which.id)).erase(verified_key(which.id)), sync_policy::every_commit);
  store_.erase_blobs(parts_prefix(which.id));
}

void snapshots::prune(const std::string& run) {
  std::vector<std::string> unreadable;
  const auto all = list(run, &unreadable);
  std::set<std::uint64_t> kept;
  const snapshot_info* best = nullptr;
  std::uint64_t newest_verified = 0;
  for (auto s = all.rbegin(); s != all.rend(); ++s) {
    if (!s->verified_at) continue;
    newest_verified = std::max(newest_verified, s->id);
    if (kept.size() < retention_.keep_last) kept.insert(s->id);
    if (s->metric && std::isfinite(*s->metric) && (best == nullptr || *s->metric < *best->metric)) best = &*s;
  }
  if (retention_.keep_best && best != nullptr) kept.insert(best->id);
  for (const auto& s : all)
    if (s.id < newest_verified && !kept.contains(s.id)) remove(s);
}

}  // namespace planaria
