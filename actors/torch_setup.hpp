#pragma once

#include <iosfwd>
#include <string>

namespace planaria {

/// Names the BLAS that LibTorch runs on in this process, as the dynamic linker found it: "openblas-openmp",
/// "openblas-pthread", "openblas-serial", "reference", or the library's file name.
[[nodiscard]] std::string blas_in_use();

/// Writes one line with the command that mends it when the BLAS is one that makes training many times slower: the
/// reference BLAS, or OpenBLAS with its own thread pool, which several trainers in one process fight for. Writes
/// nothing otherwise.
void warn_about_blas(std::ostream& to);

/// Makes the process keep memory that it frees, up to about 1 GiB, instead of handing it back: a step frees and asks
/// for the same large tensors, and fresh pages cost more than using them. Worth 5–15 % for models of millions of
/// parameters.
///
/// Process-wide (glibc's mallopt; elsewhere nothing happens), so it is the application's choice; call it before
/// training.
void keep_freed_memory() noexcept;

}  // namespace planaria
