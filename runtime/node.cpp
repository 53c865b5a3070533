#include <planaria/runtime/deadline.hpp>
#include <planaria/runtime/detail/supervisor_actor.hpp>
#include <planaria/runtime/node.hpp>
#include <planaria/storage/error.hpp>

#include <planaria/v1/event.pb.h>

#include <caf/actor_system_config.hpp>
#include <caf/all.hpp>

#include <spdlog/logger.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace planaria {
namespace {

using detail::supervisor_actor;
using std::chrono::steady_clock;

// What a supervisor needs at most to answer a question that takes no time.
constexpr std::chrono::milliseconds answer_deadline{10'000};

caf::actor_system_config configure(const node_options& options) {
  caf::actor_system_config config;
  config.set("scheduler.policy", caf::atom("sharing"));
  config.set("scheduler.max-threads", std::max<std::size_t>(options.control_threads, 1));
  return config;
}

// Checked before anything is created.
node_options checked(node_options options) {
  detail::check_options(options.root, "");
  return options;
}

std::unique_ptr<store> open_store(const store_options& options) {
  return options.directory.empty() ? nullptr : std::make_unique<store>(options);
}

std::pair<std::string, std::string> split(std::string_view path) {
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos) return {{}, std::string(path)};
  return {std::string(path.substr(0, slash)), std::string(path.substr(slash + 1))};
}

}  // namespace

// CAF's actor system refers to its configuration for as long as it lives.
struct configured_system {
  explicit configured_system(const node_options& options) : config(configure(options)), system(config) {}
  caf::actor_system_config config;
  caf::actor_system system;
};

struct node::impl : std::enable_shared_from_this<node::impl> {
  explicit impl(node_options o)
      : options(checked(std::move(o))),
        parts(std::make_shared<detail::node_parts>(open_store(options.storage), options.compute, options.log_level)),
        system(std::make_unique<configured_system>(options)) {}

  void start_root();
  void root_down(const caf::error& reason);
  [[nodiscard]] bool remember(const child_spec& spec);
  void forget(const std::string& id);
  void stop_root();
  void close();
  std::string ask(std::string_view supervisor, std::chrono::milliseconds deadline,
                  std::function<void(supervisor_actor&, const supervisor_actor::answer&)> what);
  std::vector<child_view> children_of(const std::string& supervisor);
  void view_into(child_view& of);
  caf::actor supervisor_at(std::string_view path);

  node_options options;
  std::shared_ptr<detail::node_parts> parts;
  std::unique_ptr<configured_system> system;

  std::atomic<std::uint64_t> root_incarnation{0};  // written under mutex
  std::mutex mutex;
  std::condition_variable change;
  caf::actor root;                // guarded by mutex, as all below
  std::vector<child_spec> specs;  // of the root's children, from which a dead root is built anew
  std::shared_ptr<child_record> root_record;
  std::vector<steady_clock::time_point> root_deaths;
  bool root_alive = false;
  bool stopping = false;
};

void node::impl::start_root() {
  std::unique_lock lock(mutex);
  root_record = std::make_shared<child_record>("", ++root_incarnation, parts, nullptr);
  // Weakly: a root that does not end outlives the node.
  const auto weak = weak_from_this();
  root_record->on_forgotten = [weak](const std::string& id) {
    if (const auto self = weak.lock()) self->forget(id);
  };
  root = detail::spawn_supervisor(system->system, child_context(root_record), options.root,
                                  [copy = specs] { return copy; });
  root_alive = true;
  parts->registry.bind("", root, root_incarnation);
  const auto actor = root;
  if (stopping) detail::end_actor(actor, caf::make_error(caf::exit_reason::user_shutdown));
  lock.unlock();
  actor->attach_functor([weak](const caf::error& reason) {
    if (const auto self = weak.lock()) self->root_down(reason);
  });
}

// On the thread that ended the root. It is built anew from the specs, unless it gave up or the node is closing.
void node::impl::root_down(const caf::error& reason) {
  const auto how = detail::to_ending(reason);
  parts->registry.unbind("", root_incarnation);
  if (!how.orderly) parts->events.record(event_kind::detected, "", root_incarnation, how.text);
  {
    std::lock_guard lock(mutex);
    root_record->fence();
    root = nullptr;
    const auto now = steady_clock::now();
    root_deaths.push_back(now);
    std::erase_if(root_deaths, [&](auto at) { return now - at > options.root.period; });
    const bool too_often = root_deaths.size() > options.root.intensity;
    if (stopping || how.orderly || how.code == errc::limit_reached || too_often) {
      if (!stopping && too_often)
        parts->events.record(event_kind::escalated, "", root_incarnation,
                             "the root died " + std::to_string(root_deaths.size()) + " times within " +
                                 std::to_string(options.root.period.count()) + " ms; the last: " + how.text);
      root_alive = false;
      change.notify_all();
      return;
    }
  }
  start_root();
  parts->events.record(event_kind::respawned, "", root_incarnation);
}

// Keeps a spec for a root built anew; false when there is one of this id, which the start then refuses.
bool node::impl::remember(const child_spec& spec) {
  std::lock_guard lock(mutex);
  if (std::any_of(specs.begin(), specs.end(), [&](const child_spec& s) { return s.id == spec.id; })) return false;
  specs.push_back(spec);
  return true;
}

void node::impl::forget(const std::string& id) {
  std::lock_guard lock(mutex);
  std::erase_if(specs, [&](const child_spec& s) { return s.id == id; });
}

void node::impl::stop_root() {
  std::unique_lock lock(mutex);
  stopping = true;
  const auto ended = [this] { return !root_alive; };
  detail::end_actor(root, caf::make_error(caf::exit_reason::user_shutdown));
  if (change.wait_for(lock, bounded(options.stop_deadline), ended)) return;
  detail::end_actor(root, detail::kill_reason("the node's stop deadline passed"));
  change.wait_for(lock, std::chrono::seconds(1), ended);
}

void node::impl::close() {
  stop_root();
  parts->alarms.close();
  const auto left = parts->compute.close();
  // ~actor_system waits for ever for an actor that does not end: such a one keeps the system instead.
  const auto until = steady_clock::now() + std::chrono::seconds(2);
  while (system->system.registry().running() != 0 && steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  const auto stuck = system->system.registry().running();
  const bool all_ended = stuck == 0 && left == 0;
  if (!all_ended)
    parts->events.record(event_kind::note, "", 0,
                         std::to_string(stuck) + " actors and " + std::to_string(left) +
                             " compute slots did not end with the node and are left alone; the store stays open until "
                             "they end");
  if (stuck != 0) static_cast<void>(system.release());
  system.reset();
  parts->events.detach();
  // What still runs may be writing: its record then keeps the store, which is closed with the last of them.
  if (all_ended) parts->store.reset();
}

caf::actor node::impl::supervisor_at(std::string_view path) {
  auto actor = parts->registry.find(path).current();
  if (!actor)
    throw error(errc::not_found, path.empty() ? std::string("the node has no living root")
                                              : "no supervisor lives at \"" + std::string(path) + "\"");
  return actor;
}

std::string node::impl::ask(std::string_view supervisor, std::chrono::milliseconds deadline,
                            std::function<void(supervisor_actor&, const supervisor_actor::answer&)> what) {
  const auto to = std::make_shared<std::promise<std::string>>();
  auto future = to->get_future();
  caf::anon_send(supervisor_at(supervisor),
                 detail::supervisor_command{[to, what = std::move(what)](supervisor_actor& s) {
                   try {
                     what(s, to);
                   } catch (const error&) {
                     to->set_exception(std::current_exception());
                   }
                 }});
  if (future.wait_for(bounded(deadline)) != std::future_status::ready)
    throw error(errc::timeout, "the supervisor \"" + std::string(supervisor) + "\" did not answer within " +
                                   std::to_string(deadline.count()) + " ms");
  try {
    return future.get();
  } catch (const std::future_error&) {
    throw error(errc::stopped, "the supervisor \"" + std::string(supervisor) + "\" ended before it answered");
  }
}

node::node(node_options options) : impl_(std::make_shared<impl>(std::move(options))) { impl_->start_root(); }

node::~node() { impl_->close(); }

std::string node::start(child_spec spec, std::string_view under) {
  detail::check_spec(spec);
  const auto deadline = bounded(spec.start_deadline) + answer_deadline;
  const bool keep = under.empty() && impl_->remember(spec);
  const auto id = spec.id;
  try {
    return impl_->ask(under, deadline,
                      [spec = std::move(spec)](supervisor_actor& s, const auto& to) { s.add(spec, to); });
  } catch (const error&) {
    if (keep) impl_->forget(id);
    throw;
  }
}

void node::stop(std::string_view path) {
  const auto [under, id] = split(path);
  impl_->ask(under, impl_->options.stop_deadline, [id](supervisor_actor& s, const auto& to) { s.stop(id, to); });
}

void node::restart(std::string_view path) {
  const auto [under, id] = split(path);
  impl_->ask(under, impl_->options.stop_deadline, [id](supervisor_actor& s, const auto& to) { s.restart(id, to); });
}

void node::remove(std::string_view path) {
  const auto [under, id] = split(path);
  impl_->ask(under, answer_deadline, [id](supervisor_actor& s, const auto& to) { s.remove(id, to); });
}

bool node::kill(std::string_view path, std::string_view why) {
  const auto name = impl_->parts->registry.find(path);
  const auto incarnation = name.incarnation();
  const auto actor = name.current();
  if (!actor) return false;
  impl_->parts->events.record(event_kind::killed, path, incarnation, why);
  detail::end_actor(actor, detail::kill_reason(why));
  return true;
}

std::string node::wait(std::string_view path, std::chrono::milliseconds deadline) {
  const auto [under, id] = split(path);
  return impl_->ask(under, deadline, [id](supervisor_actor& s, const auto& to) { s.wait(id, to); });
}

std::vector<child_view> node::impl::children_of(const std::string& supervisor) {
  auto views = std::make_shared<std::vector<child_view>>();
  ask(supervisor, answer_deadline, [views](supervisor_actor& s, const auto& to) {
    *views = s.view();
    to->set_value({});
  });
  return *views;
}

void node::impl::view_into(child_view& of) {
  of.children = children_of(of.path);
  for (auto& child : of.children) {
    if (child.type != child_type::supervisor || child.status != child_status::running) continue;
    try {
      view_into(child);
    } catch (const error& gone) {
      // It ended between the two questions: shown without its children.
      static_cast<void>(gone);
    }
  }
}

child_view node::tree() const {
  child_view top{
      .type = child_type::supervisor, .status = child_status::running, .incarnation = impl_->root_incarnation};
  impl_->view_into(top);
  return top;
}

ref node::find(std::string_view path) { return impl_->parts->registry.find(path); }
registry& node::registry() noexcept { return impl_->parts->registry; }
compute_pool& node::compute() noexcept { return impl_->parts->compute; }
event_log& node::events() noexcept { return impl_->parts->events; }
store* node::store() noexcept { return impl_->parts->store.get(); }
caf::actor_system& node::system() noexcept { return impl_->system->system; }

child_view node::tree(const planaria::store& where) {
  child_view top{.type = child_type::supervisor};
  std::vector<std::pair<std::uint32_t, child_view>> all;
  const std::string prefix = detail::tree_key("");
  where.scan(prefix, [&](std::string_view key, std::string_view value) {
    v1::Child record;
    const std::string path(key.substr(prefix.size()));
    if (!record.ParseFromArray(value.data(), static_cast<int>(value.size())))
      throw error(errc::corrupt, "the record of the child \"" + path + "\" cannot be read");
    const auto status = record.status() >= 1 && record.status() <= 5 ? static_cast<child_status>(record.status() - 1)
                                                                     : child_status::stopped;
    all.push_back({record.position(),
                   {.path = path,
                    .type = record.type() == 2 ? child_type::supervisor : child_type::worker,
                    .status = status,
                    .incarnation = record.incarnation(),
                    .restarts = record.restarts()}});
    return true;
  });
  // Parents come before their children in byte order of the paths.
  const auto place = [&](auto&& self, child_view& under) -> void {
    std::vector<std::pair<std::uint32_t, child_view>> mine;
    for (const auto& [position, view] : all)
      if (split(view.path).first == under.path && !view.path.empty()) mine.emplace_back(position, view);
    std::stable_sort(mine.begin(), mine.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [position, view] : mine) {
      self(self, view);
      under.children.push_back(std::move(view));
    }
  };
  place(place, top);
  return top;
}

}  // namespace planaria
