#pragma once

#include <sys/resource.h>

#include <csignal>

namespace planaria::testing {

/// Lets no file of this process grow while it lives, as on a full disk (writes fail with EFBIG).
class files_do_not_grow {
 public:
  files_do_not_grow() {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    auto none = before_;
    none.rlim_cur = 0;
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  ~files_do_not_grow() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  files_do_not_grow(const files_do_not_grow&) = delete;
  files_do_not_grow& operator=(const files_do_not_grow&) = delete;

 private:
  rlimit before_{};
};

}  // namespace planaria::testing
