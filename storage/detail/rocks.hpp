#pragma once

#include <planaria/storage/error.hpp>

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/status.h>

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace planaria::detail {

/// The one place where a rocksdb::Status becomes an error. `what` says what was being done, and to which file or key.
void check(const rocksdb::Status& status, const std::string& what);

/// Only calls RocksDB, and stands apart so that ThreadSanitizer's suppressions can name it (tests/tsan.supp).
[[nodiscard]] rocksdb::Status write_batch(rocksdb::DB& to, const rocksdb::WriteOptions& how,
                                          rocksdb::WriteBatch& writes);

[[nodiscard]] inline rocksdb::Slice slice(std::string_view text) { return {text.data(), text.size()}; }
[[nodiscard]] inline rocksdb::Slice slice(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
[[nodiscard]] inline std::string_view view(const rocksdb::Slice& from) { return {from.data(), from.size()}; }

/// Returns the first key after every key that starts with `prefix`; empty when there is none.
[[nodiscard]] std::string after_prefix(std::string_view prefix);

[[nodiscard]] rocksdb::DBOptions database_options();
/// RocksDB's own messages, from warnings on, written to a file begun anew; an empty path: dropped.
[[nodiscard]] std::shared_ptr<rocksdb::Logger> log_to(const std::filesystem::path& file);
[[nodiscard]] rocksdb::ColumnFamilyOptions control_options();
/// Large values in files of their own: not compressed, never compacted, XXH3 over each block.
[[nodiscard]] rocksdb::ColumnFamilyOptions tensors_options();

}  // namespace planaria::detail
