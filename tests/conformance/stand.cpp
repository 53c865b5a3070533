#include "stand.hpp"

#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace planaria::conformance {

using testing::patience;

class journal {
 public:
  void write(std::string line) {
    std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
    change_.notify_all();
  }
  [[nodiscard]] std::vector<std::string> lines() const {
    std::lock_guard lock(mutex_);
    return lines_;
  }
  // Looks again at every line, and now and then, since not every change leaves one.
  bool wait(const std::function<bool()>& ready) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!ready()) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
      std::unique_lock lock(mutex_);
      change_.wait_for(lock, std::chrono::milliseconds(2));
    }
    return true;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable change_;
  std::vector<std::string> lines_;  // guarded by mutex_
};

stand::stand(std::optional<std::uint64_t> seed) : journal_(std::make_shared<journal>()) {
  if (seed)
    world_ = std::make_unique<sim::simulation>(
        sim::simulation_options{.seed = *seed, .weather = {.slow = 0.01 * static_cast<double>(*seed % 10)}});
  boot();
}

stand::~stand() {
  if (beside_.joinable()) beside_.join();
}

void stand::beside(std::function<void()> body) {
  if (world_)
    world_->launch(std::move(body));
  else
    beside_ = std::thread(std::move(body));
}

void stand::beside_is_done() {
  if (world_)
    REQUIRE(world_->until(patience, [this] { return world_->idle(); }));
  else
    beside_.join();
}

void stand::boot() {
  node_options options{.log_level = "off"};
  if (stored_) options.storage.directory = run_dir_ / "run";
  node_ = world_ ? std::make_unique<planaria::node>(options, world_->environment())
                 : std::make_unique<planaria::node>(options);
  seen_.emplace(node_->events());
}

void stand::reboot() {
  stored_ = true;
  seen_.reset();
  node_.reset();
  boot();
}

child_spec stand::worker(std::string id, script what) const {
  return child(std::move(id), [what, to = journal_](caf::event_based_actor* self, child_context me) -> caf::behavior {
    to->write("init " + me.path() + "#" + std::to_string(me.incarnation()));
    if (what.init) what.init(me);
    self->set_exit_handler([=](caf::exit_msg& message) {
      to->write("asked " + me.path());
      if (what.when_asked) what.when_asked();
      switch (what.asked) {
        case manners::leave: self->quit(std::move(message.reason)); break;
        case manners::linger: self->delayed_send(self, 40ms, leave_atom::value); break;
        case manners::crash: throw std::runtime_error("not now");
        case manners::stay: break;
      }
    });
    return {[](crash_atom) { throw std::runtime_error("boom"); }, [self](finish_atom) { self->quit(); },
            [self](leave_atom) { self->quit(caf::exit_reason::user_shutdown); }};
  });
}

child_spec stand::worker(std::string id, restart when, script what) const {
  auto spec = worker(std::move(id), std::move(what));
  spec.restart = when;
  return spec;
}

void stand::note(std::string line) { journal_->write(std::move(line)); }
std::vector<std::string> stand::notes() const { return journal_->lines(); }

std::vector<std::string> stand::notes(std::string_view beginning) const {
  std::vector<std::string> found;
  for (const auto& line : journal_->lines())
    if (line.starts_with(beginning)) found.push_back(line.substr(beginning.size()));
  return found;
}

bool stand::eventually(const std::function<bool()>& ready) {
  return world_ ? world_->until(patience, ready) : journal_->wait(ready);
}

void stand::pass(std::chrono::milliseconds time) {
  if (world_) {
    world_->pass(time);
    return;
  }
  const auto until = std::chrono::steady_clock::now() + time;
  static_cast<void>(journal_->wait([&] { return std::chrono::steady_clock::now() >= until; }));
}

void stand::crash(std::string_view path) {
  const auto before = life(path);
  tell(path, crash_atom::value);
  REQUIRE(lives(path, before + 1));
}

void stand::die(std::string_view path) {
  tell(path, crash_atom::value);
  REQUIRE(happens(event_kind::detected, path));
}

std::optional<child_status> stand::status(std::string_view path) {
  const auto slash = path.rfind('/');
  for (const auto& one : node().children(slash == std::string_view::npos ? "" : path.substr(0, slash)))
    if (one.path == path) return one.status;
  return std::nullopt;
}

std::vector<std::string> stand::ids(std::string_view supervisor) {
  std::vector<std::string> all;
  for (const auto& one : node().children(supervisor)) all.push_back(one.path.substr(one.path.rfind('/') + 1));
  return all;
}

std::string stand::end_of(std::string_view path) { return node().wait(path, patience); }

}  // namespace planaria::conformance
