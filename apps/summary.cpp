#include "summary.hpp"

#include <planaria/storage/error.hpp>

#include <nlohmann/json.hpp>

#include <fstream>
#include <numeric>

namespace planaria::apps {
namespace {

template <class Field>
std::int64_t sum_of(const mesh_result* result, Field field) {
  std::int64_t sum = 0;
  for (const auto& epoch : result->epochs)
    if (epoch.complete) sum += field(epoch);
  return sum;
}

nlohmann::json recovery_json(const recovery& r) {
  return {{"path", r.path},
          {"reason", r.reason},
          {"incarnation", r.incarnation},
          {"detected_us", r.detected_us},
          {"respawned_us", r.respawned_us},
          {"recovered_us", r.recovered_us},
          {"caught_up_us", r.caught_up_us},
          {"recomputed_us", r.recomputed_us}};
}

}  // namespace

std::int64_t run_summary::lost() const {
  return sum_of(result, [](const epoch_count& e) { return e.lost; });
}
std::int64_t run_summary::duplicated() const {
  return sum_of(result, [](const epoch_count& e) { return e.duplicated; });
}
std::size_t run_summary::complete_epochs() const {
  return static_cast<std::size_t>(sum_of(result, [](const epoch_count&) { return std::int64_t{1}; }));
}

void write_summary(const std::filesystem::path& file, const run_summary& summary) {
  const auto& result = *summary.result;
  nlohmann::json json{
      {"accuracy", result.test.accuracy},
      {"test_loss", result.test.loss},
      {"weights_hash", result.weights_hash},
      {"steps", result.steps},
      {"complete", result.complete},
      {"already_complete", result.already_complete},
      {"samples", summary.progress.samples},
      {"seconds", summary.progress.seconds},
      {"skipped_steps", summary.progress.skipped_steps},
      {"ledger",
       {{"lost", summary.lost()}, {"duplicated", summary.duplicated()}, {"epochs", summary.complete_epochs()}}}};
  json["samples_per_second"] =
      summary.progress.seconds > 0 ? static_cast<double>(summary.progress.samples) / summary.progress.seconds : 0.0;
  json["recoveries"] = nlohmann::json::array();
  for (const auto& r : summary.recoveries) json["recoveries"].push_back(recovery_json(r));
  if (!summary.fault_free_hash.empty()) json["fault_free_hash"] = summary.fault_free_hash;
  auto aside = file;
  aside += ".new";
  {
    std::ofstream out(aside);
    out << json.dump(2) << '\n';
    if (!out.flush()) throw error(errc::io, aside.string() + ": cannot be written");
  }
  std::error_code failed;
  std::filesystem::rename(aside, file, failed);
  if (failed) throw error(errc::io, file.string() + ": " + failed.message());
}

}  // namespace planaria::apps
