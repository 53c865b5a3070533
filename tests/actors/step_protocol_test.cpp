#include "test.hpp"

#include <planaria/actors/mesh/step_protocol.hpp>

#include <random>
#include <vector>

using namespace planaria::mesh;
using kind = grant::kind;

namespace {

// A protocol whose ranks have all begun step 0 with incarnation 1.
step_protocol begun(std::size_t ranks, std::uint64_t total = 10) {
  step_protocol p(ranks, total);
  for (rank_index r = 0; r < ranks; ++r) REQUIRE(p.enter(r, 1));
  REQUIRE(p.ask(0, 1).what == kind::recover);
  REQUIRE(p.recovered(0, 1, 0));
  REQUIRE(p.ready(0, 1));
  for (rank_index r = 1; r < ranks; ++r) REQUIRE(p.ask(r, 1).what == kind::load);
  for (rank_index r = 1; r < ranks; ++r) REQUIRE(p.ready(r, 1));
  return p;
}

void take_step(step_protocol& p, std::uint64_t incarnation = 1) {
  for (rank_index r = 0; r < p.ranks(); ++r) REQUIRE(p.offer(r, incarnation, p.step()));
  REQUIRE(p.complete());
  p.seal();
  p.advance();
  for (rank_index r = 0; r < p.ranks(); ++r) REQUIRE(p.applied(r, incarnation));
}

}  // namespace

TEST_CASE("an incarnation that died before it came is not let in, nor waited for") {
  auto p = begun(2);
  p.leave(1, 1);
  p.leave(1, 2);
  CHECK_FALSE(p.enter(1, 2));
  CHECK(p.ask(1, 2).what == kind::fenced);
  CHECK(p.offer(0, 1, 0));
  CHECK_FALSE(p.complete());
  CHECK(p.enter(1, 3));
  // A word about an older one that comes late harms nobody.
  p.leave(1, 2);
  CHECK(p.ask(1, 3).what == kind::load);
  CHECK(p.ready(1, 3));
  CHECK(p.offer(1, 3, 0));
  CHECK(p.complete());
}

TEST_CASE("a step is complete once every rank's contribution is in") {
  auto p = begun(3);
  CHECK(p.offer(0, 1, 0));
  CHECK(p.offer(2, 1, 0));
  CHECK_FALSE(p.complete());
  CHECK(p.offer(1, 1, 0));
  CHECK(p.complete());
  p.seal();
  CHECK_FALSE(p.complete());
  p.advance();
  CHECK(p.step() == 1);
  CHECK(p.standing_of(1) == standing::applying);
}

TEST_CASE("a contribution stays valid when its rank dies after offering it") {
  auto p = begun(2);
  CHECK(p.offer(0, 1, 0));
  p.leave(0, 1);
  CHECK(p.offer(1, 1, 0));
  CHECK(p.complete());
}

TEST_CASE("late words of a dead incarnation are fenced") {
  auto p = begun(2);
  p.leave(1, 1);
  CHECK(p.enter(1, 2));
  CHECK_FALSE(p.offer(1, 1, 0));
  CHECK_FALSE(p.applied(1, 1));
  CHECK_FALSE(p.ready(1, 1));
  CHECK(p.ask(1, 1).what == kind::fenced);
  CHECK_FALSE(p.enter(1, 2));
  CHECK_FALSE(p.enter(1, 1));
  p.leave(1, 1);
  CHECK(p.current(1, 2));
}

TEST_CASE("a replacement copies the current step's state, never one step behind or ahead") {
  auto p = begun(3);
  take_step(p);
  p.leave(1, 1);
  CHECK(p.enter(1, 2));
  auto given = p.ask(1, 2);
  CHECK(given.what == kind::copy);
  CHECK(given.step == 1);
  CHECK(given.donor != 1);
  CHECK(p.ready(1, 2));
  CHECK_FALSE(p.offer(1, 2, 0));
  CHECK_FALSE(p.offer(1, 2, 2));
  CHECK(p.offer(1, 2, 1));
}

TEST_CASE("a replacement waits while the survivors are between two steps") {
  auto p = begun(2);
  CHECK(p.offer(0, 1, 0));
  CHECK(p.offer(1, 1, 0));
  p.seal();
  p.advance();
  p.leave(1, 1);
  CHECK(p.enter(1, 2));
  CHECK(p.ask(1, 2).what == kind::wait);
  CHECK(p.applied(0, 1));
  CHECK(p.ask(1, 2).what == kind::copy);
}

TEST_CASE("when nobody holds the state the first to ask recovers and the run goes back") {
  auto p = begun(2);
  take_step(p);
  take_step(p);
  p.leave(0, 1);
  p.leave(1, 1);
  CHECK(p.enter(0, 2));
  CHECK(p.enter(1, 2));
  CHECK(p.ask(1, 2).what == kind::recover);
  CHECK(p.ask(0, 2).what == kind::wait);
  CHECK(p.recovered(1, 2, 1));
  CHECK(p.step() == 1);
  CHECK(p.ask(0, 2).what == kind::wait);
  CHECK(p.ready(1, 2));
  CHECK(p.ask(0, 2).what == kind::load);
}

TEST_CASE("one that dies while it recovers hands the duty on") {
  auto p = begun(2);
  p.leave(0, 1);
  p.leave(1, 1);
  CHECK(p.enter(0, 2));
  CHECK(p.ask(0, 2).what == kind::recover);
  p.leave(0, 2);
  CHECK(p.enter(1, 2));
  CHECK(p.ask(1, 2).what == kind::recover);
}

TEST_CASE("after the last step ranks hold the final state until the run is closed") {
  auto p = begun(2, 1);
  take_step(p);
  CHECK(p.step() == p.total());
  p.leave(0, 1);
  CHECK(p.enter(0, 2));
  CHECK(p.ask(0, 2).what == kind::wait);
  p.close();
  CHECK(p.ask(0, 2).what == kind::finished);
}

TEST_CASE("an early stop ends the run after the step at hand") {
  auto p = begun(2);
  take_step(p);
  CHECK(p.offer(0, 1, 1));
  CHECK(p.stop_early() == 2);
  CHECK(p.offer(1, 1, 1));
  p.seal();
  p.advance();
  CHECK(p.step() == p.total());
}

namespace {

// Plays random deaths, joins, offers and advances; the invariants hold after each.
class random_play {
 public:
  random_play(std::uint32_t seed, std::size_t ranks) : random_(seed), protocol_(ranks, 30), incarnation_(ranks, 0) {}

  void play(int moves) {
    for (int i = 0; i < moves; ++i) {
      move(random_() % incarnation_.size());
      if (protocol_.complete()) {
        protocol_.seal();
        protocol_.advance();
      }
      check();
    }
  }

 private:
  void move(rank_index r) {
    const auto life = incarnation_[r];
    switch (protocol_.standing_of(r)) {
      case standing::absent: REQUIRE(protocol_.enter(r, ++incarnation_[r])); return;
      case standing::joining: {
        const auto given = protocol_.ask(r, life);
        if (given.what == kind::recover)
          REQUIRE(protocol_.recovered(r, life, std::min<std::uint64_t>(protocol_.step(), random_() % 3)));
        if (given.what == kind::copy) REQUIRE(given.step == protocol_.step());
        return;
      }
      default: break;
    }
    if (random_() % 5 == 0) {
      protocol_.leave(r, life);
      return;
    }
    switch (protocol_.standing_of(r)) {
      case standing::loading: REQUIRE(protocol_.ready(r, life)); return;
      case standing::computing:
        if (protocol_.step() < protocol_.total()) REQUIRE(protocol_.offer(r, life, protocol_.step()));
        return;
      case standing::applying: REQUIRE(protocol_.applied(r, life)); return;
      default: return;
    }
  }

  void check() {
    REQUIRE(protocol_.step() <= protocol_.total());
    for (rank_index r = 0; r < incarnation_.size(); ++r) {
      const auto now = protocol_.standing_of(r);
      if (now == standing::arrived) REQUIRE(protocol_.has_contributed(r));
      if (now != standing::absent) REQUIRE(protocol_.current(r, incarnation_[r]));
      if (incarnation_[r] > 1) REQUIRE_FALSE(protocol_.current(r, incarnation_[r] - 1));
    }
  }

  std::mt19937 random_;
  step_protocol protocol_;
  std::vector<std::uint64_t> incarnation_;
};

}  // namespace

TEST_CASE("whatever dies whenever, one incarnation a rank is current and the steps never run ahead") {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    random_play(seed, 1 + seed % 4).play(400);
  }
}
