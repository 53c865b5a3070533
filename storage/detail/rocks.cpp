#include <planaria/storage/detail/rocks.hpp>

#include <rocksdb/env.h>
#include <rocksdb/listener.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace planaria::detail {
namespace {

// RocksDB 7.8 as Debian builds it aborts when it recovers by itself from a full disk: the store is reopened instead.
class no_automatic_recovery final : public rocksdb::EventListener {
 public:
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status, bool* auto_recovery) override {
    *auto_recovery = false;
  }
};

// RocksDB's own log aborts the process at the first line after one that could not be written, on a full disk say
// (7.8 as Debian builds it). This one drops what it cannot write.
class tolerant_log final : public rocksdb::Logger {
 public:
  explicit tolerant_log(const std::filesystem::path& file)
      : rocksdb::Logger(rocksdb::WARN_LEVEL), file_(std::fopen(file.c_str(), "we")) {}
  ~tolerant_log() override {
    if (file_ != nullptr) std::fclose(file_);
  }
  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    if (file_ == nullptr) return;
    char line[1024];
    const auto length = std::vsnprintf(line, sizeof line - 1, format, arguments);
    if (length < 0) return;
    const auto kept = std::min(static_cast<std::size_t>(length), sizeof line - 2);
    line[kept] = '\n';
    std::fwrite(line, 1, kept + 1, file_);
    std::fflush(file_);
    std::clearerr(file_);
  }

 private:
  std::FILE* const file_;
};

// ThreadSanitizer's stacks show who called an instrumented function last, not that function itself: write_batch is seen
// because it calls this one.
[[gnu::noinline]] rocksdb::Status write_in_library(rocksdb::DB& to, const rocksdb::WriteOptions& how,
                                                   rocksdb::WriteBatch& writes) {
  return to.Write(how, &writes);
}

errc code_of(const rocksdb::Status& status) {
  if (status.IsNoSpace() || status.subcode() == rocksdb::Status::kNoSpace) return errc::disk_full;
  if (status.IsCorruption()) return errc::corrupt;
  if (status.IsNotFound()) return errc::not_found;
  if (status.IsTimedOut()) return errc::timeout;
  if (status.ToString().find("LOCK:") != std::string::npos) return errc::in_use;
  return errc::io;
}

}  // namespace

void check(const rocksdb::Status& status, const std::string& what) {
  if (!status.ok()) throw error(code_of(status), what + ": " + status.ToString());
}

rocksdb::Status write_batch(rocksdb::DB& to, const rocksdb::WriteOptions& how, rocksdb::WriteBatch& writes) {
  return write_in_library(to, how, writes);
}

std::string after_prefix(std::string_view prefix) {
  std::string next(prefix);
  while (!next.empty() && static_cast<unsigned char>(next.back()) == 0xff) next.pop_back();
  if (!next.empty()) next.back() = static_cast<char>(static_cast<unsigned char>(next.back()) + 1);
  return next;
}

std::shared_ptr<rocksdb::Logger> log_to(const std::filesystem::path& file) {
  return std::make_shared<tolerant_log>(file);
}

rocksdb::DBOptions database_options() {
  rocksdb::DBOptions options;
  options.create_missing_column_families = true;
  // The default mode drops synced records after a flipped byte without a word; this one refuses all but a torn tail.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  options.listeners.push_back(std::make_shared<no_automatic_recovery>());
  options.max_background_jobs = 2;
  options.max_open_files = 256;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.skip_stats_update_on_db_open = true;
  options.max_total_wal_size = std::uint64_t{64} << 20;
  return options;
}

rocksdb::ColumnFamilyOptions control_options() {
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size = std::size_t{16} << 20;
  options.compression = rocksdb::kNoCompression;
  return options;
}

rocksdb::ColumnFamilyOptions tensors_options() {
  rocksdb::ColumnFamilyOptions options;
  options.compression = rocksdb::kNoCompression;
  options.disable_auto_compactions = true;
  options.level0_slowdown_writes_trigger = 1 << 20;
  options.level0_stop_writes_trigger = 1 << 20;
  rocksdb::BlockBasedTableOptions table;
  table.checksum = rocksdb::kXXH3;
  table.no_block_cache = true;
  // A small record never shares a block with the large one after it, so that reading it is cheap.
  table.block_size_deviation = 100;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

}  // namespace planaria::detail
