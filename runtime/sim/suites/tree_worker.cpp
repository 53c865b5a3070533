#include <planaria/runtime/compute_child.hpp>
#include <planaria/runtime/detail/child_record.hpp>
#include <planaria/runtime/detail/tree_records.hpp>
#include <planaria/runtime/sim/suites/tree_worker.hpp>
#include <planaria/storage/error.hpp>

#include <caf/all.hpp>

#include <stdexcept>
#include <utility>

namespace planaria::sim {
namespace {

using namespace std::chrono_literals;

using started_atom = caf::atom_constant<caf::atom("started")>;
using beat_atom = caf::atom_constant<caf::atom("beat")>;
using stopped_atom = caf::atom_constant<caf::atom("stopped")>;

// How one life of a worker goes.
struct fate {
  enum class beginning : std::uint8_t { prompt, slow, never, throws, refused, ignores };
  enum class middle : std::uint8_t { waits, crashes, finishes, falls_silent };
  enum class end : std::uint8_t { obeys, slow, throws, ignores };

  beginning begins = beginning::prompt;
  middle lives = middle::waits;
  end ends = end::obeys;
  std::chrono::milliseconds start{0}, life{0}, stop{0};
};

fate draw_fate(tree_mood& mood, const tree_shape::worker& what) {
  fate drawn;
  if (mood.calm) return drawn;
  auto& chance = mood.chance;
  const auto pick = [&] { return chance.below(100); };
  const auto b = pick();
  using beginning = fate::beginning;
  drawn.begins = b < 76   ? beginning::prompt
                 : b < 84 ? beginning::slow
                 : b < 86 ? beginning::never
                 : b < 92 ? beginning::throws
                 : b < 96 ? beginning::refused
                          : beginning::ignores;
  const auto m = pick();
  using middle = fate::middle;
  drawn.lives = m < 75 ? middle::waits : m < 85 ? middle::crashes : m < 93 ? middle::finishes : middle::falls_silent;
  const auto e = pick();
  drawn.ends = e < 60 ? fate::end::obeys : e < 80 ? fate::end::slow : e < 90 ? fate::end::throws : fate::end::ignores;
  // Whoever ignores a request without a deadline is waited for for ever, as it should be.
  if (drawn.ends == fate::end::ignores && what.shutdown.how == shutdown::kind::infinite) drawn.ends = fate::end::slow;
  drawn.start = std::chrono::milliseconds(chance.between(1, 80));
  drawn.life = std::chrono::milliseconds(chance.between(0, 300));
  drawn.stop = std::chrono::milliseconds(chance.between(1, 120));
  return drawn;
}

std::string words(const child_context& me, const char* what) {
  return me.path() + "#" + std::to_string(me.incarnation()) + " " + what;
}

// Tells the board first, so that the text is known before the supervisor repeats it.
[[noreturn]] void fail(const std::shared_ptr<tree_board>& board, const child_context& me, const char* what) {
  const auto text = words(me, what);
  board->threw(me, text);
  throw std::runtime_error(text);
}

void write(const std::shared_ptr<tree_board>& board, const child_context& me) {
  try {
    me.state().put("last", std::to_string(me.incarnation()));
  } catch (const error& refused) {
    if (refused.code() != errc::fenced) throw;
    return;
  }
  board->wrote(me);
}

class worker final : public caf::event_based_actor {
 public:
  worker(caf::actor_config& config, child_context me, tree_shape::worker what, std::shared_ptr<tree_mood> mood,
         fate drawn)
      : caf::event_based_actor(config),
        me_(std::move(me)),
        what_(std::move(what)),
        mood_(std::move(mood)),
        fate_(drawn) {}

  caf::behavior make_behavior() override {
    detail::begin_child(this);
    attach_functor([board = mood_->board, me = me_] { board->ended(me); });
    if (fate_.begins == fate::beginning::throws) fail(mood_->board, me_, "throws in its init");
    set_exit_handler([this](caf::exit_msg& asked) { stop(asked); });
    if (fate_.begins == fate::beginning::prompt) begin();
    if (fate_.begins == fate::beginning::slow) delayed_send(this, fate_.start, started_atom::value);
    return {
        [this](started_atom) { begin(); }, [this](crash_atom) { throw std::runtime_error(words(me_, "crashes")); },
        [this](finish_atom) { quit(); },   [this](silence_atom) { silent_ = true; },
        [this](beat_atom) { beat(); },     [this](stopped_atom) { quit(caf::exit_reason::user_shutdown); },
    };
  }

 private:
  void begin() {
    mood_->board->inited(me_);
    detail::end_init(me_, id());
    using middle = fate::middle;
    if (fate_.lives == middle::crashes) delayed_send(this, fate_.life, crash_atom::value);
    if (fate_.lives == middle::finishes) delayed_send(this, fate_.life, finish_atom::value);
    if (fate_.lives == middle::falls_silent) delayed_send(this, fate_.life, silence_atom::value);
    beat();
  }

  void beat() {
    if (silent_) return;
    me_.progress();
    write(mood_->board, me_);
    if (what_.progress_deadline.count() != 0) delayed_send(this, what_.progress_deadline / 3, beat_atom::value);
  }

  void stop(const caf::exit_msg& asked) {
    if (asked.reason == caf::exit_reason::user_shutdown) mood_->board->asked_to_stop(me_);
    if (fate_.ends == fate::end::obeys || mood_->calm) quit(asked.reason);
    if (fate_.ends == fate::end::slow) delayed_send(this, fate_.stop, stopped_atom::value);
    if (fate_.ends == fate::end::throws) throw std::runtime_error(words(me_, "throws when it is asked to stop"));
  }

  const child_context me_;
  const tree_shape::worker what_;
  const std::shared_ptr<tree_mood> mood_;
  const fate fate_;
  bool silent_ = false;
};

// A body that hangs does not notice its end, and writes once more when it wakes up.
void compute(const child_context& me, const std::shared_ptr<tree_mood>& mood) {
  const auto drawn = mood->calm ? fate::middle::waits : draw_fate(*mood, {}).lives;
  const auto round = std::chrono::milliseconds(mood->chance.between(10, 50));
  for (int i = 0; me.pause(round); ++i) {
    me.progress();
    write(mood->board, me);
    if (i < 3 || mood->calm) continue;
    if (drawn == fate::middle::crashes) throw std::runtime_error(words(me, "crashes"));
    if (drawn == fate::middle::finishes) return;
    if (drawn != fate::middle::falls_silent) continue;
    auto& world = *me.record()->parts->world;
    const auto waking = world.now() + std::chrono::milliseconds(mood->chance.between(50, 500));
    static_cast<void>(world.poll(waking, [] { return false; }));
    write(mood->board, me);
  }
}

child_spec make_body(const tree_shape::worker& what, const std::shared_ptr<tree_mood>& mood) {
  mood->bodies.insert(what.path);
  auto spec = compute_child(
      what.path, [mood](const child_context& me) { compute(me, mood); }, [](const child_context&) {});
  spec.start = [mood, start = spec.start](caf::actor_system& system, const child_context& me) {
    auto& board = mood->board;
    board->spawned(me);
    // Its shell has no init that could fail.
    board->inited(me);
    auto shell = start(system, me);
    shell->attach_functor([board = mood->board, me] { board->ended(me); });
    return shell;
  };
  return spec;
}

}  // namespace

child_spec make_worker(const tree_shape::worker& what, const std::shared_ptr<tree_mood>& mood) {
  child_spec spec;
  if (what.computes)
    spec = make_body(what, mood);
  else
    spec.start = [what, mood](caf::actor_system& system, const child_context& me) -> caf::actor {
      mood->board->spawned(me);
      const auto drawn = draw_fate(*mood, what);
      const bool refused = drawn.begins == fate::beginning::refused;
      const bool ignores = drawn.begins == fate::beginning::ignores;
      if (refused || ignores) mood->board->ended(me);
      if (refused) fail(mood->board, me, "throws in its start function");
      if (ignores) mood->board->ignored(me);
      if (ignores) throw ignore("not now");
      detail::promise_to_tell(me);
      return caf::actor_cast<caf::actor>(system.spawn<worker>(me, what, mood, drawn));
    };
  spec.id = detail::split_path(what.path).second;
  spec.restart = what.restart;
  spec.shutdown = what.shutdown;
  spec.significant = what.significant;
  spec.progress_deadline = what.progress_deadline;
  spec.start_deadline = 200ms;
  return spec;
}

child_spec make_tree(const tree_shape& shape, const std::string& path, const std::shared_ptr<tree_mood>& mood) {
  const auto& top = shape.supervisors.at(path);
  const auto id = detail::split_path(path).second;
  child_spec spec;
  if (top.dynamic) {
    auto options = top.options;
    spec = dynamic_supervisor(
        id, options,
        [mood, path](const std::string& argument) {
          return make_worker(draw_worker(mood->chance, path + "/" + argument), mood);
        },
        top.keep);
  } else {
    std::vector<child_spec> children;
    for (const auto& one : top.children) {
      const auto child = path + "/" + one;
      const auto found = shape.workers.find(child);
      children.push_back(found == shape.workers.end() ? make_tree(shape, child, mood)
                                                      : make_worker(found->second, mood));
    }
    spec = supervisor(id, top.options, std::move(children));
  }
  spec.restart = top.restart;
  spec.significant = top.significant;
  return spec;
}

}  // namespace planaria::sim
