#include <planaria/runtime/sim/scheduler.hpp>

namespace planaria::sim {

scheduler::scheduler(caf::actor_system& system, world& where)
    : caf::scheduler::abstract_coordinator(system), world_(where), clock_(where) {}

void scheduler::start() {
  world_.add(*this);
  abstract_coordinator::start();
}

void scheduler::stop() {
  world_.drain(system());
  stop_actors();
  world_.drain(system());
  clock_.cancel_all();
  world_.remove(*this);
}

}  // namespace planaria::sim
