#include <planaria/actors/tensor_memory.hpp>

#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <malloc.h>
#include <sys/mman.h>
#include <torch/torch.h>

#include <cstring>
#include <list>
#include <mutex>
#include <unordered_map>

namespace planaria {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t small_page = std::size_t{4} << 10;

std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

// Maps memory that begins on a huge page; a tail shorter than one keeps small pages. Null when there is none.
void* map_block(std::size_t bytes, bool huge_pages) {
  const auto reserved = bytes + huge_page;
  void* found = ::mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (found == MAP_FAILED) return nullptr;
  auto* start = static_cast<std::byte*>(found);
  const auto skipped = round_up(reinterpret_cast<std::size_t>(start), huge_page) - reinterpret_cast<std::size_t>(start);
  if (skipped > 0) ::munmap(start, skipped);
  auto* block = start + skipped;
  if (const auto after = reserved - skipped - bytes; after > 0) ::munmap(block + bytes, after);
  if (huge_pages) ::madvise(block, bytes / huge_page * huge_page, MADV_HUGEPAGE);
  return block;
}

// The blocks of large tensors: those in use by address, and those kept, the last freed first.
class block_store {
 public:
  explicit block_store(tensor_memory_options options) : options_(options) {}

  void* take(std::size_t wanted) {
    const auto bytes = round_up(wanted, small_page);
    {
      std::lock_guard lock(mutex_);
      for (auto at = kept_.begin(); at != kept_.end(); ++at) {
        if (at->bytes < bytes || at->bytes - at->bytes / 8 > bytes) continue;
        const auto found = *at;
        kept_.erase(at);
        use_.kept -= found.bytes;
        return hold(found);
      }
    }
    auto* mapped = map_block(bytes, options_.huge_pages);
    if (mapped == nullptr) return nullptr;
    std::lock_guard lock(mutex_);
    return hold({mapped, bytes});
  }

  // False: not one of these.
  bool give_back(void* address) {
    std::list<block> dropped;
    {
      std::lock_guard lock(mutex_);
      const auto found = held_.find(address);
      if (found == held_.end()) return false;
      use_.in_use -= found->second;
      use_.kept += found->second;
      kept_.push_front({address, found->second});
      held_.erase(found);
      while (use_.kept > options_.keep_bytes) {
        use_.kept -= kept_.back().bytes;
        dropped.splice(dropped.begin(), kept_, std::prev(kept_.end()));
      }
    }
    for (const auto& b : dropped) ::munmap(b.address, b.bytes);
    return true;
  }

  tensor_memory_use use() {
    std::lock_guard lock(mutex_);
    return use_;
  }

 private:
  struct block {
    void* address;
    std::size_t bytes;
  };

  void* hold(const block& taken) {
    held_.emplace(taken.address, taken.bytes);
    use_.in_use += taken.bytes;
    return taken.address;
  }

  const tensor_memory_options options_;
  std::mutex mutex_;
  std::unordered_map<void*, std::size_t> held_;
  std::list<block> kept_;
  tensor_memory_use use_;
};

// Never destroyed: tensors of static duration outlive everything else.
block_store*& blocks() {
  static block_store* store = nullptr;
  return store;
}

// Every block that is not huge_page-aligned, and those that are by chance, are LibTorch's own.
void release(void* address) {
  const bool may_be_large = reinterpret_cast<std::size_t>(address) % huge_page == 0;
  if (address == nullptr || (may_be_large && blocks()->give_back(address))) return;
  c10::free_cpu(address);
}

class tensor_allocator final : public c10::Allocator {
 public:
#if TORCH_VERSION_MAJOR >= 2
  c10::DataPtr allocate(std::size_t bytes) override { return make(bytes); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { std::memcpy(to, from, bytes); }
#else
  c10::DataPtr allocate(std::size_t bytes) const override { return make(bytes); }
#endif
  c10::DeleterFnPtr raw_deleter() const override { return &release; }

 private:
  static c10::DataPtr make(std::size_t bytes) {
    void* address = bytes >= huge_page ? blocks()->take(bytes) : nullptr;
    if (address == nullptr) address = c10::alloc_cpu(bytes);
    return {address, address, &release, c10::Device(c10::DeviceType::CPU)};
  }
};

#if defined(__SANITIZE_ADDRESS__)
constexpr bool replaces_allocator = false;
#else
constexpr bool replaces_allocator = true;
#endif

void keep_in_malloc() {
#if defined(__GLIBC__)
  // Larger blocks than this are mapped anew each time; glibc allows no more.
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  // Also what keeps an arena's emptied heaps.
  ::mallopt(M_TOP_PAD, 64 << 20);
#endif
}

}  // namespace

void keep_freed_memory(tensor_memory_options options) {
  if (blocks() != nullptr) return;
  keep_in_malloc();
  blocks() = new block_store(options);
  static tensor_allocator allocator;
  // The priority of an ordinary override: PyTorch's own uses 0.
  if (replaces_allocator) c10::SetCPUAllocator(&allocator, 1);
}

tensor_memory_use large_tensor_memory() { return blocks() == nullptr ? tensor_memory_use{} : blocks()->use(); }

}  // namespace planaria
