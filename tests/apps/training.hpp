#pragma once

#include "../temporary_directory.hpp"
#include "../test.hpp"
#include "process.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace planaria::testing {

/// A folder with a small data set in IDX files, a configuration for it, and `planaria train` in it.
class training {
 public:
  explicit training(std::uint32_t images = 240) {
    write_images("train", images, 1);
    write_images("test", 40, 2);
    std::ofstream(dir_ / "job.toml") << config();
  }

  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return dir_ / name; }
  [[nodiscard]] std::string path(const std::string& name) const { return (dir_ / name).string(); }

  [[nodiscard]] std::vector<std::string> command(const std::string& run, std::vector<std::string> more = {}) const {
    std::vector<std::string> all{PLANARIA_PROGRAM,       "train",     path("job.toml"),   "--set",
                                 "run_dir=" + path(run), "--summary", path(run + ".json")};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  [[nodiscard]] outcome train(const std::string& run, std::vector<std::string> more = {}) const {
    return testing::run(command(run, std::move(more)));
  }
  [[nodiscard]] nlohmann::json summary(const std::string& run) const {
    std::ifstream in(dir_ / (run + ".json"));
    return nlohmann::json::parse(in);
  }

 private:
  // Big-endian header, then bytes that depend on the label, so that there is something to learn.
  void write_images(const std::string& name, std::uint32_t count, std::uint32_t seed) const {
    std::mt19937 random(seed);
    std::ofstream images(dir_ / (name + "-images"), std::ios::binary);
    std::ofstream labels(dir_ / (name + "-labels"), std::ios::binary);
    images.write("\0\0\x08\x03", 4);
    labels.write("\0\0\x08\x01", 4);
    for (const auto value : {count, 8U, 8U}) put(images, value);
    put(labels, count);
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto label = random() % 4;
      labels.put(static_cast<char>(label));
      for (std::uint32_t pixel = 0; pixel < 64; ++pixel)
        images.put(static_cast<char>((pixel / 16 == label ? 128 : 0) + random() % 100));
    }
  }
  static void put(std::ofstream& to, std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) to.put(static_cast<char>((value >> shift) & 0xff));
  }
  [[nodiscard]] std::string config() const {
    std::string text = "seed = 3\n[data]\nformat = \"idx\"\n";
    for (const auto* name : {"train", "test"})
      for (const auto* part : {"images", "labels"})
        text += std::string(name) + "_" + part + " = \"" + path(std::string(name) + "-" + part) + "\"\n";
    return text +
           "[model]\nname = \"mlp\"\nhidden = [32]\n"
           "[training]\npeers = 3\nbatch = 8\nepochs = 4\n"
           "[optimizer]\nname = \"adamw\"\nlearning_rate = 0.01\n"
           "[schedule]\nname = \"cosine\"\n[snapshot]\nevery = 5\n";
  }

  temporary_directory dir_;
};

/// Fails the case with the program's output unless it ended well.
inline void require_success(const outcome& of) {
  INFO("output: ", of.output);
  REQUIRE(of.status == 0);
}

inline void check_says(const outcome& of, const std::string& words) {
  INFO("output: ", of.output);
  CHECK_MESSAGE(of.output.find(words) != std::string::npos, words);
}

}  // namespace planaria::testing
