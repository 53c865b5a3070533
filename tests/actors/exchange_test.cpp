#include "stage.hpp"

#include <planaria/actors/mesh/exchange.hpp>

#include <thread>

using namespace planaria;
using namespace planaria::testing;
using namespace planaria::mesh;

namespace {

// A meeting of two ranks over ten samples, one sample a rank and step, and trainers to bring along.
struct meeting_of_two {
  [[nodiscard]] std::shared_ptr<trainer> newcomer() const { return make_trainer_factory(s.trainer)(); }

  // Lets an incarnation in that nobody's state is there for.
  void first(const membership& who) {
    CHECK(meeting.join(who, newcomer()).how == join_result::kind::recover);
    CHECK(meeting.recovered(who, std::make_shared<const origin_state>()));
    CHECK(meeting.ready(who));
  }
  void next(const membership& who) {
    CHECK(meeting.join(who, newcomer()).how == join_result::kind::load);
    CHECK(meeting.ready(who));
  }

  stage s{2, 10, 1, 1};
  std::shared_ptr<const sampler> plan =
      std::make_shared<const sampler>(sampler_options{.seed = 1, .samples = 10, .batch = 1, .ranks = 2});
  exchange meeting{{.ranks = 2, .total_steps = 5}, plan, std::make_shared<ledger>(10)};
};

}  // namespace

TEST_CASE("a joiner that is fenced while it waits leaves nothing of itself behind") {
  meeting_of_two m;
  m.first({.rank = 0, .incarnation = 1});
  m.next({.rank = 1, .incarnation = 1});
  // Rank 1's contribution is in; it dies, and its replacement waits for the step to end.
  const auto worker = m.newcomer();
  const auto samples = m.plan->samples(0, 1);
  const step_context where{.seed = 1, .step = 0, .rank = 1, .ranks = 2, .samples = samples};
  counter offered, waiting;
  auto dropped = step_result::kind::apply;
  std::thread offering([&] {
    const membership who{.rank = 1, .incarnation = 1, .alive = [&] { offered.add(); }};
    dropped = m.meeting.offer(who, 0, worker->compute(where), *worker, samples).how;
  });
  offered.wait_for(1);
  auto mine = m.newcomer();
  const std::weak_ptr<trainer> left = mine;
  auto got = join_result::kind::finished;
  std::thread joining([&, mine = std::move(mine)]() mutable {
    got = m.meeting.join({.rank = 1, .incarnation = 2, .alive = [&] { waiting.add(); }}, std::move(mine)).how;
  });
  waiting.wait_for(1);
  m.meeting.leave(1, 2);
  joining.join();
  offering.join();
  CHECK(dropped == step_result::kind::fenced);
  CHECK(got == join_result::kind::fenced);
  CHECK(left.expired());
  CHECK(m.meeting.fenced_count() == 1);
}

TEST_CASE("the duty to save passes on when its holder dies, and can be taken again") {
  meeting_of_two m;
  const membership a{.rank = 0, .incarnation = 1}, b{.rank = 1, .incarnation = 1};
  m.first(a);
  m.next(b);
  CHECK_FALSE(m.meeting.claim_snapshot(a, 7));
  CHECK(m.meeting.claim_snapshot(a, 0));
  CHECK_FALSE(m.meeting.claim_snapshot(b, 0));
  CHECK(m.meeting.claim_snapshot(b, 0, true));
  m.meeting.leave(1, 1);
  CHECK_FALSE(m.meeting.claim_snapshot(b, 0));
  CHECK(m.meeting.claim_snapshot(a, 0));
}
