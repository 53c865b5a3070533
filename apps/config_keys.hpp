#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <toml++/toml.h>

namespace planaria::apps {

/// The keys that a configuration may have, each bound to where its value goes.
class key_table {
 public:
  void text(std::string name, std::string& to, std::vector<std::string> allowed = {});
  void texts(std::string name, std::vector<std::string>& to);
  void path(std::string name, std::filesystem::path& to);
  void boolean(std::string name, bool& to);
  /// A finite number of at least `least`.
  void number(std::string name, double& to, double least = -std::numeric_limits<double>::infinity());
  void integer(std::string name, std::int64_t& to, std::int64_t least);
  void small_integer(std::string name, int& to);
  void unsigned_integer(std::string name, std::uint64_t& to);
  void integers(std::string name, std::vector<std::int64_t>& to);
  void milliseconds(std::string name, std::chrono::milliseconds& to);

  /// Sets every key that the file has, then every `key=value` of `settings`; a value there is TOML, or text as it
  /// stands. Errors: errc::not_found, errc::invalid_input with place, key and remedy.
  void read(const std::filesystem::path& file, const std::vector<std::string>& settings) const;

 private:
  // Takes a value, or returns what was expected instead.
  using setter = std::function<std::string(const toml::node&)>;
  struct key {
    std::string name;
    setter set;
  };
  void visit(const toml::table& table, const std::string& prefix, const std::string& where) const;
  void assign(const std::string& name, const toml::node& value, const std::string& where) const;
  [[nodiscard]] std::string nearest(const std::string& name) const;

  std::vector<key> keys_;
};

}  // namespace planaria::apps
