#include <planaria/runtime/deadline.hpp>
#include <planaria/runtime/detail/down_reason.hpp>
#include <planaria/runtime/sim/simulation.hpp>
#include <planaria/runtime/sim/world.hpp>

namespace planaria::sim {

simulation::simulation(simulation_options options)
    : world_(std::make_shared<sim::world>(options)), dice_(options.seed ^ 0x5bd1e9955bd1e995u), seed_(options.seed) {}
simulation::~simulation() = default;

std::shared_ptr<detail::environment> simulation::environment() const { return world_; }

void simulation::pass(std::chrono::milliseconds time) {
  static_cast<void>(until(time, [] { return false; }));
}

bool simulation::until(std::chrono::milliseconds time, const std::function<bool()>& ready) {
  const bool done = world_->poll(world_->now() + bounded(time), ready);
  world_->verify();
  return done;
}

bool simulation::turn(std::chrono::milliseconds longest) {
  const bool acted = world_->turn(world_->now() + bounded(longest));
  world_->verify();
  return acted;
}

void simulation::launch(std::function<void()> body) {
  ++*launched_;
  world_->launch([run = std::move(body), where = world_.get(), running = launched_] {
    if (const auto failed = detail::run_guarded(run)) where->fail(detail::to_ending(failed).text);
    --*running;
  });
}

bool simulation::idle() const noexcept { return *launched_ == 0; }

void simulation::check(std::function<void()> check) { world_->check(std::move(check)); }
void simulation::fail(const std::string& why) { world_->fail(why); }
void simulation::verify() { world_->verify(); }
dice& simulation::dice() noexcept { return dice_; }
std::uint64_t simulation::seed() const noexcept { return seed_; }
void simulation::set_weather(const weather& next) { world_->set_weather(next); }
void simulation::note(const std::string& line) { world_->note(line); }
const std::vector<std::string>& simulation::trace() const noexcept { return world_->trace(); }
std::uint64_t simulation::turns() const noexcept { return world_->turns(); }
std::chrono::nanoseconds simulation::time() const noexcept { return world_->now() - world::beginning; }

}  // namespace planaria::sim
