#include "test.hpp"

#include <planaria/actors/tensor_memory.hpp>

#include <torch/torch.h>

#include <cstdint>
#include <thread>
#include <vector>

using namespace planaria;

namespace {

constexpr std::size_t megabyte = std::size_t{1} << 20;
constexpr std::size_t keep = 64 * megabyte;

// The allocator is the process's, so every case finds it installed.
void install() { keep_freed_memory({.keep_bytes = keep}); }

torch::Tensor bytes(std::size_t count) { return torch::empty({static_cast<std::int64_t>(count)}, torch::kUInt8); }

// AddressSanitizer keeps LibTorch's own allocator.
bool installed() {
  install();
  const auto large = bytes(8 * megabyte);
  return large_tensor_memory().in_use >= 8 * megabyte;
}

}  // namespace

TEST_CASE("a large tensor begins on a huge page and its memory serves the next one of about its size") {
  if (!installed()) return;
  const void* first = nullptr;
  {
    const auto large = bytes(10 * megabyte);
    first = large.data_ptr();
    CHECK(reinterpret_cast<std::uintptr_t>(first) % (2 * megabyte) == 0);
  }
  CHECK(bytes(10 * megabyte - 100).data_ptr() == first);
  CHECK(bytes(9 * megabyte).data_ptr() == first);
  CHECK(bytes(12 * megabyte).data_ptr() != first);
  CHECK(bytes(4 * megabyte).data_ptr() != first);
}

TEST_CASE("memory that tensors hold is counted until they go, and no more is kept than asked for") {
  if (!installed()) return;
  const auto before = large_tensor_memory();
  {
    std::vector<torch::Tensor> many;
    for (int i = 0; i < 10; ++i) many.push_back(bytes(20 * megabyte + static_cast<std::size_t>(i) * 3 * megabyte));
    CHECK(large_tensor_memory().in_use >= before.in_use + 200 * megabyte);
  }
  CHECK(large_tensor_memory().in_use == before.in_use);
  CHECK(large_tensor_memory().kept <= keep);
  // Larger than all that may be kept.
  static_cast<void>(bytes(2 * keep));
  CHECK(large_tensor_memory().kept <= keep);
}

TEST_CASE("tensors of every size hold what is written, also when resized, copied and freed on other threads") {
  install();
  std::vector<std::thread> writers;
  std::vector<int> wrong(2, 0);
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    writers.emplace_back([t, &wrong] {
      for (const std::size_t size : {std::size_t{0}, std::size_t{1}, 2 * megabyte - 1, 2 * megabyte, 2 * megabyte + 1,
                                     5 * megabyte, 33 * megabyte}) {
        auto tensor = bytes(size).fill_(static_cast<std::int64_t>(t + 1));
        auto moved = tensor.clone();
        std::thread([held = std::move(tensor)]() mutable { held.reset(); }).join();
        moved.resize_({static_cast<std::int64_t>(size + 3 * megabyte)});
        moved.slice(0, static_cast<std::int64_t>(size)).fill_(static_cast<std::int64_t>(t + 1));
        if (!moved.eq(static_cast<std::int64_t>(t + 1)).all().item<bool>()) ++wrong[t];
      }
    });
  }
  for (auto& w : writers) w.join();
  CHECK(wrong == std::vector<int>{0, 0});
}
