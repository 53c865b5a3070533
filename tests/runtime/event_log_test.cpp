#include "temporary_directory.hpp"
#include "witness.hpp"

#include <planaria/runtime/event_log.hpp>
#include <planaria/storage/store.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

namespace planaria {
namespace {

using namespace std::chrono_literals;
using testing::temporary_directory;

std::string big_endian(std::uint64_t number) {
  std::string bytes(8, '\0');
  for (int i = 7; i >= 0; --i, number >>= 8) bytes[static_cast<std::size_t>(i)] = static_cast<char>(number & 0xff);
  return bytes;
}

std::string hex(std::string_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const auto byte : bytes) {
    text += digits[static_cast<unsigned char>(byte) >> 4];
    text += digits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

// An event of the child "w" at a time in microseconds.
event at(std::int64_t us, event_kind kind, std::uint64_t incarnation, std::string reason = {}, std::string path = "w") {
  return {.kind = kind,
          .path = std::move(path),
          .incarnation = incarnation,
          .reason = std::move(reason),
          .ticks = us * 1000};
}

}  // namespace

TEST_CASE("events are numbered from one and keep what was recorded, in order") {
  event_log log(nullptr, "off");
  log.record(event_kind::started, "train/w", 1);
  log.record(event_kind::detected, "train/w", 1, "boom");
  const auto all = log.events();
  REQUIRE(all.size() == 2);
  CHECK(all[0].sequence + 1 == all[1].sequence);
  CHECK(all[1].kind == event_kind::detected);
  CHECK(all[1].path == "train/w");
  CHECK(all[1].incarnation == 1);
  CHECK(all[1].reason == "boom");
  CHECK(all[1].ticks >= all[0].ticks);
  CHECK(all[0].at > std::chrono::system_clock::time_point{});
}

TEST_CASE("the log keeps the newest events up to its capacity") {
  event_log log(nullptr, "off", 3);
  for (std::uint64_t i = 1; i <= 5; ++i) log.record(event_kind::note, "w", i);
  const auto all = log.events();
  REQUIRE(all.size() == 3);
  CHECK(all.front().incarnation == 3);
  CHECK(all.back().incarnation == 5);
}

TEST_CASE("every kind has a name of its own") {
  std::set<std::string_view> names;
  for (int kind = 1; kind <= 15; ++kind) names.insert(to_string(static_cast<event_kind>(kind)));
  CHECK(names.size() == 15);
  CHECK_FALSE(names.contains("unknown"));
  CHECK(to_string(static_cast<event_kind>(0)) == "unknown");
}

TEST_CASE("a subscriber hears each later event until it unsubscribes") {
  event_log log(nullptr, "off");
  std::vector<std::string> heard;
  log.record(event_kind::note, "before", 0);
  const auto first = log.subscribe([&](const event& one) { heard.push_back("1:" + one.path); });
  const auto second = log.subscribe([&](const event& one) { heard.push_back("2:" + one.path); });
  log.record(event_kind::note, "a", 0);
  log.unsubscribe(first);
  log.record(event_kind::note, "b", 0);
  log.unsubscribe(second);
  log.record(event_kind::note, "c", 0);
  CHECK(heard == std::vector<std::string>{"1:a", "2:a", "2:b"});
}

TEST_CASE("threads record at once and lose nothing") {
  event_log log(nullptr, "off");
  testing::witness seen(log);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&log] {
      for (int i = 0; i < 250; ++i) log.record(event_kind::note, "w", 0);
    });
  threads.clear();
  CHECK(seen.count(event_kind::note, "w") == 1000);
  std::set<std::uint64_t> numbers;
  for (const auto& one : log.events()) numbers.insert(one.sequence);
  CHECK(numbers.size() == 1000);
}

TEST_CASE("the history outlives the boot and grows in sequence over boots") {
  temporary_directory run;
  for (std::uint64_t boot = 1; boot <= 2; ++boot) {
    store kept({.directory = run / "store"});
    event_log log(&kept, "off");
    log.record({.kind = event_kind::caught_up, .path = "w", .incarnation = boot, .reason = "bytes \xff", .took_us = 7});
    log.record(event_kind::note, "w", boot);
    CHECK(log.events().size() == 2);
  }
  const store kept({.directory = run / "store", .mode = open_mode::read_only});
  const auto all = event_log::history(kept);
  REQUIRE(all.size() == 4);
  for (std::size_t i = 1; i < all.size(); ++i) CHECK(all[i - 1].sequence < all[i].sequence);
  CHECK(all[0].boot == 1);
  CHECK(all[3].boot == 2);
  CHECK(all[0].kind == event_kind::caught_up);
  CHECK(all[0].reason == "bytes \xff");
  CHECK(all[0].took_us == 7);
}

TEST_CASE("a boot forgets the oldest events of earlier boots beyond the capacity") {
  temporary_directory run;
  store kept({.directory = run / "store"});
  {
    event_log log(&kept, "off");
    for (std::uint64_t i = 1; i <= 9; ++i) log.record(event_kind::note, "w", i);
  }
  event_log next(&kept, "off", 4);
  const auto left = event_log::history(kept);
  REQUIRE(left.size() == 4);
  CHECK(left.front().incarnation == 6);
}

TEST_CASE("a detached log keeps later events in memory only") {
  temporary_directory run;
  store kept({.directory = run / "store"});
  event_log log(&kept, "off");
  log.record(event_kind::note, "w", 1);
  log.detach();
  log.record(event_kind::note, "w", 2);
  CHECK(log.events().size() == 2);
  CHECK(event_log::history(kept).size() == 1);
}

TEST_CASE("an event's bytes and key on disk are what they have always been") {
  temporary_directory run;
  store kept({.directory = run / "store"});
  event_log log(&kept, "off");
  log.record({.kind = event_kind::step_skipped,
              .path = "train/w",
              .incarnation = 300,
              .reason = "nan",
              .at = std::chrono::system_clock::time_point(1'700'000'000s),
              .ticks = 5'000,
              .took_us = 42});
  const auto sequence = log.events().at(0).sequence;
  CHECK(sequence == ((std::uint64_t{1} << 32) | 1));
  const auto bytes = kept.get("event/" + big_endian(sequence));
  REQUIRE(bytes.has_value());
  CHECK(hex(*bytes) ==
        "0801"                // boot 1
        "100e"                // kind 14
        "1a07747261696e2f77"  // path
        "20ac02"              // incarnation 300
        "2a036e616e"          // reason
        "308080f9c0c1c48203"  // at_us 1.7e15
        "388827"              // ticks 5000
        "402a");              // took_us 42
}

TEST_CASE("the numbers of the kinds never change") {
  using enum event_kind;
  std::vector<int> numbers;
  for (const auto kind : {started, killed, detected, respawned, recovered, caught_up, stopped, escalated, start_failed,
                          fenced, slot_abandoned, snapshot, refused, step_skipped, note})
    numbers.push_back(static_cast<int>(kind));
  CHECK(numbers == std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
}

TEST_CASE("a recovery is measured from the kill, and from the detection when nobody killed") {
  using enum event_kind;
  auto told = at(900, caught_up, 2);
  told.took_us = 55;
  const auto table =
      recovery_table({at(100, killed, 1, "drill"), at(150, detected, 1, "killed"), at(300, respawned, 2),
                      at(400, recovered, 2), told, at(1000, detected, 2, "boom"), at(1200, respawned, 3)});
  REQUIRE(table.size() == 2);
  CHECK(table[0].path == "w");
  CHECK(table[0].reason == "killed");
  CHECK(table[0].incarnation == 2);
  CHECK(table[0].detected_us == 50);
  CHECK(table[0].respawned_us == 200);
  CHECK(table[0].recovered_us == 300);
  CHECK(table[0].caught_up_us == 800);
  CHECK(table[0].recomputed_us == 55);
  CHECK(table[1].detected_us == 0);
  CHECK(table[1].respawned_us == 200);
  CHECK(table[1].recovered_us == -1);
  CHECK(table[1].caught_up_us == -1);
}

TEST_CASE("two deaths in a row make two rows, each with its own replacement") {
  using enum event_kind;
  const auto table = recovery_table({at(100, detected, 1, "first"), at(110, respawned, 2), at(120, recovered, 2),
                                     at(130, caught_up, 2), at(200, detected, 2, "second"), at(220, respawned, 3),
                                     at(240, recovered, 3), at(260, caught_up, 3)});
  REQUIRE(table.size() == 2);
  CHECK(table[0].caught_up_us == 30);
  CHECK(table[1].reason == "second");
  CHECK(table[1].incarnation == 3);
  CHECK(table[1].caught_up_us == 60);
}

TEST_CASE("a death during a recovery leaves the first recovery unfinished") {
  using enum event_kind;
  const auto table = recovery_table({at(100, detected, 1), at(110, respawned, 2), at(150, detected, 2),
                                     at(170, respawned, 3), at(180, recovered, 3), at(190, caught_up, 3)});
  REQUIRE(table.size() == 2);
  CHECK(table[0].respawned_us == 10);
  CHECK(table[0].recovered_us == -1);
  CHECK(table[0].caught_up_us == -1);
  CHECK(table[1].caught_up_us == 40);
}

TEST_CASE("what a zombie still reports is not taken for its replacement's") {
  using enum event_kind;
  const auto table = recovery_table({at(100, detected, 1), at(105, recovered, 1), at(106, caught_up, 1),
                                     at(110, respawned, 2), at(120, recovered, 2), at(130, caught_up, 2)});
  REQUIRE(table.size() == 1);
  CHECK(table[0].incarnation == 2);
  CHECK(table[0].recovered_us == 20);
  CHECK(table[0].caught_up_us == 30);
}

TEST_CASE("a replacement may recover before its supervisor says that it is respawned") {
  using enum event_kind;
  const auto table = recovery_table({at(100, detected, 1), at(105, recovered, 2), at(110, respawned, 2)});
  REQUIRE(table.size() == 1);
  CHECK(table[0].recovered_us == 5);
  CHECK(table[0].respawned_us == 10);
}

TEST_CASE("recoveries of several children are told apart") {
  using enum event_kind;
  const auto table =
      recovery_table({at(100, detected, 1, "", "a"), at(101, detected, 4, "", "b"), at(110, respawned, 5, "", "b"),
                      at(120, respawned, 2, "", "a"), at(125, recovered, 9, "", "c")});
  REQUIRE(table.size() == 2);
  CHECK(table[0].path == "a");
  CHECK(table[0].respawned_us == 20);
  CHECK(table[1].path == "b");
  CHECK(table[1].respawned_us == 9);
}

}  // namespace planaria
