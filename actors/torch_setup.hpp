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

}  // namespace planaria
