#include <planaria/storage/detail/bytes.hpp>
#include <planaria/storage/detail/group_commit.hpp>
#include <planaria/storage/detail/rocks.hpp>
#include <planaria/storage/detail/run_directory.hpp>
#include <planaria/storage/store.hpp>

#include <rocksdb/convenience.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

namespace planaria {
namespace {

namespace fs = std::filesystem;
using detail::check;
using detail::slice;

constexpr std::size_t smallest_chunk = std::size_t{1} << 20;
constexpr std::size_t largest_chunk = std::size_t{16} << 20;
constexpr std::chrono::seconds read_only_patience{5};
constexpr std::string_view format_key = "meta/format";
constexpr std::string_view boot_key = "meta/boot";
constexpr std::string_view boot_mark = "boot";

// A blob is its length under chunk 0 and its bytes under chunks 1, 2, …; no key of ours holds a NUL.
std::string chunk_key(std::string_view key, std::uint32_t chunk) {
  std::string bytes(key);
  bytes.push_back('\0');
  detail::append_big_endian(bytes, chunk);
  return bytes;
}

void check_options(const store_options& options) {
  if (options.directory.empty()) throw error(errc::invalid_input, "a store needs a directory");
  if (options.chunk_bytes < smallest_chunk || options.chunk_bytes > largest_chunk)
    throw error(errc::invalid_input, "chunk_bytes must be 1 to 16 MiB, not " + std::to_string(options.chunk_bytes));
}

}  // namespace

batch& batch::put(std::string_view key, std::string_view value) {
  changes_.emplace_back(std::string(key), std::string(value));
  return *this;
}

batch& batch::erase(std::string_view key) {
  changes_.emplace_back(std::string(key), std::nullopt);
  return *this;
}

struct store::impl {
  explicit impl(store_options o) : options(std::move(o)) {}
  ~impl() {
    for (auto* handle : handles) static_cast<void>(db->DestroyColumnFamilyHandle(handle));
  }

  void open();
  void open_database();
  void check_format();
  void count_boot();
  void apply(const batch& changes, bool sync);
  [[nodiscard]] std::string where(std::string_view key) const {
    return options.directory.string() + ", key \"" + std::string(key) + "\"";
  }
  [[nodiscard]] bool has_blob(std::string_view key) const;
  [[nodiscard]] std::uint64_t blob_bytes(std::string_view key, const std::string& header) const;
  void write_file(const fs::path& file, const std::vector<const blob*>& blobs) const;

  store_options options;
  std::unique_ptr<detail::directory_lock> lock;
  std::unique_ptr<rocksdb::DB> db;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::ColumnFamilyHandle* control = nullptr;
  rocksdb::ColumnFamilyHandle* tensors = nullptr;
  std::unique_ptr<detail::group_commit> group;
  std::uint64_t boot = 0;
  std::atomic<std::uint32_t> ids{0};
  std::atomic<std::uint64_t> files{0};
  std::mutex ingesting;
  mutable std::mutex marks_mutex;
  std::optional<detail::high_water> marks;  // guarded by marks_mutex
};

void store::impl::open() {
  check_options(options);
  const auto& directory = options.directory;
  if (options.mode != open_mode::create_or_open && !detail::holds_store(directory))
    throw error(errc::not_found, directory.string() + ": there is no run in this directory");
  if (options.mode != open_mode::read_only) {
    detail::prepare_run_directory(directory);
    lock = std::make_unique<detail::directory_lock>(directory);
  }
  marks.emplace(directory);
  open_database();
  check_format();
  if (options.mode == open_mode::read_only) return;
  group = std::make_unique<detail::group_commit>(options.group_interval, [this] {
    check(db->SyncWAL(), options.directory.string() + ": the log cannot be synced");
  });
  std::error_code ignored;
  fs::remove_all(directory / "aside", ignored);
  fs::create_directories(directory / "aside");
  count_boot();
}

void store::impl::open_database() {
  auto settings = detail::database_options();
  settings.create_if_missing = options.mode == open_mode::create_or_open;
  const std::vector<rocksdb::ColumnFamilyDescriptor> families{
      {rocksdb::kDefaultColumnFamilyName, rocksdb::ColumnFamilyOptions{}},
      {"control", detail::control_options()},
      {"tensors", detail::tensors_options()}};
  const auto path = (options.directory / "db").string();
  const auto what = options.directory.string() + ": the store cannot be opened";
  rocksdb::DB* opened = nullptr;
  if (options.mode == open_mode::read_only) {
    settings.info_log = detail::log_to({});
    // A live writer may retire a file between the reading of its list and its opening: then the next list is right.
    const auto until = std::chrono::steady_clock::now() + read_only_patience;
    rocksdb::Status status;
    do {
      status = rocksdb::DB::OpenForReadOnly(settings, path, families, &handles, &opened);
    } while (!status.ok() && status.ToString().find("No such file") != std::string::npos &&
             std::chrono::steady_clock::now() < until);
    check(status, what);
  } else {
    std::error_code ignored;
    fs::create_directories(path, ignored);
    settings.info_log = detail::log_to(options.directory / "db" / "LOG");
    check(rocksdb::DB::Open(settings, path, families, &handles, &opened), what);
  }
  db.reset(opened);
  control = handles[1];
  tensors = handles[2];
}

void store::impl::check_format() {
  std::string value;
  const auto status = db->Get({}, control, slice(format_key), &value);
  if (status.IsNotFound()) {
    if (options.mode != open_mode::read_only)
      check(db->Put({}, control, slice(format_key), detail::big_endian(format_version)), where(format_key));
    return;
  }
  check(status, where(format_key));
  if (value.size() != sizeof(std::uint32_t))
    throw error(errc::corrupt, where(format_key) + ": is not a format version");
  const auto version = detail::read_big_endian<std::uint32_t>(value);
  if (version > format_version)
    throw error(errc::newer_format, options.directory.string() + ": written in format " + std::to_string(version) +
                                        " by a newer Planaria; this one knows formats up to " +
                                        std::to_string(format_version));
}

void store::impl::count_boot() {
  std::string value;
  const auto status = db->Get({}, control, slice(boot_key), &value);
  if (!status.IsNotFound()) check(status, where(boot_key));
  const auto last = value.size() == sizeof(std::uint64_t) ? detail::read_big_endian<std::uint64_t>(value) : 0;
  boot = std::max(last, marks->get(boot_mark)) + 1;
  rocksdb::WriteOptions synced;
  synced.sync = true;
  check(db->Put(synced, control, slice(boot_key), detail::big_endian(boot)), where(boot_key));
  marks->raise(boot_mark, boot);
}

void store::impl::apply(const batch& changes, bool sync) {
  if (options.mode == open_mode::read_only)
    throw error(errc::invalid_input, options.directory.string() + ": opened read-only, so nothing can be written");
  rocksdb::WriteBatch writes;
  for (const auto& [key, value] : changes.changes_) {
    const auto status = value ? writes.Put(control, slice(key), slice(*value)) : writes.Delete(control, slice(key));
    check(status, where(key));
  }
  rocksdb::WriteOptions how;
  how.sync = sync;
  check(detail::write_batch(*db, how, writes),
        changes.empty() ? options.directory.string() : where(changes.changes_.front().first));
}

store::store(store_options options) : impl_(std::make_unique<impl>(std::move(options))) { impl_->open(); }

store::~store() = default;

void store::commit(const batch& changes) { commit(changes, impl_->options.sync); }

void store::commit(const batch& changes, sync_policy sync) {
  impl_->apply(changes, sync == sync_policy::every_commit);
  if (sync == sync_policy::group_commit) impl_->group->wait_synced();
}

void store::put(std::string_view key, std::string_view value, sync_policy sync) {
  commit(batch{}.put(key, value), sync);
}

std::optional<std::string> store::get(std::string_view key) const {
  std::string value;
  const auto status = impl_->db->Get({}, impl_->control, slice(key), &value);
  if (status.IsNotFound()) return std::nullopt;
  check(status, impl_->where(key));
  return value;
}

void store::scan(std::string_view prefix, const std::function<bool(std::string_view, std::string_view)>& visit) const {
  const auto end = detail::after_prefix(prefix);
  const rocksdb::Slice bound = slice(end);
  rocksdb::ReadOptions how;
  if (!end.empty()) how.iterate_upper_bound = &bound;
  const std::unique_ptr<rocksdb::Iterator> at(impl_->db->NewIterator(how, impl_->control));
  for (at->Seek(slice(prefix)); at->Valid(); at->Next())
    if (!visit(detail::view(at->key()), detail::view(at->value()))) return;
  check(at->status(), impl_->where(prefix));
}

bool store::impl::has_blob(std::string_view key) const {
  std::string value;
  const auto status = db->Get({}, tensors, chunk_key(key, 0), &value);
  if (status.IsNotFound()) return false;
  check(status, where(key));
  return true;
}

void store::impl::write_file(const fs::path& file, const std::vector<const blob*>& blobs) const {
  rocksdb::SstFileWriter writer({}, rocksdb::Options(detail::database_options(), detail::tensors_options()), tensors);
  const auto what = file.string();
  check(writer.Open(file.string()), what);
  for (const auto* b : blobs) {
    check(writer.Put(chunk_key(b->key, 0), detail::big_endian(static_cast<std::uint64_t>(b->bytes.size()))), what);
    std::uint32_t chunk = 0;
    for (std::size_t from = 0; from < b->bytes.size(); from += options.chunk_bytes)
      check(writer.Put(chunk_key(b->key, ++chunk),
                       slice(b->bytes.subspan(from, std::min(options.chunk_bytes, b->bytes.size() - from)))),
            what);
  }
  check(writer.Finish(), what);
}

void store::ingest(std::span<const blob> blobs) {
  if (impl_->options.mode == open_mode::read_only)
    throw error(errc::invalid_input, impl_->options.directory.string() + ": opened read-only");
  if (blobs.empty()) return;
  std::vector<const blob*> sorted;
  for (const auto& b : blobs) {
    if (b.key.empty() || b.key.find('\0') != std::string::npos)
      throw error(errc::invalid_input, "a blob's key must not be empty or hold a NUL");
    sorted.push_back(&b);
  }
  std::sort(sorted.begin(), sorted.end(), [](const blob* a, const blob* b) { return a->key < b->key; });
  std::lock_guard lock(impl_->ingesting);
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if ((i > 0 && sorted[i]->key == sorted[i - 1]->key) || impl_->has_blob(sorted[i]->key))
      throw error(errc::already_exists, impl_->where(sorted[i]->key) + ": exists, and blobs are never overwritten");
  const auto file = impl_->options.directory / "aside" / (std::to_string(impl_->files++) + ".sst");
  try {
    impl_->write_file(file, sorted);
    rocksdb::IngestExternalFileOptions how;
    how.move_files = true;
    how.write_global_seqno = false;
    check(impl_->db->IngestExternalFile(impl_->tensors, {file.string()}, how),
          impl_->options.directory.string() + ": ingest");
  } catch (const error&) {
    std::error_code ignored;
    fs::remove(file, ignored);
    throw;
  }
  // Ingested by a hard link where the file system can: the name aside is then left over.
  std::error_code ignored;
  fs::remove(file, ignored);
}

std::uint64_t store::impl::blob_bytes(std::string_view key, const std::string& header) const {
  if (header.size() != sizeof(std::uint64_t)) throw error(errc::corrupt, where(key) + ": its length cannot be read");
  return detail::read_big_endian<std::uint64_t>(header);
}

std::optional<std::string> store::read_blob(std::string_view key) const {
  std::string header;
  const auto status = impl_->db->Get({}, impl_->tensors, chunk_key(key, 0), &header);
  if (status.IsNotFound()) return std::nullopt;
  check(status, impl_->where(key));
  const auto total = impl_->blob_bytes(key, header);
  std::string bytes;
  std::uint32_t chunk = 0;
  while (bytes.size() < total) {
    rocksdb::PinnableSlice part;
    const auto found = impl_->db->Get({}, impl_->tensors, chunk_key(key, ++chunk), &part);
    if (found.IsNotFound() || (found.ok() && (part.empty() || part.size() > total - bytes.size())))
      throw error(errc::corrupt,
                  impl_->where(key) + ": chunk " + std::to_string(chunk) + " is missing or of another length");
    check(found, impl_->where(key));
    bytes.append(part.data(), part.size());
  }
  return bytes;
}

void store::scan_blobs(std::string_view prefix, const std::function<bool(std::string_view)>& visit) const {
  const auto end = detail::after_prefix(prefix);
  const rocksdb::Slice bound = slice(end);
  rocksdb::ReadOptions how;
  if (!end.empty()) how.iterate_upper_bound = &bound;
  const std::unique_ptr<rocksdb::Iterator> at(impl_->db->NewIterator(how, impl_->tensors));
  at->Seek(slice(prefix));
  while (at->Valid()) {
    const auto full = detail::view(at->key());
    const std::string key(full.substr(0, full.find('\0')));
    if (!visit(key)) return;
    // Past all chunks of this blob.
    at->Seek(key + '\1');
  }
  check(at->status(), impl_->where(prefix));
}

void store::erase_blobs(std::string_view prefix) {
  const auto end = detail::after_prefix(prefix);
  const rocksdb::Slice first = slice(prefix);
  const rocksdb::Slice last = slice(end);
  const auto what = impl_->where(prefix);
  std::lock_guard lock(impl_->ingesting);
  check(rocksdb::DeleteFilesInRange(impl_->db.get(), impl_->tensors, &first, end.empty() ? nullptr : &last, false),
        what);
  // What shares a file with others is covered by a tombstone.
  rocksdb::ReadOptions how;
  if (!end.empty()) how.iterate_upper_bound = &last;
  const std::unique_ptr<rocksdb::Iterator> at(impl_->db->NewIterator(how, impl_->tensors));
  at->Seek(first);
  // A damaged block nearby cannot be looked into: then the tombstone is written all the same.
  if (!at->Valid() && at->status().ok()) return;
  if (!end.empty()) {
    check(impl_->db->DeleteRange({}, impl_->tensors, first, last), what);
    return;
  }
  for (; at->Valid(); at->Next()) check(impl_->db->Delete({}, impl_->tensors, at->key()), what);
}

void store::flush() {
  check(impl_->db->Flush({}, impl_->control),
        impl_->options.directory.string() + ": the control records cannot be flushed");
}

void store::raise_mark(std::string_view name, std::uint64_t value) {
  std::lock_guard lock(impl_->marks_mutex);
  impl_->marks->raise(name, value);
}

std::uint64_t store::mark(std::string_view name) const {
  std::lock_guard lock(impl_->marks_mutex);
  return impl_->marks->get(name);
}

std::uint64_t store::next_id() { return (impl_->boot << 32) | ++impl_->ids; }

const store_options& store::options() const noexcept { return impl_->options; }

std::optional<std::string> store::holder(const std::filesystem::path& directory) {
  return detail::holder_of(directory);
}

std::uint64_t store::boot() const noexcept { return impl_->boot; }

}  // namespace planaria
