#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace planaria {

/// A table of numbers with a name for each column.
struct csv_table {
  std::vector<std::string> names;
  std::vector<float> values;  ///< row-major, names.size() a row
};

/// Reads a CSV file (RFC 4180) whose first line names the columns and whose other fields are finite numbers.
///
/// Quoted fields, CRLF and blank lines are allowed. Errors: errc::not_found; errc::invalid_input names file, line and
/// column of a field that is no number, of a row with another number of fields, and of a column name that is empty or
/// repeated.
[[nodiscard]] csv_table read_csv(const std::filesystem::path& file);

}  // namespace planaria
