#include "expect_error.hpp"
#include "files_do_not_grow.hpp"
#include "temporary_directory.hpp"

#include <planaria/storage/snapshot.hpp>
#include <planaria/storage/store.hpp>

#include <atomic>
#include <cmath>
#include <fstream>
#include <limits>
#include <memory>
#include <thread>

using namespace planaria;
using testing::expect_error;
using testing::temporary_directory;
namespace fs = std::filesystem;

namespace {

snapshot_info write(snapshots& to, std::uint64_t step, std::optional<double> metric = std::nullopt,
                    const std::string& run = "train") {
  const std::string weights = "weights of step " + std::to_string(step);
  const std::string moments(100, static_cast<char>('a' + step % 26));
  return to.write(
      {.run = run,
       .step = step,
       .schema_hash = 42,
       .metric = metric,
       .meta = "options",
       .parts = {{"weights", std::as_bytes(std::span(weights))}, {"moments", std::as_bytes(std::span(moments))}}});
}

std::vector<std::uint64_t> steps(const snapshots& of, const std::string& run = "train") {
  std::vector<std::uint64_t> all;
  for (const auto& s : of.list(run)) all.push_back(s.step);
  return all;
}

void flip_a_byte(const fs::path& file, std::streamoff at) {
  std::fstream f(file, std::ios::in | std::ios::out | std::ios::binary);
  f.seekg(at);
  const auto old = static_cast<char>(f.get());
  f.seekp(at);
  f.put(static_cast<char>(old ^ 0x40));
}

// The ingested file that holds a snapshot's parts.
fs::path file_holding(const fs::path& run, const std::string& text, std::streamoff& at) {
  for (const auto& entry : fs::directory_iterator(run / "db")) {
    if (entry.path().extension() != ".sst") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string content(std::istreambuf_iterator<char>(in), {});
    const auto found = content.find(text);
    if (found == std::string::npos) continue;
    at = static_cast<std::streamoff>(found);
    return entry.path();
  }
  return {};
}

}  // namespace

TEST_CASE("a snapshot comes back whole, with what was said about it") {
  const temporary_directory dir;
  store s({.directory = dir / "run"});
  snapshots all(s);
  CHECK_FALSE(all.recover("train").has_value());
  const auto written = write(all, 7, 0.25);
  CHECK(written.verified_at.has_value());
  const auto loaded = all.recover("train");
  REQUIRE(loaded.has_value());
  CHECK(loaded->info.id == written.id);
  CHECK(loaded->info.step == 7);
  CHECK(loaded->info.schema_hash == 42);
  CHECK(loaded->info.metric == 0.25);
  CHECK(loaded->info.meta == "options");
  REQUIRE(loaded->parts.size() == 2);
  CHECK(loaded->parts[0].bytes == "weights of step 7");
  CHECK(loaded->skipped.empty());
  expect_error(
      errc::not_found, [&] { static_cast<void>(all.load(12345)); }, "0.12345");
}

TEST_CASE("retention keeps the last ones and the best, of each run") {
  const temporary_directory dir;
  store s({.directory = dir / "run"});
  snapshots all(s, {.keep_last = 2, .keep_best = true});
  const double metrics[] = {5, 4, 1, 3, 2, 6};
  for (std::uint64_t i = 0; i < 6; ++i) write(all, i, metrics[i]);
  CHECK(steps(all) == std::vector<std::uint64_t>{2, 4, 5});
  write(all, 1, 9, "other");
  CHECK(steps(all) == std::vector<std::uint64_t>{2, 4, 5});
  CHECK(steps(all, "other") == std::vector<std::uint64_t>{1});
  CHECK(steps(all, "").size() == 4);
  snapshots last_only(s, {.keep_last = 1, .keep_best = false});
  write(last_only, 6, 8);
  CHECK(steps(all) == std::vector<std::uint64_t>{6});
  expect_error(
      errc::invalid_input, [&] { snapshots bad(s, {.keep_last = 0}); }, "keep_last");
}

TEST_CASE("damage in the newest snapshot is named and the one before is used") {
  const temporary_directory dir;
  {
    store s({.directory = dir / "run"});
    snapshots all(s);
    write(all, 10);
    write(all, 20);
  }
  std::streamoff at = 0;
  const auto file = file_holding(dir / "run", "weights of step 20", at);
  REQUIRE_FALSE(file.empty());
  flip_a_byte(file, at + 3);
  store s({.directory = dir / "run"});
  snapshots all(s);
  const auto loaded = all.recover("train");
  REQUIRE(loaded.has_value());
  CHECK(loaded->info.step == 10);
  REQUIRE(loaded->skipped.size() == 1);
  CHECK(loaded->skipped[0].find("(step 20)") != std::string::npos);
  // What did not verify is not what retention counts on, and does not stand in its way.
  for (std::uint64_t step = 30; step < 80; step += 10) write(all, step);
  CHECK(steps(all) == std::vector<std::uint64_t>{50, 60, 70});
  CHECK(all.recover("train")->info.step == 70);
}

TEST_CASE("when no snapshot verifies, recovery says so for each") {
  const temporary_directory dir;
  {
    store s({.directory = dir / "run"});
    snapshots all(s);
    write(all, 10);
  }
  std::streamoff at = 0;
  const auto file = file_holding(dir / "run", "weights of step 10", at);
  flip_a_byte(file, at);
  store s({.directory = dir / "run"});
  const snapshots all(s);
  expect_error(
      errc::corrupt, [&] { static_cast<void>(all.recover("train")); }, "no snapshot", "step 10");
}

TEST_CASE("parts without a commit record are removed in the next boot, never sooner") {
  const temporary_directory dir;
  const auto count = [](const store& s) {
    std::size_t found = 0;
    s.scan_blobs("s/", [&](std::string_view) { return ++found > 0; });
    return found;
  };
  {
    store s({.directory = dir / "run"});
    snapshots all(s);
    write(all, 1);
    // As if the process died between ingest and commit.
    const auto id = s.next_id();
    char name[20];
    std::snprintf(name, sizeof name, "s/%016llx/", static_cast<unsigned long long>(id));
    s.ingest(std::vector<blob>{{std::string(name) + "weights", {}}});
    const snapshots again(s);
    CHECK(count(s) == 3);
  }
  store s({.directory = dir / "run"});
  const snapshots all(s);
  CHECK(count(s) == 2);
  CHECK(all.recover("train")->info.step == 1);
}

TEST_CASE("a store that lost its newest records is found out") {
  const temporary_directory dir;
  {
    store s({.directory = dir / "run"});
    snapshots all(s);
    write(all, 10);
  }
  fs::copy(dir / "run" / "db", dir / "old", fs::copy_options::recursive);
  {
    store s({.directory = dir / "run"});
    snapshots all(s);
    write(all, 20);
  }
  fs::remove_all(dir / "run" / "db");
  fs::rename(dir / "old", dir / "run" / "db");
  store s({.directory = dir / "run"});
  const auto loaded = snapshots(s).recover("train");
  REQUIRE(loaded.has_value());
  CHECK(loaded->info.step == 10);
  REQUIRE(loaded->skipped.size() == 1);
  CHECK(loaded->skipped[0].find("lost its newest records") != std::string::npos);
}

TEST_CASE("a record of a newer format is refused") {
  const temporary_directory dir;
  store s({.directory = dir / "run"});
  snapshots all(s);
  write(all, 1);
  // Field 1 (format) = 2.
  s.put(std::string("snapshot/") + std::string(8, '\x7f'), "\x08\x02", sync_policy::none);
  expect_error(
      errc::newer_format, [&] { static_cast<void>(all.recover("train")); }, "format 2", "newer Planaria");
}

TEST_CASE("the commit record's bytes are what they were") {
  const temporary_directory dir;
  store s({.directory = dir / "run"});
  snapshots all(s);
  const std::string payload = "w";
  const auto written = all.write(
      {.run = "r", .step = 3, .schema_hash = 0x0102030405060708, .parts = {{"p", std::as_bytes(std::span(payload))}}});
  std::string key = "snapshot/";
  for (int shift = 56; shift >= 0; shift -= 8) key.push_back(static_cast<char>((written.id >> shift) & 0xff));
  const auto record = s.get(key);
  REQUIRE(record.has_value());
  // format 1, run "r", step 3, schema hash, then the part: name, bytes, xxh3; the time of commit follows.
  const std::string head("\x08\x01\x12\x01r\x18\x03\x21\x08\x07\x06\x05\x04\x03\x02\x01\x3a\x0e\x0a\x01p\x10\x01\x19",
                         24);
  CHECK(record->substr(0, head.size()) == head);
}

TEST_CASE("names that could not be read back are refused before anything is written") {
  const temporary_directory dir;
  store s({.directory = dir / "run"});
  snapshots all(s);
  for (const std::string bad : {"", "two\nlines", "\xff", "cut \xe2\x82", "overlong \xc0\xaf", "surrogate \xed\xa0\x80",
                                "beyond \xf4\x90\x80\x80", "\x7f"}) {
    CAPTURE(bad);
    expect_error(
        errc::invalid_input, [&] { write(all, 1, std::nullopt, bad); }, "run");
    expect_error(
        errc::invalid_input,
        [&] {
          all.write({.run = "r", .parts = {{bad, {}}}});
        },
        "part");
  }
  CHECK(all.list().empty());
  write(all, 1, std::nullopt, "größer \xf0\x9f\xaa\xb1");
  CHECK(all.recover("größer \xf0\x9f\xaa\xb1")->info.step == 1);
}

TEST_CASE("one commit record that cannot be read hides no other snapshot") {
  const temporary_directory dir;
  store s({.directory = dir / "run"});
  snapshots all(s, {.keep_last = 2});
  write(all, 1);
  s.put(std::string("snapshot/") + std::string(8, '\x7f'), "\xff\xff", sync_policy::none);
  expect_error(
      errc::corrupt, [&] { static_cast<void>(all.list("train")); }, "cannot be read");
  const auto loaded = all.recover("train");
  REQUIRE(loaded.has_value());
  CHECK(loaded->info.step == 1);
  REQUIRE(loaded->skipped.size() == 1);
  CHECK(loaded->skipped[0].find("cannot be read") != std::string::npos);
  for (std::uint64_t step = 2; step < 5; ++step) write(all, step);
  std::vector<std::string> unreadable;
  CHECK(all.list("train", &unreadable).size() == 2);
  CHECK(unreadable.size() == 1);
}

TEST_CASE("a metric that is no number is never the best") {
  const temporary_directory dir;
  store s({.directory = dir / "run"});
  snapshots all(s, {.keep_last = 1, .keep_best = true});
  write(all, 1, 0.5);
  write(all, 2, std::nan(""));
  write(all, 3, 0.7);
  write(all, 4, -std::numeric_limits<double>::infinity());
  write(all, 5, 0.9);
  CHECK(steps(all) == std::vector<std::uint64_t>{1, 5});
}

TEST_CASE("a disk that is full refuses every kind of write, and loses nothing that was acknowledged") {
  const temporary_directory dir;
  {
    store s({.directory = dir / "run"});
    snapshots all(s);
    write(all, 1);
    s.put("key", "old", sync_policy::every_commit);
    {
      const testing::files_do_not_grow full;
      for (int again = 0; again < 2; ++again) {
        for (const auto policy : {sync_policy::none, sync_policy::group_commit, sync_policy::every_commit})
          CHECK_THROWS_AS(s.put("key", "new", policy), error);
        CHECK_THROWS_AS(write(all, 2), error);
        CHECK_THROWS_AS(s.raise_mark("mark", 7), error);
      }
      CHECK(s.get("key") == "old");
      CHECK(all.recover("train")->info.step == 1);
    }
  }
  store s({.directory = dir / "run"});
  snapshots all(s);
  CHECK(s.get("key") == "old");
  CHECK(s.mark("mark") == 0);
  CHECK(all.recover("train")->info.step == 1);
  write(all, 3);
  CHECK(all.recover("train")->info.step == 3);
}

TEST_CASE("what retention removes while somebody recovers is not taken for damage") {
  const temporary_directory dir;
  store s({.directory = dir / "run"});
  snapshots all(s, {.keep_last = 1});
  write(all, 0);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (std::uint64_t step = 1; step <= 200; ++step) write(all, step);
    done = true;
  });
  std::size_t damaged = 0;
  std::uint64_t last = 0;
  bool backwards = false;
  while (!done) {
    const auto loaded = all.recover("train");
    damaged += loaded ? loaded->skipped.size() : 1;
    backwards = backwards || (loaded && loaded->info.step < last);
    if (loaded) last = loaded->info.step;
  }
  writer.join();
  CHECK(damaged == 0);
  CHECK_FALSE(backwards);
  CHECK(all.recover("train")->info.step == 200);
}

TEST_CASE("repeated parts are refused before anything is written") {
  const temporary_directory dir;
  store s({.directory = dir / "run"});
  snapshots all(s);
  expect_error(
      errc::invalid_input,
      [&] {
        all.write({.run = "r", .parts = {{"p", {}}, {"p", {}}}});
      },
      "\"p\"");
  CHECK(all.list().empty());
}

TEST_CASE("a directory copied while its writer lives opens on its own, or is refused as damaged") {
  const temporary_directory dir;
  store s({.directory = dir / "run"});
  snapshots all(s);
  write(all, 1);
  write(all, 2);
  fs::copy(dir / "run", dir / "copy", fs::copy_options::recursive);
  write(all, 3);
  store copied({.directory = dir / "copy"});
  const auto loaded = snapshots(copied).recover("train");
  REQUIRE(loaded.has_value());
  CHECK(loaded->info.step == 2);
  CHECK(all.recover("train")->info.step == 3);
}
