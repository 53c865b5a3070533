#pragma once

#include <cstddef>

namespace planaria {

/// What the process does with the memory of large tensors (2 MB and more).
struct tensor_memory_options {
  std::size_t keep_bytes = std::size_t{1} << 30;  ///< freed blocks are kept for the next tensor up to this much in all
  bool huge_pages = true;                         ///< asks for transparent huge pages where the kernel grants them
};

/// What large_tensor_memory() counts, in bytes since keep_freed_memory().
struct tensor_memory_use {
  std::size_t in_use = 0;  ///< blocks that tensors hold
  std::size_t kept = 0;    ///< freed blocks that wait for a tensor
};

/// Makes the process keep memory that it frees, and puts large tensors on huge pages.
///
/// A training step frees and asks for the same large tensors again, and mapping, faulting in and translating 4 KB pages
/// costs more than using them: worth 5–15 % of a step for models of millions of parameters. Large blocks come from an
/// allocator of ours under LibTorch's (c10::SetCPUAllocator), smaller ones from malloc told to keep what is freed
/// (glibc's mallopt; elsewhere nothing). A kept block serves a tensor of at least 7/8 of its size.
///
/// Process-wide and for good, so it is the application's choice; tensors that exist already stay where they are. Call
/// it before training, from one thread; a second call does nothing. Under AddressSanitizer it leaves LibTorch's
/// allocator alone, so that overruns are found. Errors: a failed mapping falls back to LibTorch's own allocator.
void keep_freed_memory(tensor_memory_options options = {});

/// How much memory large tensors have now. Thread: any. Zeros unless keep_freed_memory() was called.
[[nodiscard]] tensor_memory_use large_tensor_memory();

}  // namespace planaria
