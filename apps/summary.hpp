#pragma once

#include <planaria/actors/mesh_job.hpp>
#include <planaria/runtime/event_log.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace planaria::apps {

/// What a script needs to know of a run.
struct run_summary {
  const mesh_result* result = nullptr;
  mesh_progress progress;
  std::vector<recovery> recoveries;
  std::string fault_free_hash;  ///< empty: not compared

  [[nodiscard]] std::int64_t lost() const;
  [[nodiscard]] std::int64_t duplicated() const;
  [[nodiscard]] std::size_t complete_epochs() const;
};

/// Writes the summary as JSON, whole or not at all. Errors: errc::io names the file.
void write_summary(const std::filesystem::path& file, const run_summary& summary);

}  // namespace planaria::apps
