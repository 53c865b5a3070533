#pragma once

#include <planaria/runtime/child_context.hpp>
#include <planaria/runtime/child_spec.hpp>
#include <planaria/runtime/detail/answer.hpp>
#include <planaria/runtime/detail/child_record.hpp>
#include <planaria/runtime/detail/supervisor_core.hpp>
#include <planaria/runtime/detail/tree_plan.hpp>
#include <planaria/runtime/detail/tree_records.hpp>
#include <planaria/runtime/tree_view.hpp>

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/event_based_actor.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace planaria::detail {

class supervisor_actor;

/// The one message of a supervisor besides ticks and what its children tell: run on its thread.
struct supervisor_command {
  std::function<void(supervisor_actor&)> run;
};

/// The shell of supervisor_core: spawns, monitors and ends actors as the core decides, and keeps the registry, the
/// event log and the tree's records in step. Everything in it belongs to the actor; other threads send commands.
class supervisor_actor final : public caf::event_based_actor {
 public:
  supervisor_actor(caf::actor_config& config, child_context context, std::shared_ptr<const supervisor_plan> plan);

  caf::behavior make_behavior() override;
  void on_exit() override;

  /// Commands, on the actor's thread; an answer gets a text, or an error that says why not, as does what they throw.
  void add(std::shared_ptr<const child_spec> spec, const answer& to);
  void add_dynamic(const std::string& argument, std::string id, const answer& to);
  void stop(const std::string& id, const answer& to);
  void restart(const std::string& id, const answer& to);
  void remove(const std::string& id, const answer& to);
  /// Answers once the child has ended for good, with its last reason.
  void wait(const std::string& id, const answer& to);
  [[nodiscard]] std::vector<child_view> view() const;
  [[nodiscard]] child_count count() const;
  [[nodiscard]] child_spec spec(const std::string& id) const;
  [[nodiscard]] const supervisor_options& options() const noexcept { return plan_->options; }

 private:
  struct waiters {
    std::vector<answer> starting, stopping, waiting;
  };
  // A child over all its incarnations.
  struct entry {
    planned_child what;
    ref name;
    std::uint64_t stored = 0;       // incarnation when the supervisor began
    std::uint64_t incarnation = 0;  // of this or the last life
    std::shared_ptr<child_record> record = nullptr;
    caf::actor handle = {};
    bool died = false;                              // its next start is a respawn
    bool planned = true;                            // what is below it is known for its next start
    bool numbered = false;                          // its id was never used before and never will be again
    std::optional<instant> silence = std::nullopt;  // when it counts as hung unless it makes progress
    std::unique_ptr<waiters> asking = nullptr;
    std::string last_words = {};  // of its last end for good

    [[nodiscard]] const std::string& id() const { return what.spec->id; }
    [[nodiscard]] waiters& asked() {
      if (!asking) asking = std::make_unique<waiters>();
      return *asking;
    }
  };

  // When a child counts as hung; of equal times the older actor's comes first.
  struct silence {
    instant at;
    caf::actor_id actor;
    entry* whose;
    bool operator<(const silence& other) const noexcept {
      return std::tie(at, actor) < std::tie(other.at, other.actor);
    }
  };

  void begin();
  void begin_dynamic(std::vector<child_rules>& first);
  [[nodiscard]] planned_child make_dynamic(const std::string& argument, std::string id) const;
  entry& adopt(planned_child what, bool numbered = false);
  void add_entry(planned_child what, bool numbered, const answer& to);
  void pump();
  /// Whether it has ended, or ends now because a supervisor above it has been declared dead.
  bool replaced();
  void perform(const core_action& action);
  void perform(const core_action& action, entry& e);
  void start(entry& e);
  void spawn(entry& e);
  void started(entry& e);
  void request_info(entry& e);
  void child_ready(caf::actor_id whose);
  void down(const caf::down_msg& message);
  void quarantine(const entry& e, const ending& how);
  void ended(entry& e, const ending& how);
  void removed(entry& e);
  void report_death(entry& e, const ending& how);
  void release(entry& e);
  void abandon(entry& e, bool hung);
  void end(const ending& how);
  void tick();
  void end_silent(instant now);
  void listen(entry& e);
  void arm();
  void keep(const entry& e);
  void try_keep(const entry& e);
  void try_recording(const entry& e, const std::function<void()>& what);
  [[nodiscard]] child_view view_of(const entry& e) const;
  [[nodiscard]] std::string path_of(const std::string& id) const;
  entry* find(const std::string& id);
  [[nodiscard]] node_parts& parts() const { return *context_.record()->parts; }
  [[nodiscard]] instant now() const { return parts().world->now(); }

  const child_context context_;
  const std::shared_ptr<const supervisor_plan> plan_;
  const tree_records records_;
  supervisor_core core_;
  std::unordered_map<std::string_view, std::unique_ptr<entry>> entries_;  // the keys are the specs' own
  std::unordered_map<caf::actor_id, entry*> by_actor_;
  std::set<silence> silences_;
  std::unordered_map<std::string, std::string> last_words_;  // of the last forgotten children
  std::deque<std::string> forgotten_;                        // their ids, oldest first
  std::uint32_t numbered_ = 0;                               // dynamic children without an id of their own
  std::optional<instant> armed_;
  bool pumping_ = false;
  bool closed_ = false;
};

/// Spawns a supervisor; its context's record announces when every first child is started.
[[nodiscard]] caf::actor spawn_supervisor(caf::actor_system& system, child_context context,
                                          std::shared_ptr<const supervisor_plan> plan);

}  // namespace planaria::detail

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(planaria::detail::supervisor_command)
