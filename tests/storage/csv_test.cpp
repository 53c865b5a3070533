#include "expect_error.hpp"
#include "temporary_directory.hpp"

#include <planaria/storage/formats/csv.hpp>

#include <fstream>

using namespace planaria;
using testing::expect_error;
using testing::temporary_directory;

namespace {

csv_table read(const std::string& content) {
  const temporary_directory dir;
  std::ofstream(dir / "t.csv", std::ios::binary) << content;
  return read_csv(dir / "t.csv");
}

template <class... Words>
void refused(const std::string& content, const Words&... words) {
  CAPTURE(content);
  expect_error(
      errc::invalid_input, [&] { static_cast<void>(read(content)); }, words...);
}

}  // namespace

TEST_CASE("a table of numbers is read row by row") {
  const auto table = read("x,y\n1,2\n-3.5,4e2\n");
  CHECK(table.names == std::vector<std::string>{"x", "y"});
  CHECK(table.values == std::vector<float>{1.0F, 2.0F, -3.5F, 400.0F});
}

TEST_CASE("quotes, carriage returns, spaces and blank lines are allowed") {
  const auto table = read("\"a, \"\"b\"\"\",y\r\n\r\n\"1\", 2\r\n3,4");
  CHECK(table.names == std::vector<std::string>{"a, \"b\"", "y"});
  CHECK(table.values == std::vector<float>{1.0F, 2.0F, 3.0F, 4.0F});
}

TEST_CASE("what is no number is refused with file, line and column") {
  refused("x,y\n1,2\n3,four\n", "t.csv:3", "column \"y\"", "four");
  refused("x,y\n1,\n", "t.csv:2", "column \"y\"");
  refused("x\nnan\n", "finite");
  refused("x\n1e999\n", "finite");
  refused("x\n1 2\n", "finite");
}

TEST_CASE("a table that is not one is refused") {
  refused("", "is empty");
  refused("x,y\n", "no rows");
  refused("x,x\n1,2\n", "repeated");
  refused("x,\n1,2\n", "empty or repeated");
  refused("x,y\n1\n", "1 fields", "2");
  refused("x,y\n1,2,3\n", "3 fields");
  refused("x\n\"1\n", "does not end");
  expect_error(
      errc::not_found, [] { static_cast<void>(read_csv("absent.csv")); }, "absent.csv");
}
