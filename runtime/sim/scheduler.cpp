#include <planaria/runtime/sim/scheduler.hpp>

#include <caf/all.hpp>

namespace planaria::sim {
namespace {

// Takes what actors print, such as CAF's word of a message that nobody expected; CAF's own printer is a thread.
caf::behavior print(caf::event_based_actor* self, world* where) {
  self->set_default_handler(caf::drop);
  return {[where](caf::add_atom, caf::actor_id, const std::string& text) { where->note(text); }};
}

}  // namespace

scheduler::scheduler(caf::actor_system& system, world& where)
    : caf::scheduler::abstract_coordinator(system), world_(where), clock_(where) {}

void scheduler::start() {
  world_.add(*this);
  utility_actors_[printer_id] = system().spawn<caf::hidden>(print, &world_);
}

void scheduler::stop() {
  world_.drain(system());
  // Not stop_actors(), which blocks until they have ended: they act only as the world lets them.
  caf::anon_send_exit(utility_actors_[printer_id], caf::exit_reason::user_shutdown);
  world_.drain(system());
  utility_actors_[printer_id] = nullptr;
  clock_.cancel_all();
  world_.remove(*this);
}

}  // namespace planaria::sim
