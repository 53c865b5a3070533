#include <planaria/runtime/deadline.hpp>
#include <planaria/runtime/detail/real_environment.hpp>
#include <planaria/runtime/detail/supervisor_actor.hpp>
#include <planaria/runtime/node.hpp>
#include <planaria/storage/error.hpp>

#include <caf/actor_system_config.hpp>
#include <caf/all.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace planaria {
namespace {

using detail::answer;
using detail::instant;
using detail::split_path;
using detail::supervisor_actor;

// What a supervisor needs at most to answer a question that takes no time.
constexpr std::chrono::milliseconds answer_deadline{10'000};

// Checked before anything is created.
node_options checked(node_options options) {
  detail::check_options(options.root, "");
  return options;
}

std::unique_ptr<store> open_store(const store_options& options) {
  return options.directory.empty() ? nullptr : std::make_unique<store>(options);
}

}  // namespace

// CAF's actor system refers to its configuration for as long as it lives.
struct configured_system {
  configured_system(const node_options& options, detail::environment& world) : system(configure(options, world)) {}

  caf::actor_system_config config;
  caf::actor_system system;

 private:
  caf::actor_system_config& configure(const node_options& options, detail::environment& world) {
    config.set("scheduler.max-threads", std::max<std::size_t>(options.control_threads, 1));
    world.configure(config);
    return config;
  }
};

// The specs of the root's children, from which a dead root is built anew. Shared with the root, which can outlive the
// node when it does not end.
struct root_specs {
  std::vector<child_spec> copy() {
    std::lock_guard lock(mutex);
    return all;
  }
  // False when there is one of this id, which the start then refuses.
  bool add(const child_spec& spec) {
    std::lock_guard lock(mutex);
    if (std::any_of(all.begin(), all.end(), [&](const child_spec& s) { return s.id == spec.id; })) return false;
    all.push_back(spec);
    return true;
  }
  void forget(const std::string& id) {
    std::lock_guard lock(mutex);
    std::erase_if(all, [&](const child_spec& s) { return s.id == id; });
  }

  std::mutex mutex;
  std::vector<child_spec> all;  // guarded by mutex
};

struct node::impl : std::enable_shared_from_this<node::impl> {
  impl(node_options o, std::shared_ptr<detail::environment> on)
      : options(checked(std::move(o))),
        world(std::move(on)),
        parts(std::make_shared<detail::node_parts>(world, open_store(options.storage), options.compute,
                                                   options.log_level)),
        system(std::make_unique<configured_system>(options, *world)),
        root_name(parts->registry.find("")) {}

  void start_root();
  void root_down(const caf::error& reason);
  void stop_root();
  void close();
  std::string ask(std::string_view supervisor, std::chrono::milliseconds deadline,
                  std::function<void(supervisor_actor&, const answer&)> what);
  template <class Value>
  Value inquire(std::string_view supervisor, std::function<Value(const supervisor_actor&)> what);
  void view_into(child_view& of);
  caf::actor supervisor_at(std::string_view path);

  const node_options options;
  const std::shared_ptr<detail::environment> world;
  const std::shared_ptr<detail::node_parts> parts;
  std::unique_ptr<configured_system> system;
  const std::shared_ptr<root_specs> specs = std::make_shared<root_specs>();
  const ref root_name;

  std::atomic<std::uint64_t> root_incarnation{0};  // written under mutex
  std::mutex mutex;
  std::condition_variable change;
  caf::actor root;  // guarded by mutex, as all below
  std::shared_ptr<child_record> root_record;
  std::vector<instant> root_deaths;
  bool root_alive = false;
  bool stopping = false;
};

void node::impl::start_root() {
  std::unique_lock lock(mutex);
  root_incarnation = parts->registry.next_incarnation(root_name);
  root_record = std::make_shared<child_record>(root_name, root_incarnation, parts, nullptr);
  // Weakly: a root that does not end outlives the node.
  const auto weak = weak_from_this();
  root_record->on_forgotten = [kept = specs](const std::string& id) { kept->forget(id); };
  // Now, not when the root comes to it: what is added from now on is added by start().
  auto plan = std::make_shared<const detail::supervisor_plan>(
      detail::supervisor_plan{.options = options.root, .children = [copy = specs->copy()] { return copy; }});
  root = detail::spawn_supervisor(system->system, child_context(root_record), std::move(plan));
  root_alive = true;
  parts->registry.bind(root_name, root, root_incarnation);
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
  parts->registry.unbind(root_name, root_incarnation);
  if (!how.orderly) parts->events.record(event_kind::detected, "", root_incarnation, how.text);
  {
    std::lock_guard lock(mutex);
    root_record->fence();
    root = nullptr;
    const auto now = world->now();
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

void node::impl::stop_root() {
  std::unique_lock lock(mutex);
  stopping = true;
  const auto ended = [this] { return !root_alive; };
  detail::end_actor(root, caf::make_error(caf::exit_reason::user_shutdown));
  if (world->wait(lock, change, world->now() + bounded(options.stop_deadline), ended)) return;
  detail::end_actor(root, detail::kill_reason("the node's stop deadline passed"));
  world->wait(lock, change, world->now() + std::chrono::seconds(1), ended);
}

void node::impl::close() {
  stop_root();
  const auto left = parts->compute.close();
  // ~actor_system waits for ever for an actor that does not end: such a one keeps the system instead.
  auto& actors = system->system.registry();
  world->poll(world->now() + std::chrono::seconds(2), [&] { return actors.running() == 0; });
  const auto stuck = actors.running();
  world->close();
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
  if (dynamic_cast<supervisor_actor*>(caf::actor_cast<caf::abstract_actor*>(actor)) == nullptr)
    throw error(errc::invalid_input, "\"" + std::string(path) + "\" is no supervisor: it has no children");
  return actor;
}

std::string node::impl::ask(std::string_view supervisor, std::chrono::milliseconds deadline,
                            std::function<void(supervisor_actor&, const answer&)> what) {
  const auto box = std::make_shared<detail::answer_box>();
  caf::anon_send(supervisor_at(supervisor),
                 detail::supervisor_command{[to = std::make_shared<detail::answer_slip>(box, std::string(supervisor)),
                                             what = std::move(what)](supervisor_actor& s) {
                   try {
                     what(s, to);
                   } catch (const error& refused) {
                     to->refuse(refused);
                   }
                 }});
  auto said = box->wait(*world, world->now() + bounded(deadline));
  if (!said)
    throw error(errc::timeout, "the supervisor \"" + std::string(supervisor) + "\" did not answer within " +
                                   std::to_string(deadline.count()) + " ms");
  return *std::move(said);
}

template <class Value>
Value node::impl::inquire(std::string_view supervisor, std::function<Value(const supervisor_actor&)> what) {
  // Shared: the answer can come after the deadline.
  const auto value = std::make_shared<Value>();
  ask(supervisor, answer_deadline, [value, what = std::move(what)](supervisor_actor& s, const answer& to) {
    *value = what(s);
    to->say({});
  });
  return *value;
}

node::node(node_options options) : node(std::move(options), std::make_shared<detail::real_environment>()) {}

node::node(node_options options, std::shared_ptr<detail::environment> world)
    : impl_(std::make_shared<impl>(std::move(options), std::move(world))) {
  impl_->start_root();
}

node::~node() { impl_->close(); }

std::string node::start(child_spec spec, std::string_view under) {
  const auto deadline = bounded(spec.start_deadline) + answer_deadline;
  const bool keep = under.empty() && impl_->specs->add(spec);
  const auto id = spec.id;
  try {
    return impl_->ask(under, deadline, [spec = std::move(spec)](supervisor_actor& s, const answer& to) {
      s.add(std::make_shared<const child_spec>(spec), to);
    });
  } catch (const error&) {
    if (keep) impl_->specs->forget(id);
    throw;
  }
}

std::string node::start_dynamic(std::string_view under, std::string argument, std::string id) {
  return impl_->ask(under, bounded(child_spec{}.start_deadline) + answer_deadline,
                    [argument = std::move(argument), id = std::move(id)](supervisor_actor& s, const answer& to) {
                      s.add_dynamic(argument, id, to);
                    });
}

void node::stop(std::string_view path) {
  const auto [under, id] = split_path(path);
  impl_->ask(under, impl_->options.stop_deadline, [id](supervisor_actor& s, const answer& to) { s.stop(id, to); });
}

void node::restart(std::string_view path) {
  const auto [under, id] = split_path(path);
  impl_->ask(under, impl_->options.stop_deadline, [id](supervisor_actor& s, const answer& to) { s.restart(id, to); });
}

void node::remove(std::string_view path) {
  const auto [under, id] = split_path(path);
  impl_->ask(under, answer_deadline, [id](supervisor_actor& s, const answer& to) { s.remove(id, to); });
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
  const auto [under, id] = split_path(path);
  return impl_->ask(under, deadline, [id](supervisor_actor& s, const answer& to) { s.wait(id, to); });
}

std::vector<child_view> node::children(std::string_view path) const {
  return impl_->inquire<std::vector<child_view>>(path, [](const supervisor_actor& s) { return s.view(); });
}

child_count node::count(std::string_view path) const {
  return impl_->inquire<child_count>(path, [](const supervisor_actor& s) { return s.count(); });
}

child_spec node::spec(std::string_view path) const {
  const auto [under, id] = split_path(path);
  return impl_->inquire<child_spec>(under, [id](const supervisor_actor& s) { return s.spec(id); });
}

void node::impl::view_into(child_view& of) {
  of.children = inquire<std::vector<child_view>>(of.path, [](const supervisor_actor& s) { return s.view(); });
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

child_view node::tree(const planaria::store& where) { return detail::read_tree(where); }

ref node::find(std::string_view path) { return impl_->parts->registry.find(path); }
registry& node::registry() noexcept { return impl_->parts->registry; }
compute_pool& node::compute() noexcept { return impl_->parts->compute; }
event_log& node::events() noexcept { return impl_->parts->events; }
store* node::store() noexcept { return impl_->parts->store.get(); }
caf::actor_system& node::system() noexcept { return impl_->system->system; }

}  // namespace planaria
