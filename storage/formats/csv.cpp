#include <planaria/storage/error.hpp>
#include <planaria/storage/formats/csv.hpp>

#include <charconv>
#include <cmath>
#include <fstream>
#include <set>

namespace planaria {
namespace {

class csv_reader {
 public:
  explicit csv_reader(const std::filesystem::path& path) : path_(path), in_(path, std::ios::binary) {
    if (!std::filesystem::exists(path)) throw error(errc::not_found, path.string() + ": there is no such file");
    if (!in_) throw error(errc::io, path.string() + ": cannot be read");
  }

  // Reads the next record that is not blank; false at the end.
  bool next(std::vector<std::string>& fields) {
    do {
      fields.assign(1, {});
      if (in_.peek() == std::ifstream::traits_type::eof()) return false;
      ++line_;
      read_record(fields);
    } while (fields.size() == 1 && fields[0].empty());
    return true;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw error(errc::invalid_input, path_.string() + ":" + std::to_string(line_) + ": " + why);
  }

 private:
  void read_record(std::vector<std::string>& fields) {
    for (int c = in_.get(); c != std::ifstream::traits_type::eof() && c != '\n'; c = in_.get()) {
      if (c == '"' && fields.back().empty())
        read_quoted(fields.back());
      else if (c == ',')
        fields.emplace_back();
      else if (c != '\r' || in_.peek() != '\n')
        fields.back().push_back(static_cast<char>(c));
    }
  }

  void read_quoted(std::string& field) {
    for (int c = in_.get();; c = in_.get()) {
      if (c == std::ifstream::traits_type::eof()) refuse("a quoted field does not end");
      if (c == '"' && in_.peek() != '"') return;
      if (c == '"') in_.get();
      if (c == '\n') ++line_;
      field.push_back(static_cast<char>(c));
    }
  }

  std::filesystem::path path_;
  std::ifstream in_;
  std::size_t line_ = 0;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

float number(const csv_reader& in, const std::string& field, const std::string& column) {
  const auto text = trimmed(field);
  float value = 0.0F;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || !std::isfinite(value))
    in.refuse("column \"" + column + "\": \"" + field + "\" is not a finite number");
  return value;
}

}  // namespace

csv_table read_csv(const std::filesystem::path& file) {
  csv_reader in(file);
  csv_table table;
  std::vector<std::string> fields;
  if (!in.next(fields)) in.refuse("is empty: the first line must name the columns");
  std::set<std::string> known;
  for (const auto& field : fields) {
    table.names.emplace_back(trimmed(field));
    if (table.names.back().empty() || !known.insert(table.names.back()).second)
      in.refuse("column " + std::to_string(table.names.size()) + ": its name \"" + table.names.back() +
                "\" is empty or repeated");
  }
  while (in.next(fields)) {
    if (fields.size() != table.names.size())
      in.refuse("has " + std::to_string(fields.size()) + " fields; the first line names " +
                std::to_string(table.names.size()));
    for (std::size_t i = 0; i < fields.size(); ++i) table.values.push_back(number(in, fields[i], table.names[i]));
  }
  if (table.values.empty()) in.refuse("has no rows");
  return table;
}

}  // namespace planaria
