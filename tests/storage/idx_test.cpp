#include "expect_error.hpp"
#include "file_content.hpp"
#include "temporary_directory.hpp"

#include <planaria/storage/formats/idx.hpp>

#include <zlib.h>

#include <cstring>
#include <fstream>

using namespace planaria;
using testing::content_of;
using testing::expect_error;
using testing::temporary_directory;

namespace {

std::string bytes(std::initializer_list<int> values) {
  std::string out;
  for (const int v : values) out.push_back(static_cast<char>(v));
  return out;
}

void write(const std::filesystem::path& to, const std::string& content) {
  std::ofstream(to, std::ios::binary) << content;
}

void write_gzip(const std::filesystem::path& to, const std::string& content) {
  auto* file = gzopen(to.c_str(), "wb");
  gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
  gzclose(file);
}

const std::string small = bytes({0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6});

}  // namespace

TEST_CASE("an IDX file reads the same plain and gzipped") {
  const temporary_directory dir;
  write(dir / "plain", small);
  write_gzip(dir / "packed.gz", small);
  for (const auto* name : {"plain", "packed.gz"}) {
    const auto read = read_idx(dir / name);
    CHECK(read.type == idx_type::uint8);
    CHECK(read.dims == std::vector<std::uint64_t>{2, 3});
    REQUIRE(read.bytes.size() == 6);
    CHECK(read.bytes[5] == std::byte{6});
  }
}

TEST_CASE("wide elements come back in the host's byte order") {
  const temporary_directory dir;
  write(dir / "ints", bytes({0, 0, 0x0C, 1, 0, 0, 0, 2, 0, 0, 1, 0, 0xff, 0xff, 0xff, 0xfe}));
  const auto read = read_idx(dir / "ints");
  std::int32_t values[2];
  std::memcpy(values, read.bytes.data(), sizeof values);
  CHECK(values[0] == 256);
  CHECK(values[1] == -2);
}

TEST_CASE("an IDX file cut at any byte is refused by name") {
  const temporary_directory dir;
  for (std::size_t length = 0; length < small.size(); ++length) {
    CAPTURE(length);
    write(dir / "cut", small.substr(0, length));
    expect_error(
        errc::invalid_input, [&] { static_cast<void>(read_idx(dir / "cut")); }, (dir / "cut").string());
  }
}

TEST_CASE("bytes after the last element are refused") {
  const temporary_directory dir;
  write(dir / "long", small + "x");
  expect_error(
      errc::invalid_input, [&] { static_cast<void>(read_idx(dir / "long")); }, "goes on after");
}

TEST_CASE("what is not IDX is refused, whatever it is") {
  const temporary_directory dir;
  write(dir / "text", "step,loss\n1,2\n");
  expect_error(
      errc::invalid_input, [&] { static_cast<void>(read_idx(dir / "text")); }, "not an IDX file");
  write(dir / "type", bytes({0, 0, 7, 1, 0, 0, 0, 1, 1}));
  expect_error(
      errc::invalid_input, [&] { static_cast<void>(read_idx(dir / "type")); }, "7 is no element type");
  write(dir / "huge", bytes({0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}));
  expect_error(
      errc::invalid_input, [&] { static_cast<void>(read_idx(dir / "huge")); }, "more bytes than there can be");
  expect_error(
      errc::not_found, [&] { static_cast<void>(read_idx(dir / "absent")); }, "absent");
  expect_error(
      errc::io, [&] { static_cast<void>(read_idx(dir.path())); }, "cannot be read");
}

TEST_CASE("a claim of many bytes costs no memory before they are there") {
  const temporary_directory dir;
  write(dir / "claim", bytes({0, 0, 8, 2, 127, 255, 255, 255, 127, 255, 255, 255, 1}));
  expect_error(
      errc::invalid_input, [&] { static_cast<void>(read_idx(dir / "claim")); }, "cut short");
}

TEST_CASE("a gzip stream with any byte changed or cut is refused, never a crash") {
  const temporary_directory dir;
  write_gzip(dir / "good.gz", small);
  const auto good = content_of(dir / "good.gz");
  for (std::size_t at = 10; at < good.size(); ++at) {
    CAPTURE(at);
    auto damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    write(dir / "bad.gz", damaged);
    CHECK_THROWS_AS(static_cast<void>(read_idx(dir / "bad.gz")), error);
    write(dir / "cut.gz", good.substr(0, at));
    CHECK_THROWS_AS(static_cast<void>(read_idx(dir / "cut.gz")), error);
  }
}
