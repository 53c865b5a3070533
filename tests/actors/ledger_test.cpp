#include "expect_error.hpp"

#include <planaria/actors/ledger.hpp>

#include <vector>

using namespace planaria;
using testing::expect_error;

namespace {

void mark(ledger& in, std::uint64_t epoch, std::vector<std::int64_t> samples) { in.mark(epoch, samples); }

}  // namespace

TEST_CASE("lost and duplicated samples are counted") {
  ledger book(5);
  mark(book, 0, {0, 1, 2});
  mark(book, 0, {2, 3, 2});
  book.close(0);
  const auto epochs = book.epochs();
  REQUIRE(epochs.size() == 1);
  CHECK(epochs[0].complete);
  CHECK(epochs[0].used == 4);
  CHECK(epochs[0].lost == 1);
  CHECK(epochs[0].duplicated == 2);
}

TEST_CASE("an open epoch has lost nothing yet") {
  ledger book(3);
  mark(book, 0, {0, 1, 2});
  book.close(0);
  mark(book, 1, {2});
  const auto epochs = book.epochs();
  REQUIRE(epochs.size() == 2);
  CHECK_FALSE(epochs[1].complete);
  CHECK(epochs[1].used == 1);
  CHECK(epochs[1].lost == 0);
  CHECK(book.total().used == 3);
}

TEST_CASE("a saved ledger goes on as if nothing had happened") {
  ledger book(4);
  mark(book, 0, {0, 1, 2, 3});
  book.close(0);
  mark(book, 1, {0, 2});
  ledger restored(4);
  restored.load(book.save());
  for (auto* b : {&book, &restored}) {
    mark(*b, 1, {1, 3});
    b->close(1);
  }
  CHECK(restored.save() == book.save());
  CHECK(restored.total().lost == 0);
  CHECK(restored.total().duplicated == 0);
}

TEST_CASE("what save() did not write is refused, at every length") {
  ledger book(4);
  mark(book, 0, {0, 1});
  const auto saved = book.save();
  for (std::size_t length = 0; length < saved.size(); ++length) {
    CAPTURE(length);
    ledger other(4);
    expect_error(errc::corrupt, [&] { other.load(std::string_view(saved).substr(0, length)); });
  }
  ledger other(5);
  expect_error(
      errc::schema_mismatch, [&] { other.load(saved); }, "another number of samples");
}
