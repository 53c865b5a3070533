#include "config_keys.hpp"

#include <planaria/storage/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>

namespace planaria::apps {
namespace {

// Levenshtein distance.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    auto diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const auto replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::string place_of(const std::string& where, const toml::node& node) {
  const auto line = node.source().begin.line;
  return line == 0 ? where : where + ":" + std::to_string(line);
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const auto& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

}  // namespace

void key_table::text(std::string name, std::string& to, std::vector<std::string> allowed) {
  keys_.push_back({std::move(name), [&to, allowed = std::move(allowed)](const toml::node& node) -> std::string {
                     const auto value = node.value_exact<std::string>();
                     if (!value) return "text";
                     if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), *value) == allowed.end())
                       return "one of " + joined(allowed);
                     to = *value;
                     return {};
                   }});
}

void key_table::texts(std::string name, std::vector<std::string>& to) {
  keys_.push_back({std::move(name), [&to](const toml::node& node) -> std::string {
                     const auto* array = node.as_array();
                     if (array == nullptr) return "a list of texts";
                     std::vector<std::string> all;
                     for (const auto& item : *array) {
                       if (!item.is_string()) return "a list of texts";
                       all.push_back(*item.value<std::string>());
                     }
                     to = std::move(all);
                     return {};
                   }});
}

void key_table::path(std::string name, std::filesystem::path& to) {
  keys_.push_back({std::move(name), [&to](const toml::node& node) -> std::string {
                     const auto value = node.value_exact<std::string>();
                     if (!value || value->empty()) return "a path";
                     to = *value;
                     return {};
                   }});
}

void key_table::boolean(std::string name, bool& to) {
  keys_.push_back({std::move(name), [&to](const toml::node& node) -> std::string {
                     if (!node.is_boolean()) return "true or false";
                     to = *node.value<bool>();
                     return {};
                   }});
}

void key_table::number(std::string name, double& to, double least) {
  keys_.push_back({std::move(name), [&to, least](const toml::node& node) -> std::string {
                     const auto value = node.is_number() ? *node.value<double>() : std::nan("");
                     if (std::isfinite(value) && value >= least) {
                       to = value;
                       return {};
                     }
                     std::ostringstream text;
                     text << "a finite number";
                     if (std::isfinite(least)) text << ", " << least << " or more";
                     return text.str();
                   }});
}

void key_table::integer(std::string name, std::int64_t& to, std::int64_t least) {
  keys_.push_back({std::move(name), [&to, least](const toml::node& node) -> std::string {
                     if (!node.is_integer() || *node.value<std::int64_t>() < least)
                       return "a whole number, " + std::to_string(least) + " or more";
                     to = *node.value<std::int64_t>();
                     return {};
                   }});
}

void key_table::small_integer(std::string name, int& to) {
  keys_.push_back({std::move(name), [&to](const toml::node& node) -> std::string {
                     const auto value = node.is_integer() ? *node.value<std::int64_t>() : -1;
                     if (value < 0 || value > std::numeric_limits<int>::max()) return "a whole number, 0 or more";
                     to = static_cast<int>(value);
                     return {};
                   }});
}

void key_table::unsigned_integer(std::string name, std::uint64_t& to) {
  keys_.push_back({std::move(name), [&to](const toml::node& node) -> std::string {
                     if (!node.is_integer() || *node.value<std::int64_t>() < 0) return "a whole number, 0 or more";
                     to = static_cast<std::uint64_t>(*node.value<std::int64_t>());
                     return {};
                   }});
}

void key_table::integers(std::string name, std::vector<std::int64_t>& to) {
  keys_.push_back({std::move(name), [&to](const toml::node& node) -> std::string {
                     const auto* array = node.as_array();
                     if (array == nullptr) return "a list of whole numbers";
                     std::vector<std::int64_t> all;
                     for (const auto& item : *array) {
                       if (!item.is_integer()) return "a list of whole numbers";
                       all.push_back(*item.value<std::int64_t>());
                     }
                     to = std::move(all);
                     return {};
                   }});
}

void key_table::milliseconds(std::string name, std::chrono::milliseconds& to) {
  keys_.push_back({std::move(name), [&to](const toml::node& node) -> std::string {
                     if (!node.is_integer() || *node.value<std::int64_t>() < 0)
                       return "milliseconds, a whole number, 0 or more";
                     to = std::chrono::milliseconds(*node.value<std::int64_t>());
                     return {};
                   }});
}

std::string key_table::nearest(const std::string& name) const {
  const auto closest = std::min_element(keys_.begin(), keys_.end(), [&](const key& a, const key& b) {
    return distance(a.name, name) < distance(b.name, name);
  });
  return closest->name;
}

void key_table::assign(const std::string& name, const toml::node& value, const std::string& where) const {
  const auto found = std::find_if(keys_.begin(), keys_.end(), [&](const key& k) { return k.name == name; });
  if (found == keys_.end())
    throw error(errc::invalid_input, where + ": unknown key \"" + name + "\"; did you mean \"" + nearest(name) + "\"?");
  const auto expected = found->set(value);
  if (!expected.empty()) throw error(errc::invalid_input, where + ": " + name + " must be " + expected);
}

void key_table::visit(const toml::table& table, const std::string& prefix, const std::string& where) const {
  for (const auto& [key, node] : table) {
    const auto name = prefix + std::string(key.str());
    if (const auto* inner = node.as_table())
      visit(*inner, name + ".", where);
    else
      assign(name, node, place_of(where, node));
  }
}

void key_table::read(const std::filesystem::path& file, const std::vector<std::string>& settings) const {
  if (!std::filesystem::is_regular_file(file))
    throw error(errc::not_found, file.string() + ": there is no such configuration file");
  try {
    visit(toml::parse_file(file.string()), "", file.string());
  } catch (const toml::parse_error& bad) {
    std::ostringstream text;
    text << file.string() << ":" << bad.source().begin.line << ":" << bad.source().begin.column << ": "
         << bad.description();
    throw error(errc::invalid_input, text.str());
  }
  for (const auto& setting : settings) {
    const auto equals = setting.find('=');
    if (equals == std::string::npos || equals == 0)
      throw error(errc::invalid_input, "--set \"" + setting + "\": write key=value");
    const auto name = setting.substr(0, equals);
    const auto value = setting.substr(equals + 1);
    try {
      assign(name, *toml::parse("v = " + value).get("v"), "--set");
    } catch (const toml::parse_error&) {
      assign(name, toml::value<std::string>(value), "--set");
    }
  }
}

}  // namespace planaria::apps
