#pragma once

#include "refusal.hpp"
#include "witness.hpp"

#include <planaria/runtime/child_context.hpp>
#include <planaria/runtime/child_spec.hpp>
#include <planaria/runtime/node.hpp>
#include <planaria/runtime/registry.hpp>

#include <caf/all.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace planaria::testing {

using boom_atom = caf::atom_constant<caf::atom("boom")>;
using finish_atom = caf::atom_constant<caf::atom("finish")>;
using block_atom = caf::atom_constant<caf::atom("block")>;

[[nodiscard]] inline node_options quiet() { return {.log_level = "off"}; }

[[nodiscard]] inline child_spec with(child_spec spec, restart rule) {
  spec.restart = rule;
  return spec;
}

/// What the incarnations of a test's children left behind: their contexts, and the order in which they ended.
class traces {
 public:
  void keep(const child_context& one) {
    std::lock_guard lock(mutex_);
    contexts_.insert_or_assign({one.path(), one.incarnation()}, one);
  }
  void end(const std::string& path) {
    std::lock_guard lock(mutex_);
    ends_.push_back(path);
  }
  [[nodiscard]] child_context of(const std::string& path, std::uint64_t incarnation) const {
    std::lock_guard lock(mutex_);
    const auto found = contexts_.find({path, incarnation});
    if (found == contexts_.end()) throw std::runtime_error(path + " had no such life");
    return found->second;
  }
  [[nodiscard]] std::vector<std::string> ends() const {
    std::lock_guard lock(mutex_);
    return ends_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::uint64_t>, child_context> contexts_;  // guarded by mutex_, as all below
  std::vector<std::string> ends_;
};

/// A child that throws "boom", finishes, or blocks until the gate opens, when it is told to.
[[nodiscard]] inline child_spec puppet(std::string id, std::shared_ptr<traces> kept = nullptr,
                                       std::shared_ptr<signal> gate = nullptr) {
  return child(std::move(id), [kept, gate](caf::event_based_actor* self, child_context me) -> caf::behavior {
    if (kept) {
      kept->keep(me);
      self->attach_functor([kept, path = me.path()] { kept->end(path); });
    }
    return {[](boom_atom) { throw std::runtime_error("boom"); }, [self](finish_atom) { self->quit(); },
            [gate](block_atom) {
              if (gate) static_cast<void>(gate->wait());
            }};
  });
}

/// A child whose init throws, from the given life on.
[[nodiscard]] inline child_spec broken(std::string id, std::string text, std::uint64_t from = 1) {
  return child(std::move(id), [text, from](caf::event_based_actor*, child_context me) -> caf::behavior {
    if (me.incarnation() >= from) throw std::runtime_error(text);
    return {[](boom_atom) { throw std::runtime_error("boom"); }};
  });
}

}  // namespace planaria::testing
