#pragma once

#include <planaria/runtime/child_context.hpp>
#include <planaria/runtime/detail/environment.hpp>
#include <planaria/runtime/event_log.hpp>
#include <planaria/runtime/sim/simulation.hpp>
#include <planaria/runtime/sim/suites/tree_shape.hpp>
#include <planaria/runtime/tree_view.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace planaria {
class node;
}  // namespace planaria

namespace planaria::sim {

/// What the workers of a simulated tree tell of themselves, and the properties that it must have at every turn:
///
///   one-life      of a path at most one incarnation lives that is not fenced
///   named         the registry names an incarnation only after its init succeeded
///   start-order   the first children of a supervisor are started in order
///   stop-order    one is asked to stop only when its later siblings are down
///   intensity     after more restarts than allowed nothing is started; a supervisor gives up only after as many
///   no-zombie     what a replaced incarnation writes is never applied
///   reason        a failed start says what its init threw
///
/// and, once all is calm: complete, nobody is missing or doubled. What does not hold fails the
/// simulation. Used by its one thread.
class tree_board {
 public:
  tree_board(simulation& world, const tree_shape& shape) : world_(world), shape_(shape) {}

  /// What workers tell.
  void spawned(const child_context& me);
  void ignored(const child_context& me) { life_of(me).ignored = true; }
  void threw(const child_context& me, const std::string& text) { life_of(me).thrown = text; }
  void inited(const child_context& me) { life_of(me).inited = true; }
  void ended(const child_context& me);
  void asked_to_stop(const child_context& me);
  void wrote(const child_context& me);

  /// What the drivers do: their request for the path is under way until the second call.
  void requests(const std::string& path);
  void answered(const std::string& path);

  /// Of the node's event log.
  void saw(const event& one);
  /// Holds the present turn against the properties.
  void check(node& where);
  /// What is missing or too much in a tree that has had time to heal, or nothing.
  [[nodiscard]] std::optional<std::string> incomplete(const child_view& tree) const;
  /// How many workers have not ended.
  [[nodiscard]] std::size_t living() const;

 private:
  struct life {
    child_context me;
    std::string supervisor;
    std::uint64_t above = 0;  // its supervisor's incarnation
    bool first = false;       // of this path below this incarnation
    bool ignored = false;
    bool inited = false;
    bool ended = false;
    std::string thrown = {};

    [[nodiscard]] bool acts() const { return !ended && !me.fenced(); }
  };
  // What is known of one incarnation of a supervisor.
  struct reign {
    std::set<std::string> spawned;  // paths
    std::deque<detail::instant> restarts;
    std::optional<std::uint64_t> over_at;  // the turn since which it must have given up
  };

  life& life_of(const child_context& me);
  life* find(const std::string& path, std::uint64_t incarnation);
  void check_start_order(const life& one, const reign& in);
  void check_restarts(const event& one, const life& whose);
  void check_escalation(const event& one);
  [[nodiscard]] bool stands_later(const std::string& path, const std::string& than) const;
  void fail(const std::string& property, const std::string& what) const;
  [[nodiscard]] bool may_be_missing(const std::string& path) const;
  void compare(const child_view& top, std::set<std::pair<std::string, std::uint64_t>>& running,
               std::string& wrong) const;

  simulation& world_;
  const tree_shape& shape_;
  std::map<std::pair<std::string, std::uint64_t>, life> lives_;
  std::map<std::string, std::vector<life*>> acting_;  // by path: those that may act
  std::map<std::pair<std::string, std::uint64_t>, reign> reigns_;
  std::map<std::string, std::deque<detail::instant>> deaths_;  // by supervisor: all that may have counted
  std::map<std::string, std::uint64_t> writers_;
  std::map<std::string, int> requested_;  // under way
  std::set<std::string> touched_;         // paths that a driver has stopped, removed or added: in no fixed order
};

}  // namespace planaria::sim
