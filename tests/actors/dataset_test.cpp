#include "expect_error.hpp"
#include "temporary_directory.hpp"

#include <planaria/actors/dataset.hpp>

#include <torch/torch.h>

#include <fstream>

using namespace planaria;
using testing::expect_error;
using testing::temporary_directory;

namespace {

void write_idx(const std::filesystem::path& to, std::vector<unsigned char> dims, const std::string& elements) {
  std::ofstream out(to, std::ios::binary);
  out << '\0' << '\0' << '\x08' << static_cast<char>(dims.size());
  for (const auto d : dims) out << '\0' << '\0' << '\0' << static_cast<char>(d);
  out << elements;
}

struct squares : torch::data::datasets::Dataset<squares> {
  torch::data::Example<> get(std::size_t index) override {
    const auto x = static_cast<float>(index);
    return {torch::tensor({x}), torch::tensor({x * x})};
  }
  [[nodiscard]] torch::optional<std::size_t> size() const override { return 10; }
};

}  // namespace

TEST_CASE("tensors in memory are given out by index, in the order asked for") {
  const auto data = tensor_dataset(torch::arange(10).view({5, 2}), torch::arange(5));
  const std::vector<std::int64_t> indices{3, 0, 3};
  const auto batch = data->get(indices);
  CHECK(torch::equal(batch.target, torch::tensor({3L, 0L, 3L})));
  CHECK(batch.data[0][1].item<std::int64_t>() == 7);
  for (const std::int64_t outside : {-1, 5}) {
    const std::vector<std::int64_t> bad{0, outside};
    expect_error(
        errc::invalid_input, [&] { static_cast<void>(data->get(bad)); }, std::to_string(outside), "5");
  }
  expect_error(
      errc::invalid_input,
      [] {
        static_cast<void>(tensor_dataset(torch::ones({3, 1}), torch::ones({4})));
      },
      "3", "4");
  expect_error(
      errc::invalid_input,
      [] {
        static_cast<void>(tensor_dataset(torch::ones({0, 1}), torch::ones({0})));
      },
      "sample");
}

TEST_CASE("IDX images and labels are scaled and counted") {
  const temporary_directory dir;
  write_idx(dir / "images", {2, 1, 2}, std::string("\x00\xff\x33\x66", 4));
  write_idx(dir / "labels", {2}, std::string("\x07\x01", 2));
  const auto data = idx_dataset(dir / "images", dir / "labels", {.mean = 0.5, .deviation = 0.5});
  const std::vector<std::int64_t> all{0, 1};
  const auto batch = data->get(all);
  CHECK(batch.data.sizes() == torch::IntArrayRef({2, 1, 1, 2}));
  CHECK(batch.data[0][0][0][0].item<float>() == doctest::Approx(-1.0));
  CHECK(batch.data[0][0][0][1].item<float>() == doctest::Approx(1.0));
  CHECK(torch::equal(batch.target, torch::tensor({7L, 1L})));
  write_idx(dir / "three", {3}, std::string("\x07\x01\x02", 3));
  expect_error(
      errc::invalid_input, [&] { static_cast<void>(idx_dataset(dir / "images", dir / "three")); }, "2 images",
      "3 labels");
  expect_error(
      errc::invalid_input, [&] { static_cast<void>(idx_dataset(dir / "labels", dir / "labels")); }, "3 dimensions");
}

TEST_CASE("a CSV table is split into data and label") {
  const temporary_directory dir;
  std::ofstream(dir / "t.csv") << "a,label,b\n1,0,2\n3,1,4\n";
  const auto data = csv_dataset(dir / "t.csv", "label");
  const std::vector<std::int64_t> second{1};
  const auto batch = data->get(second);
  CHECK(torch::equal(batch.data, torch::tensor({{3.0F, 4.0F}})));
  CHECK(torch::equal(batch.target, torch::tensor({1L})));
  expect_error(
      errc::invalid_input, [&] { static_cast<void>(csv_dataset(dir / "t.csv", "class")); }, "class");
}

TEST_CASE("any map-style LibTorch dataset can be used") {
  const auto data = map_style(squares());
  CHECK(data->size() == 10);
  const std::vector<std::int64_t> indices{9, 2};
  CHECK(torch::equal(data->get(indices).target, torch::tensor({{81.0F}, {4.0F}})));
}
