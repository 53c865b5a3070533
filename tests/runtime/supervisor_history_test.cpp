// Random histories of a supervisor's core: whatever happens, what it promises holds. A failure prints its seed.
#include "stage.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace planaria::detail {
namespace {

using namespace planaria::testing;

class random_history {
 public:
  explicit random_history(std::uint32_t seed)
      : random_(seed), options_(draw_options()), core_(options_, [this] { return share(); }) {
    std::vector<child_rules> first;
    for (std::size_t i = 0; i < below(5); ++i) first.push_back(draw_rules());
    core_.begin(std::move(first), now_);
    obey();
  }

  void run(int steps) {
    for (int i = 0; i < steps && !ended_; ++i) {
      step();
      obey();
    }
  }

  // Everybody does as told and nobody dies: soon nothing is left to do.
  void settle() {
    for (int i = 0; i < 2000; ++i) {
      if (answer_one(1.0)) {
        obey();
        continue;
      }
      now_ += std::chrono::milliseconds(below(20));  // the shell looks at its clock a little later
      const auto next = core_.next_tick(now_);
      if (!next) break;
      now_ = std::max(now_, *next);
      core_.tick(now_);
      obey();
    }
    for (const auto& c : core_.children()) {
      CAPTURE(c.rules.id);
      CHECK((c.state == child_state::running || c.state == child_state::stopped));
    }
  }

  void shut_down() {
    core_.shut_down(now_);
    obey();
    settle();
    CHECK(ended_);
  }

 private:
  enum class life { starting, up, asked, killed };

  std::size_t below(std::size_t n) {
    return n == 0 ? 0 : std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }
  double share() { return std::uniform_real_distribution<double>(0.0, 1.0)(random_); }

  supervisor_options draw_options() {
    return {
        .strategy = static_cast<strategy>(below(4)),
        .intensity = below(30),
        .period = std::chrono::milliseconds(below(3000)),
        .backoff = {.initial = std::chrono::milliseconds(below(2) * 10), .step = std::chrono::milliseconds(below(50))},
        .auto_shutdown = static_cast<auto_shutdown>(below(3))};
  }

  child_rules draw_rules() {
    auto one = rules(std::string("c").append(std::to_string(++drawn_)), static_cast<restart>(below(3)));
    one.shutdown = {static_cast<shutdown::kind>(below(3)), std::chrono::milliseconds(below(100))};
    one.significant = one.restart != restart::permanent && below(4) == 0;
    one.start_deadline = std::chrono::milliseconds(1 + below(500));
    return one;
  }

  void step() {
    const auto dice = below(100);
    if (dice < 60) {
      answer_one(0.8);
    } else if (dice < 75) {
      end_one();
    } else if (dice < 90) {
      now_ += std::chrono::milliseconds(below(200));
      core_.tick(now_);
    } else if (dice < 99) {
      ask();
    } else if (below(4) == 0) {
      core_.shut_down(now_);
    }
  }

  // One that starts or was told to end does so, or its start fails.
  bool answer_one(double success) {
    std::vector<std::string> owing;
    for (const auto& [id, state] : alive_)
      if (state != life::up) owing.push_back(id);
    if (owing.empty()) return false;
    const auto id = owing[below(owing.size())];
    if (alive_[id] == life::starting && share() < success) {
      alive_[id] = life::up;
      core_.started(id, now_);
      return true;
    }
    const bool failed = alive_[id] == life::starting;
    alive_.erase(id);
    core_.down(id, failed ? crash : told, now_);
    return true;
  }

  void end_one() {
    if (alive_.empty()) return;
    const auto one = std::next(alive_.begin(), static_cast<std::ptrdiff_t>(below(alive_.size())));
    const auto id = one->first;
    alive_.erase(one);
    core_.down(id, below(3) == 0 ? normal : crash, now_);
  }

  void ask() {
    const auto& all = core_.children();
    const auto id = all.empty() ? std::string("none")
                                : std::next(all.begin(), static_cast<std::ptrdiff_t>(below(all.size())))->rules.id;
    try {
      switch (below(4)) {
        case 0: core_.add(draw_rules(), now_); break;
        case 1: core_.stop(id, now_); break;
        case 2: core_.restart(id, now_); break;
        default: core_.remove(id); break;
      }
    } catch (const error& refused) {
      CHECK(refused.code() != errc::already_exists);
    }
  }

  void obey() {
    for (const auto& action : core_.take_actions()) {
      CAPTURE(stage::to_text(action));
      CHECK_FALSE(ended_);
      obey(action);
    }
    check_starts();
  }

  void obey(const core_action& action) {
    const auto found = alive_.find(action.id);
    const bool lives = found != alive_.end();
    switch (action.what) {
      case core_action::kind::start:
        CHECK_FALSE(lives);
        alive_[action.id] = life::starting;
        break;
      case core_action::kind::request_stop:
        REQUIRE(lives);
        CHECK((found->second == life::starting || found->second == life::up));
        check_turn(action.id);
        found->second = life::asked;
        break;
      case core_action::kind::kill:
        REQUIRE(lives);
        CHECK(found->second != life::killed);
        if (found->second != life::asked) check_turn(action.id);
        found->second = life::killed;
        break;
      case core_action::kind::abandon:
        CHECK(lives);
        alive_.erase(action.id);
        break;
      case core_action::kind::removed: CHECK_FALSE(lives); break;
      case core_action::kind::end:
        CHECK(alive_.empty());
        ended_ = true;
        break;
      default: break;
    }
  }

  // Of those that end with the supervisor or for a restart of their group, nobody is told while a later one lives.
  void check_turn(const std::string& id) const {
    const auto& all = core_.children();
    const auto its = std::find_if(all.begin(), all.end(), [&](const auto& c) { return c.rules.id == id; });
    REQUIRE(its != all.end());
    if (its->stop_asked || options_.strategy == strategy::simple_one_for_one) return;
    CHECK(
        std::none_of(std::next(its), all.end(), [this](const auto& later) { return alive_.contains(later.rules.id); }));
  }

  // Where order matters, one starts at a time.
  void check_starts() const {
    if (options_.strategy != strategy::one_for_all && options_.strategy != strategy::rest_for_one) return;
    const auto& all = core_.children();
    CHECK(std::count_if(all.begin(), all.end(), [](const auto& c) { return c.state == child_state::starting; }) <= 1);
  }

  std::mt19937 random_;
  std::size_t drawn_ = 0;
  const supervisor_options options_;
  supervisor_core core_;
  instant now_{std::chrono::hours(1)};
  std::map<std::string, life> alive_;
  bool ended_ = false;
};

}  // namespace

TEST_CASE("random histories keep a supervisor's promises") {
  for (std::uint32_t seed = 1; seed <= 1000; ++seed) {
    CAPTURE(seed);
    random_history history(seed);
    history.run(300);
    history.settle();
    history.shut_down();
  }
}

}  // namespace planaria::detail
