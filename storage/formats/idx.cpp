#include <planaria/storage/error.hpp>
#include <planaria/storage/formats/idx.hpp>

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <memory>
#include <string>

namespace planaria {
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 20;

// A file that zlib reads, unpacking it when it is gzip.
class input {
 public:
  explicit input(const std::filesystem::path& path) : path_(path), file_(::gzopen(path.c_str(), "rb"), &::gzclose) {
    if (!std::filesystem::exists(path)) throw error(errc::not_found, path.string() + ": there is no such file");
    if (!std::filesystem::is_regular_file(path) || !file_) throw error(errc::io, path.string() + ": cannot be read");
    ::gzbuffer(file_.get(), 1U << 17);
  }

  // Returns how many bytes there were, up to `count`.
  std::size_t read(std::byte* to, std::size_t count) {
    const auto got = ::gzread(file_.get(), to, static_cast<unsigned>(count));
    int code = Z_OK;
    const char* text = ::gzerror(file_.get(), &code);
    // A cut gzip stream reads as an error of the buffer; what came before it is returned first.
    if (got < 0 || (code != Z_OK && code != Z_STREAM_END))
      throw error(code == Z_BUF_ERROR ? errc::invalid_input : errc::corrupt,
                  path_.string() + ": the gzip stream is " +
                      (code == Z_BUF_ERROR ? "cut short" : "damaged: " + std::string(text)));
    return static_cast<std::size_t>(got);
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw error(errc::invalid_input, path_.string() + ": " + why);
  }

 private:
  std::filesystem::path path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
};

std::size_t size_of(idx_type type) {
  switch (type) {
    case idx_type::uint8:
    case idx_type::int8: return 1;
    case idx_type::int16: return 2;
    case idx_type::int32:
    case idx_type::float32: return 4;
    case idx_type::float64: return 8;
  }
  return 0;
}

// Reads the header into `to`; returns how many bytes of elements must follow.
std::uint64_t read_header(input& in, idx_file& to) {
  std::array<std::byte, 4> magic{};
  if (in.read(magic.data(), magic.size()) != magic.size() || magic[0] != std::byte{0} || magic[1] != std::byte{0})
    in.refuse("is not an IDX file: it does not begin with two zero bytes, a type and a number of dimensions");
  to.type = static_cast<idx_type>(magic[2]);
  const auto size = size_of(to.type);
  if (size == 0)
    in.refuse("is not an IDX file: " + std::to_string(std::to_integer<int>(magic[2])) + " is no element type");
  const auto rank = std::to_integer<std::size_t>(magic[3]);
  if (rank == 0) in.refuse("has no dimensions");
  std::uint64_t bytes = size;
  for (std::size_t i = 0; i < rank; ++i) {
    std::array<std::byte, 4> raw{};
    if (in.read(raw.data(), raw.size()) != raw.size())
      in.refuse("is cut short in its header, at dimension " + std::to_string(i));
    std::uint64_t dim = 0;
    for (const auto b : raw) dim = (dim << 8) | std::to_integer<std::uint64_t>(b);
    if (dim != 0 && bytes > std::numeric_limits<std::uint64_t>::max() / dim)
      in.refuse("claims more bytes than there can be");
    bytes *= dim;
    to.dims.push_back(dim);
  }
  return bytes;
}

// IDX is big-endian.
void to_host_order(std::vector<std::byte>& bytes, std::size_t size) {
  if constexpr (std::endian::native == std::endian::little) {
    for (std::size_t i = 0; size > 1 && i + size <= bytes.size(); i += size)
      std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                   bytes.begin() + static_cast<std::ptrdiff_t>(i + size));
  }
}

}  // namespace

idx_file read_idx(const std::filesystem::path& file) {
  input in(file);
  idx_file read;
  const auto expected = read_header(in, read);
  while (read.bytes.size() < expected) {
    const auto before = read.bytes.size();
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(block_bytes, expected - before));
    read.bytes.resize(before + want);
    const auto got = in.read(read.bytes.data() + before, want);
    read.bytes.resize(before + got);
    if (got == 0)
      in.refuse("is cut short: its header says " + std::to_string(expected) + " bytes of elements, there are " +
                std::to_string(before));
  }
  // Also the read at which zlib checks the stream's checksum.
  std::byte more{};
  if (in.read(&more, 1) != 0)
    in.refuse("goes on after the " + std::to_string(expected) + " bytes that its header says");
  to_host_order(read.bytes, size_of(read.type));
  return read;
}

}  // namespace planaria
