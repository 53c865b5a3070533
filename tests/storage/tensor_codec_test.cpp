#include "expect_error.hpp"

#include <planaria/storage/tensor_codec.hpp>

#include <torch/torch.h>

#include <limits>

using namespace planaria;
using testing::expect_error;

namespace {

std::vector<loaded_part> stored(const tensor_map& tensors, const std::string& prefix = "m/") {
  std::vector<loaded_part> all;
  const auto encoded = encoded_tensors::copy(tensors);
  for (const auto& p : encoded.parts(prefix))
    all.push_back({p.name, std::string(reinterpret_cast<const char*>(p.bytes.data()), p.bytes.size())});
  return all;
}

tensor_map round_trip(const tensor_map& tensors) { return decode_tensors(stored(tensors), "m/"); }

const torch::ScalarType every_dtype[] = {torch::kUInt8,
                                         torch::kInt8,
                                         torch::kInt16,
                                         torch::kInt32,
                                         torch::kInt64,
                                         torch::kFloat16,
                                         torch::kBFloat16,
                                         torch::kFloat32,
                                         torch::kFloat64,
                                         torch::kBool,
                                         torch::ScalarType::ComplexHalf,
                                         torch::ScalarType::ComplexFloat,
                                         torch::ScalarType::ComplexDouble};

}  // namespace

TEST_CASE("every dtype comes back bit by bit") {
  torch::manual_seed(3);
  for (const auto dtype : every_dtype) {
    CAPTURE(torch::toString(dtype));
    auto t = torch::empty({3, 5}, dtype);
    auto raw = torch::randint(0, 2, {static_cast<std::int64_t>(t.nbytes())}, torch::kUInt8);
    std::memcpy(t.data_ptr(), raw.data_ptr(), t.nbytes());
    const tensor_map before{{"t", t}};
    const auto after = round_trip(before);
    CHECK((after[0].tensor.scalar_type() == dtype));
    CHECK(content_hash(after) == content_hash(before));
  }
}

TEST_CASE("special values keep their bits") {
  auto t = torch::tensor({0.0F, -0.0F, std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::denorm_min()});
  const auto after = round_trip({{"t", t}});
  CHECK(std::memcmp(after[0].tensor.data_ptr(), t.data_ptr(), t.nbytes()) == 0);
}

TEST_CASE("0-dim, empty and large shapes come back as they were") {
  const tensor_map before{{"scalar", torch::tensor(2.5)},
                          {"empty", torch::empty({0, 4})},
                          {"none", torch::empty({0})},
                          {"cube", torch::randn({2, 3, 4})}};
  const auto after = round_trip(before);
  CHECK(schema_difference(before, after).empty());
  CHECK(content_hash(before) == content_hash(after));
  CHECK(after[0].tensor.dim() == 0);
}

TEST_CASE("only the viewed part of a view is stored") {
  const auto base = torch::arange(1000000, torch::kFloat32).view({1000, 1000});
  const tensor_map views{{"column", base.select(1, 7)},
                         {"turned", base.slice(0, 0, 3).t()},
                         {"spread", torch::ones({1}).expand({5})},
                         {"step", base.select(0, 0).slice(0, 0, 10, 3)}};
  CHECK(encoded_tensors::copy(views).bytes() < 20'000);
  const auto after = round_trip(views);
  for (std::size_t i = 0; i < views.size(); ++i) CHECK(torch::equal(after[i].tensor, views[i].tensor));
}

TEST_CASE("a conjugate view is stored as what it shows") {
  const auto t = torch::complex(torch::ones({2}), torch::ones({2}));
  const auto after = round_trip({{"t", t.conj()}});
  CHECK(torch::equal(after[0].tensor, t.conj().resolve_conj()));
}

TEST_CASE("tied tensors are stored once and come back tied") {
  const auto w = torch::randn({100, 100});
  const tensor_map tied{{"encoder", w}, {"decoder", w}, {"other", torch::randn({100, 100})}};
  CHECK(encoded_tensors::copy(tied).parts("m/").size() == 3);
  const auto after = round_trip(tied);
  CHECK(after[0].tensor.data_ptr() == after[1].tensor.data_ptr());
  CHECK(after[2].tensor.data_ptr() != after[0].tensor.data_ptr());
  // Another view of the same memory is not the same tensor.
  CHECK(encoded_tensors::copy({{"a", w}, {"b", w.t()}}).parts("m/").size() == 3);
}

TEST_CASE("the copy does not change when the live tensors do") {
  auto t = torch::ones({4});
  const auto encoded = encoded_tensors::copy({{"t", t}});
  t.fill_(9);
  const auto parts = encoded.parts("m/");
  CHECK(*reinterpret_cast<const float*>(parts[1].bytes.data()) == 1.0F);
}

TEST_CASE("what cannot be stored is refused by name") {
  expect_error(
      errc::invalid_input,
      [] {
        static_cast<void>(encoded_tensors::copy({{"lost", torch::Tensor()}}));
      },
      "\"lost\"", "undefined");
  expect_error(
      errc::invalid_input,
      [] {
        static_cast<void>(encoded_tensors::copy({{"a", torch::ones(1)}, {"a", torch::ones(1)}}));
      },
      "\"a\"");
  expect_error(
      errc::invalid_input,
      [] {
        static_cast<void>(encoded_tensors::copy({{"s", torch::eye(2).to_sparse()}}));
      },
      "\"s\"", "sparse");
}

TEST_CASE("restoring refuses what differs by name and writes nothing") {
  const auto live = torch::zeros({2, 3});
  const auto before = tensor_map{{"a", torch::zeros({1})}, {"w", live}};
  const auto refuse = [&](const tensor_map& saved, const char* word) {
    expect_error(
        errc::schema_mismatch, [&] { restore_into(before, saved); }, word);
    CHECK(before[0].tensor.item<float>() == 0.0F);
  };
  refuse({{"a", torch::ones({1})}, {"w", torch::ones({3, 2})}}, "\"w\"");
  refuse({{"a", torch::ones({1})}, {"w", torch::ones({2, 3}, torch::kFloat64)}}, "Double");
  refuse({{"a", torch::ones({1})}, {"v", torch::ones({2, 3})}}, "\"v\"");
  refuse({{"a", torch::ones({1})}}, "missing");
  refuse({{"a", torch::ones({1})}, {"w", torch::ones({2, 3})}, {"x", torch::ones({1})}}, "\"x\"");
  const auto shared = torch::ones({1});
  const auto one = torch::zeros({1});
  expect_error(
      errc::schema_mismatch,
      [&] {
        restore_into({{"p", one}, {"q", one}}, {{"p", torch::ones({1})}, {"q", torch::ones({1})}});
      },
      "tied");
  restore_into(before, {{"a", torch::ones({1})}, {"w", torch::full({2, 3}, 4.0F)}});
  CHECK(live.sum().item<float>() == 24.0F);
}

TEST_CASE("restoring into a non-contiguous live tensor fills what it shows") {
  const auto base = torch::zeros({3, 2});
  restore_into({{"t", base.t()}}, {{"t", torch::arange(6, torch::kFloat32).view({2, 3})}});
  CHECK(torch::equal(base.t(), torch::arange(6, torch::kFloat32).view({2, 3})));
}

TEST_CASE("damaged parts are refused as corrupt, each byte cut off the index included") {
  const tensor_map before{{"a", torch::randn({3})}, {"b", torch::randn({2, 2})}};
  const auto good = stored(before);
  for (std::size_t cut = 0; cut < good[0].bytes.size(); ++cut) {
    CAPTURE(cut);
    auto parts = good;
    parts[0].bytes.resize(cut);
    // A cut between two entries is a shorter index: then fewer tensors, which restoring refuses.
    try {
      const auto fewer = decode_tensors(parts, "m/");
      CHECK_FALSE(schema_difference(before, fewer).empty());
    } catch (const error& refused) {
      CHECK(refused.code() == errc::corrupt);
    }
  }
  auto parts = good;
  parts[1].bytes.pop_back();
  expect_error(
      errc::corrupt, [&] { static_cast<void>(decode_tensors(parts, "m/")); }, "m/tensor/000000", "11 bytes");
  parts = good;
  parts.pop_back();
  expect_error(
      errc::corrupt, [&] { static_cast<void>(decode_tensors(parts, "m/")); }, "m/tensor/000001", "missing");
  expect_error(
      errc::corrupt, [] { static_cast<void>(decode_tensors({}, "m/")); }, "m/index");
}

TEST_CASE("the index's bytes are what they were") {
  const auto parts = stored({{"w", torch::zeros({2, 3})}});
  // One entry: name "w", dtype 8 (float32), sizes 2 and 3, payload 0; then one payload.
  CHECK(parts[0].bytes == std::string("\x0a\x09\x0a\x01w\x10\x08\x1a\x02\x02\x03\x10\x01", 13));
}

TEST_CASE("the content hash sees names, dtypes, shapes and elements, not strides") {
  const auto t = torch::randn({4, 4});
  const tensor_map a{{"t", t}};
  CHECK(content_hash(a) == content_hash({{"t", t.t().contiguous().t()}}));
  CHECK_FALSE(content_hash(a) == content_hash({{"u", t}}));
  CHECK_FALSE(content_hash(a) == content_hash({{"t", t.view({2, 8})}}));
  CHECK_FALSE(content_hash(a) == content_hash({{"t", t + 1}}));
  CHECK(schema_hash(a) == schema_hash({{"t", t + 1}}));
  CHECK(schema_hash(a) != schema_hash({{"t", t.view({2, 8})}}));
}
