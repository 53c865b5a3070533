// What a supervisor does by request, and what it says of its children.
#include <planaria/runtime/detail/supervisor_actor.hpp>
#include <planaria/storage/error.hpp>

namespace planaria::detail {
namespace {

child_status status_of(child_state state) {
  switch (state) {
    case child_state::stopped: return child_status::stopped;
    case child_state::waiting: return child_status::restarting;
    case child_state::starting: return child_status::starting;
    case child_state::running: return child_status::running;
    case child_state::stopping: return child_status::stopping;
  }
  return child_status::stopped;
}

}  // namespace

void supervisor_actor::add(std::shared_ptr<const child_spec> spec, const answer& to) {
  if (plan_->dynamic)
    throw error(errc::invalid_input, "the children of \"" + context_.path() + "\" are dynamic: use start_dynamic()");
  add_entry(plan_child(std::move(spec), plan_->options), false, to);
}

void supervisor_actor::add_entry(planned_child what, bool numbered, const answer& to) {
  const auto id = what.spec->id;
  auto rules = child_rules::of(*what.spec);
  if (find(id) != nullptr) throw error(errc::already_exists, "there is a child \"" + path_of(id) + "\" already");
  adopt(std::move(what), numbered).asked().starting.push_back(to);
  try {
    core_.add(std::move(rules), now());
  } catch (const error&) {
    const auto held = std::move(entries_.find(id)->second);
    entries_.erase(id);
    throw;
  }
}

void supervisor_actor::add_dynamic(const std::string& argument, std::string id, const answer& to) {
  if (!plan_->dynamic)
    throw error(errc::invalid_input, "the children of \"" + context_.path() + "\" are not dynamic: use start()");
  const bool numbered = id.empty();
  const auto number = ++numbered_;
  if (numbered) id = std::to_string(context_.incarnation()) + "." + std::to_string(number);
  auto what = make_dynamic(argument, id);
  if (find(id) != nullptr) throw error(errc::already_exists, "there is a child \"" + path_of(id) + "\" already");
  if (plan_->keep == dynamic_children::kept) records_.keep_dynamic(id, context_.incarnation() << 32 | number, argument);
  try {
    add_entry(std::move(what), numbered, to);
  } catch (const error&) {
    if (plan_->keep == dynamic_children::kept) records_.forget_dynamic(id);
    throw;
  }
}

void supervisor_actor::stop(const std::string& id, const answer& to) {
  if (auto* e = find(id)) {
    // The core's answer can come before it returns.
    e->asked().stopping.push_back(to);
  }
  core_.stop(id, now());
}

void supervisor_actor::restart(const std::string& id, const answer& to) {
  core_.restart(id, now());
  find(id)->asked().starting.push_back(to);
}

void supervisor_actor::remove(const std::string& id, const answer& to) {
  core_.remove(id);
  to->say(path_of(id));
}

void supervisor_actor::wait(const std::string& id, const answer& to) {
  const auto* c = core_.find(id);
  if (c == nullptr) {
    const auto said = last_words_.find(id);
    if (said == last_words_.end()) throw error(errc::not_found, "there is no child \"" + path_of(id) + "\"");
    to->say(said->second);
  } else if (c->state == child_state::stopped) {
    to->say(find(id)->last_words);
  } else {
    find(id)->asked().waiting.push_back(to);
  }
}

child_view supervisor_actor::view_of(const entry& e) const {
  const auto* c = core_.find(e.id());
  return {.path = e.name.path(),
          .type = e.what.spec->type,
          .status = c == nullptr ? child_status::stopped : status_of(c->state),
          .incarnation = e.incarnation,
          .restarts = c == nullptr ? 0 : c->restarts};
}

std::vector<child_view> supervisor_actor::view() const {
  std::vector<child_view> all;
  all.reserve(entries_.size());
  for (const auto& c : core_.children()) all.push_back(view_of(*entries_.at(c.rules.id)));
  return all;
}

child_count supervisor_actor::count() const {
  child_count all{.specs = entries_.size()};
  for (const auto& [id, e] : entries_) {
    if (e->handle) ++all.active;
    ++(e->what.spec->type == child_type::supervisor ? all.supervisors : all.workers);
  }
  return all;
}

child_spec supervisor_actor::spec(const std::string& id) const {
  const auto found = entries_.find(id);
  if (found == entries_.end()) throw error(errc::not_found, "there is no child \"" + path_of(id) + "\"");
  return *found->second->what.spec;
}

}  // namespace planaria::detail
