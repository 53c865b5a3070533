#include <planaria/actors/ledger.hpp>
#include <planaria/storage/error.hpp>

#include <algorithm>
#include <cstring>

namespace planaria {
namespace {

constexpr std::string_view magic = "planaria-ledger-1\n";

void put(std::string& out, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

class reader {
 public:
  explicit reader(std::string_view text) : text_(text) {}
  std::string_view take(std::size_t count) {
    if (count > text_.size()) throw error(errc::corrupt, "the ledger ends too early");
    const auto taken = text_.substr(0, count);
    text_.remove_prefix(count);
    return taken;
  }
  std::uint64_t number() {
    const auto bytes = take(8);
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i)
      value |= std::uint64_t{static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)])} << (8 * i);
    return value;
  }
  [[nodiscard]] bool empty() const { return text_.empty(); }

 private:
  std::string_view text_;
};

}  // namespace

void ledger::mark(std::uint64_t epoch, std::span<const std::int64_t> used) {
  if (uses_.empty() || open_epoch_ != epoch) {
    if (!uses_.empty()) close(open_epoch_);
    open_epoch_ = epoch;
    uses_.assign(static_cast<std::size_t>(samples_), 0);
  }
  for (const auto sample : used) {
    auto& count = uses_[static_cast<std::size_t>(sample)];
    if (count < 255) ++count;
  }
}

void ledger::close(std::uint64_t epoch) {
  if (uses_.empty() || open_epoch_ != epoch) return;
  auto summary = summarise(epoch);
  summary.complete = true;
  summary.lost = samples_ - summary.used;
  closed_.push_back(summary);
  uses_.clear();
}

epoch_count ledger::summarise(std::uint64_t epoch) const {
  epoch_count summary{.epoch = epoch};
  for (const auto count : uses_) {
    summary.used += count > 0 ? 1 : 0;
    summary.duplicated += count > 1 ? count - 1 : 0;
  }
  return summary;
}

std::vector<epoch_count> ledger::epochs() const {
  auto all = closed_;
  if (!uses_.empty()) all.push_back(summarise(open_epoch_));
  return all;
}

epoch_count ledger::total() const {
  epoch_count sum{.complete = true};
  for (const auto& epoch : closed_) {
    sum.epoch = epoch.epoch;
    sum.used += epoch.used;
    sum.lost += epoch.lost;
    sum.duplicated += epoch.duplicated;
  }
  return sum;
}

std::string ledger::save() const {
  std::string out(magic);
  put(out, static_cast<std::uint64_t>(samples_));
  put(out, closed_.size());
  for (const auto& epoch : closed_) {
    put(out, epoch.epoch);
    put(out, static_cast<std::uint64_t>(epoch.used));
    put(out, static_cast<std::uint64_t>(epoch.duplicated));
  }
  put(out, open_epoch_);
  put(out, uses_.size());
  out.append(reinterpret_cast<const char*>(uses_.data()), uses_.size());
  return out;
}

void ledger::load(std::string_view saved) {
  reader in(saved);
  if (in.take(std::min(magic.size(), saved.size())) != magic)
    throw error(errc::corrupt, "the ledger has no header of ours");
  if (in.number() != static_cast<std::uint64_t>(samples_))
    throw error(errc::schema_mismatch, "the ledger is of a dataset with another number of samples");
  const auto count = in.number();
  if (count > saved.size() / 24) throw error(errc::corrupt, "the ledger counts more epochs than it holds");
  std::vector<epoch_count> closed;
  for (std::uint64_t i = 0; i < count; ++i) {
    epoch_count epoch{.epoch = in.number(), .complete = true};
    epoch.used = static_cast<std::int64_t>(in.number());
    epoch.duplicated = static_cast<std::int64_t>(in.number());
    epoch.lost = samples_ - epoch.used;
    closed.push_back(epoch);
  }
  const auto open = in.number();
  const auto length = in.number();
  if (length != 0 && length != static_cast<std::uint64_t>(samples_))
    throw error(errc::corrupt, "the ledger's open epoch has a wrong length");
  const auto bytes = in.take(static_cast<std::size_t>(length));
  if (!in.empty()) throw error(errc::corrupt, "the ledger has bytes behind its end");
  closed_ = std::move(closed);
  open_epoch_ = open;
  uses_.assign(bytes.begin(), bytes.end());
}

}  // namespace planaria
