#include <planaria/storage/error.hpp>

namespace planaria {

std::string_view to_string(errc code) noexcept {
  switch (code) {
    case errc::invalid_input: return "invalid_input";
    case errc::not_found: return "not_found";
    case errc::already_exists: return "already_exists";
    case errc::in_use: return "in_use";
    case errc::corrupt: return "corrupt";
    case errc::schema_mismatch: return "schema_mismatch";
    case errc::newer_format: return "newer_format";
    case errc::io: return "io";
    case errc::disk_full: return "disk_full";
    case errc::timeout: return "timeout";
    case errc::fenced: return "fenced";
    case errc::stopped: return "stopped";
    case errc::hung: return "hung";
    case errc::user_error: return "user_error";
    case errc::limit_reached: return "limit_reached";
    case errc::ignored: return "ignored";
  }
  return "unknown";
}

}  // namespace planaria
