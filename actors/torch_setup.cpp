#include <planaria/actors/torch_setup.hpp>

#include <link.h>

#include <filesystem>
#include <ostream>
#include <string_view>

namespace planaria {
namespace {

int note_blas(dl_phdr_info* info, std::size_t, void* found) {
  const std::string_view name(info->dlpi_name);
  if (name.find("libblas.so") != std::string_view::npos || name.find("libopenblas") != std::string_view::npos)
    *static_cast<std::string*>(found) = name;
  return 0;
}

}  // namespace

std::string blas_in_use() {
  std::string path;
  dl_iterate_phdr(note_blas, &path);
  std::error_code failed;
  const auto real = std::filesystem::weakly_canonical(path, failed).string();
  for (const std::string_view variant : {"openblas-openmp", "openblas-pthread", "openblas-serial"})
    if (real.find(variant) != std::string::npos) return std::string(variant);
  if (real.find("/blas/") != std::string::npos) return "reference";
  return std::filesystem::path(real).filename().string();
}

void warn_about_blas(std::ostream& to) {
  const auto blas = blas_in_use();
  if (blas != "reference" && blas != "openblas-pthread") return;
  to << "planaria: LibTorch runs on the " << blas
     << " BLAS, which is many times slower here; mend it with: apt-get install libopenblas0-openmp && "
        "update-alternatives "
        "--set libblas.so.3-x86_64-linux-gnu /usr/lib/x86_64-linux-gnu/openblas-openmp/libblas.so.3\n";
}

}  // namespace planaria
