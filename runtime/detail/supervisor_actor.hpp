#pragma once

#include <planaria/runtime/child_context.hpp>
#include <planaria/runtime/child_spec.hpp>
#include <planaria/runtime/detail/child_record.hpp>
#include <planaria/runtime/detail/supervisor_core.hpp>
#include <planaria/runtime/node.hpp>

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/event_based_actor.hpp>

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace planaria::detail {

class supervisor_actor;

/// The one message of a supervisor besides ticks: run on its thread.
struct supervisor_command {
  std::function<void(supervisor_actor&)> run;
};

/// The shell of supervisor_core: spawns, monitors and ends actors as the core decides, and keeps the registry, the
/// event log and the tree's records in step. Everything in it belongs to the actor; other threads send commands.
class supervisor_actor final : public caf::event_based_actor {
 public:
  using children_function = std::function<std::vector<child_spec>()>;
  using answer = std::shared_ptr<std::promise<std::string>>;

  supervisor_actor(caf::actor_config& config, child_context context, supervisor_options options,
                   children_function children);

  caf::behavior make_behavior() override;
  void on_exit() override;

  /// Commands, on the actor's thread; an answer gets a text, or an exception that says why not.
  void add(child_spec spec, const answer& to);
  void stop(const std::string& id, const answer& to);
  void restart(const std::string& id, const answer& to);
  void remove(const std::string& id, const answer& to);
  /// Answers once the child has ended for good, with its last reason.
  void wait(const std::string& id, const answer& to);
  [[nodiscard]] std::vector<child_view> view() const;

 private:
  // A child over all its incarnations.
  struct entry {
    child_spec spec;
    std::string path;
    std::uint64_t incarnation = 0;  // of this or the last life
    std::shared_ptr<child_record> record;
    caf::actor handle;
    bool died = false;  // its next start is a respawn
    bool answered_info = false;
    std::vector<answer> starting, stopping, waiting;
  };

  void begin();
  void adopt(child_spec spec);
  void pump();
  void perform(const core_action& action);
  void start(entry& e);
  void started(entry& e);
  void request_info(entry& e);
  void child_ready(const std::string& id, std::uint64_t incarnation, bool by_info);
  void down(const caf::down_msg& message);
  void ended(entry& e, const ending& how);
  void report_death(entry& e, const ending& how);
  void release(entry& e);
  void abandon(entry& e, bool hung);
  void end(const ending& how);
  void tick();
  void arm();
  void keep(const entry& e);
  void try_keep(const entry& e);
  [[nodiscard]] std::uint64_t last_incarnation(const std::string& path) const;
  [[nodiscard]] std::string path_of(const std::string& id) const;
  entry* find(const std::string& id);
  void answer_all(std::vector<answer>& to, const ending& how);
  [[nodiscard]] node_parts& parts() const { return *context_.record()->parts; }

  const child_context context_;
  children_function first_children_;
  supervisor_core core_;
  std::map<std::string, entry> entries_;
  std::map<std::string, std::string> last_words_;  // of forgotten children: bounded by the ids that were ever used
  std::map<caf::actor_addr, std::string> by_address_;
  std::optional<instant> armed_;
  bool pumping_ = false;
  bool closed_ = false;
};

/// Spawns a supervisor; its context's record announces when every first child is started.
[[nodiscard]] caf::actor spawn_supervisor(caf::actor_system& system, child_context context, supervisor_options options,
                                          supervisor_actor::children_function children);

/// Refuses a spec that cannot be kept: its id, its start function, its combination of rules.
void check_spec(const child_spec& spec);

/// Refuses limits and pauses that cannot be kept; `whose` is the supervisor's id.
void check_options(const supervisor_options& options, const std::string& whose);

[[nodiscard]] std::string tree_key(const std::string& path);

}  // namespace planaria::detail

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(planaria::detail::supervisor_command)
