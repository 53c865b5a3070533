#include "expect_error.hpp"
#include "temporary_directory.hpp"

#include <planaria/storage/store.hpp>

#include <fstream>
#include <memory>
#include <thread>

using namespace planaria;
using testing::expect_error;
using testing::temporary_directory;
namespace fs = std::filesystem;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string numbered(int i) { return std::string("k").append(std::to_string(i)); }

std::vector<std::string> keys(const store& from, std::string_view prefix) {
  std::vector<std::string> all;
  from.scan(prefix, [&](std::string_view key, std::string_view) {
    all.emplace_back(key);
    return true;
  });
  return all;
}

}  // namespace

TEST_CASE("what every policy has committed is there after a reopen") {
  const temporary_directory dir;
  {
    store s({.directory = dir / "run"});
    s.put("a", "1", sync_policy::every_commit);
    s.put("b", "2", sync_policy::group_commit);
    s.put("c", "3", sync_policy::none);
    s.commit(batch{}.put("d", "4").erase("a"));
    CHECK(s.boot() == 1);
  }
  store s({.directory = dir / "run"});
  CHECK_FALSE(s.get("a").has_value());
  CHECK(s.get("b") == "2");
  CHECK(s.get("c") == "3");
  CHECK(s.get("d") == "4");
  CHECK(s.boot() == 2);
}

TEST_CASE("a scan visits the keys of a prefix in order, until told to stop") {
  const temporary_directory dir;
  store s({.directory = dir / "run"});
  s.commit(batch{}.put("p/2", "").put("p/1", "").put("q", "").put(std::string("p/\xff", 3), "").put("o", ""));
  CHECK(keys(s, "p/") == std::vector<std::string>{"p/1", "p/2", std::string("p/\xff", 3)});
  int visited = 0;
  s.scan("p/", [&](std::string_view, std::string_view) { return ++visited < 2; });
  CHECK(visited == 2);
}

TEST_CASE("many threads share group commits and none is lost") {
  const temporary_directory dir;
  {
    store s({.directory = dir / "run"});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&s, t] {
        for (int i = 0; i < 50; ++i)
          s.put("k/" + std::to_string(t) + "/" + std::to_string(i), "v", sync_policy::group_commit);
      });
    for (auto& thread : threads) thread.join();
  }
  const store s({.directory = dir / "run"});
  CHECK(keys(s, "k/").size() == 200);
}

TEST_CASE("blobs of every size come back, chunk borders included") {
  const temporary_directory dir;
  const std::size_t chunk = std::size_t{1} << 20;
  store s({.directory = dir / "run", .chunk_bytes = chunk});
  std::vector<std::string> values;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, chunk - 1, chunk, chunk + 1, 3 * chunk + 7}) {
    std::string value(size, '\0');
    for (std::size_t i = 0; i < size; ++i) value[i] = static_cast<char>(i * 31 + size);
    values.push_back(std::move(value));
  }
  const auto name = [](std::size_t i) { return std::string("b/").append(std::to_string(9 - i)); };
  std::vector<blob> blobs;
  for (std::size_t i = 0; i < values.size(); ++i) blobs.push_back({name(i), bytes_of(values[i])});
  s.ingest(blobs);
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(s.read_blob(name(i)) == values[i]);
  CHECK_FALSE(s.read_blob("b/0").has_value());
  std::size_t seen = 0;
  s.scan_blobs("b/", [&](std::string_view) { return ++seen > 0; });
  CHECK(seen == values.size());
}

TEST_CASE("a blob is never overwritten") {
  const temporary_directory dir;
  store s({.directory = dir / "run"});
  const std::string first = "first";
  const std::string second = "second";
  s.ingest(std::vector<blob>{{"b", bytes_of(first)}});
  expect_error(
      errc::already_exists,
      [&] {
        s.ingest(std::vector<blob>{{"a", bytes_of(second)}, {"b", bytes_of(second)}});
      },
      "\"b\"");
  CHECK(s.read_blob("b") == first);
  CHECK_FALSE(s.read_blob("a").has_value());
  expect_error(
      errc::already_exists,
      [&] {
        s.ingest(std::vector<blob>{{"c", bytes_of(first)}, {"c", bytes_of(first)}});
      },
      "\"c\"");
}

TEST_CASE("erased blobs are gone and their neighbours are not") {
  const temporary_directory dir;
  store s({.directory = dir / "run"});
  const std::string value(100, 'x');
  s.ingest(std::vector<blob>{{"s/1/a", bytes_of(value)}, {"s/1/b", bytes_of(value)}, {"s/2/a", bytes_of(value)}});
  s.ingest(std::vector<blob>{{"s/3/a", bytes_of(value)}});
  s.erase_blobs("s/1/");
  s.erase_blobs("s/3/");
  CHECK_FALSE(s.read_blob("s/1/a").has_value());
  CHECK_FALSE(s.read_blob("s/1/b").has_value());
  CHECK(s.read_blob("s/2/a") == value);
  CHECK_FALSE(s.read_blob("s/3/a").has_value());
}

TEST_CASE("a second opener is refused and the holder is named") {
  const temporary_directory dir;
  const store first({.directory = dir / "run"});
  const auto me = "process " + std::to_string(::getpid());
  expect_error(
      errc::in_use, [&] { store second({.directory = dir / "run"}); }, (dir / "run").string(), me.c_str());
  CHECK(store::holder(dir / "run") == me);
  CHECK_FALSE(store::holder(dir / "elsewhere").has_value());
}

TEST_CASE("a reader beside a live writer sees what was committed and can write nothing") {
  const temporary_directory dir;
  store writer({.directory = dir / "run"});
  writer.put("a", "1", sync_policy::none);
  store reader({.directory = dir / "run", .mode = open_mode::read_only});
  CHECK(reader.get("a") == "1");
  expect_error(
      errc::invalid_input, [&] { reader.put("b", "2", sync_policy::none); }, "read-only");
  expect_error(
      errc::invalid_input,
      [&] {
        reader.ingest(std::vector<blob>{{"b", {}}});
      },
      "read-only");
  writer.put("c", "3", sync_policy::none);
  CHECK(writer.get("c") == "3");
}

TEST_CASE("a directory that holds other things is left alone") {
  const temporary_directory dir;
  std::ofstream(dir / "thesis.tex") << "precious";
  expect_error(
      errc::invalid_input, [&] { store s({.directory = dir.path()}); }, "thesis.tex");
  CHECK(std::distance(fs::directory_iterator(dir.path()), {}) == 1);
  expect_error(
      errc::not_found, [&] { store s({.directory = dir / "none", .mode = open_mode::open_existing}); }, "none");
  CHECK_FALSE(fs::exists(dir / "none"));
  expect_error(
      errc::io, [&] { store s({.directory = dir / "thesis.tex" / "run"}); }, "thesis.tex");
}

TEST_CASE("a store of a newer format is refused untouched") {
  const temporary_directory dir;
  {
    store(store_options{.directory = dir / "run"})
        .put("meta/format", std::string("\0\0\0\x63", 4), sync_policy::every_commit);
  }
  expect_error(
      errc::newer_format, [&] { store s({.directory = dir / "run"}); }, "format 99", "newer Planaria");
}

TEST_CASE("options out of range are refused") {
  const temporary_directory dir;
  expect_error(
      errc::invalid_input, [&] { store s({.directory = dir / "run", .chunk_bytes = 100}); }, "chunk_bytes");
  expect_error(
      errc::invalid_input, [] { store s({}); }, "directory");
}

TEST_CASE("marks outlive the loss of the database") {
  const temporary_directory dir;
  {
    store s({.directory = dir / "run"});
    s.raise_mark("snapshot/train", 7);
    s.raise_mark("snapshot/train", 3);
    CHECK(s.mark("snapshot/train") == 7);
  }
  fs::remove_all(dir / "run" / "db");
  store s({.directory = dir / "run"});
  CHECK(s.mark("snapshot/train") == 7);
  CHECK(s.mark("other") == 0);
  CHECK(s.boot() == 2);
}

TEST_CASE("ids grow with each call and each boot") {
  const temporary_directory dir;
  std::uint64_t last = 0;
  for (int boot = 0; boot < 3; ++boot) {
    store s({.directory = dir / "run"});
    for (int i = 0; i < 5; ++i) {
      const auto id = s.next_id();
      CHECK(id > last);
      last = id;
    }
  }
}

TEST_CASE("a flipped byte in the log is named, never dropped in silence") {
  const temporary_directory dir;
  {
    store s({.directory = dir / "run"});
    for (int i = 0; i < 100; ++i) s.put(numbered(i), std::string(100, 'v'), sync_policy::none);
  }
  // A clean close may have flushed everything; damage whatever holds the records.
  bool damaged = false;
  for (const auto& entry : fs::directory_iterator(dir / "run" / "db")) {
    const auto extension = entry.path().extension();
    if ((extension != ".log" && extension != ".sst") || fs::file_size(entry.path()) < 2000) continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(1000);
    file.put('\x7e');
    damaged = true;
  }
  REQUIRE(damaged);
  CHECK_THROWS_AS(
      [&] {
        const store s({.directory = dir / "run"});
        for (int i = 0; i < 100; ++i)
          if (s.get(numbered(i)) != std::string(100, 'v')) FAIL("a record is missing without a word");
      }(),
      error);
}
