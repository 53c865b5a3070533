#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace planaria {

/// What kind of failure it was; a code exists only if some caller reacts to exactly it, the rest is text.
/// On disk and in down reasons: never renumber.
enum class errc : std::uint8_t {
  invalid_input = 1,    ///< an argument, a configuration or a file was refused; mend it and try again
  not_found = 2,        ///< the named thing does not exist
  already_exists = 3,   ///< the id, path or key is taken
  in_use = 4,           ///< another process or node holds it
  corrupt = 5,          ///< stored bytes do not verify
  schema_mismatch = 6,  ///< names, shapes or dtypes differ from what is expected
  newer_format = 7,     ///< written by a newer version of Planaria
  io = 8,               ///< the operating system or RocksDB failed
  disk_full = 9,        ///< no space; nothing acknowledged was lost
  timeout = 10,         ///< a deadline passed
  fenced = 11,          ///< the caller is an incarnation that has been replaced
  stopped = 12,         ///< shutting down, or cancelled on request
  hung = 13,            ///< a child missed its progress deadline
  user_error = 14,      ///< an exception left user code; the text is the exception's
  limit_reached = 15,   ///< a retry, restart or abandoned-slot limit was exceeded
  ignored = 16,         ///< a child that does not want to run now, and says so instead of failing: see ignore()
};

/// Returns the code's name, such as "schema_mismatch"; "unknown" for a value outside the enum.
[[nodiscard]] std::string_view to_string(errc code) noexcept;

/// The one exception that Planaria's synchronous interfaces throw.
///
/// what() says what was refused, where and why, and how to mend it when that is known. Copyable, thread-safe to share.
class error : public std::runtime_error {
 public:
  error(errc code, const std::string& text) : std::runtime_error(text), code_(code) {}

  [[nodiscard]] errc code() const noexcept { return code_; }

 private:
  errc code_;
};

}  // namespace planaria
