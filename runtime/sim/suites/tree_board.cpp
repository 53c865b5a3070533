#include <planaria/runtime/detail/child_record.hpp>
#include <planaria/runtime/detail/tree_records.hpp>
#include <planaria/runtime/node.hpp>
#include <planaria/runtime/sim/suites/tree_board.hpp>

#include <algorithm>
#include <iterator>
#include <limits>

namespace planaria::sim {
namespace {

std::string named(const child_context& me) { return me.path() + "#" + std::to_string(me.incarnation()); }

std::string parent_of(const std::string& path) { return detail::split_path(path).first; }

bool is_below(const std::string& path, const std::string& top) {
  return path.size() > top.size() && path.compare(0, top.size(), top) == 0 && path[top.size()] == '/';
}

}  // namespace

void tree_board::fail(const std::string& property, const std::string& what) const {
  world_.fail(property + ": " + what);
}

tree_board::life* tree_board::find(const std::string& path, std::uint64_t incarnation) {
  const auto found = lives_.find({path, incarnation});
  return found == lives_.end() ? nullptr : &found->second;
}

tree_board::life& tree_board::life_of(const child_context& me) {
  const auto [where, fresh] = lives_.try_emplace({me.path(), me.incarnation()}, life{.me = me, .supervisor = {}});
  if (fresh) fail("one-life", named(me) + " acts, but was never spawned");
  return where->second;
}

void tree_board::spawned(const child_context& me) {
  const auto supervisor = parent_of(me.path());
  const auto above = me.record()->supervisor_incarnation();
  auto& in = reigns_[{supervisor, above}];
  const auto [where, fresh] =
      lives_.try_emplace({me.path(), me.incarnation()}, life{.me = me, .supervisor = supervisor, .above = above});
  if (!fresh) fail("one-life", named(me) + " is spawned twice");
  auto& one = where->second;
  one.first = in.spawned.insert(me.path()).second;
  if (in.over_at && *in.over_at < world_.turns())
    fail("intensity", named(me) + " is started though its supervisor must have given up");
  if (one.first) check_start_order(one, in);
  acting_[me.path()].push_back(&one);
}

// A sibling that ignores its start, or whose start failed by request, has been spawned before all the same.
void tree_board::check_start_order(const life& one, const reign& in) {
  const auto& path = one.me.path();
  const auto shape = shape_.supervisors.find(one.supervisor);
  if (shape == shape_.supervisors.end() || touched_.contains(path)) return;
  for (const auto& id : shape->second.children) {
    const auto sibling = one.supervisor + "/" + id;
    if (sibling == path) return;
    if (!shape_.workers.contains(sibling) || touched_.contains(sibling)) continue;
    if (!in.spawned.contains(sibling)) fail("start-order", named(one.me) + " is started before " + sibling);
  }
}

void tree_board::ended(const child_context& me) {
  auto& one = life_of(me);
  one.ended = true;
  std::erase(acting_[me.path()], &one);
}

bool tree_board::stands_later(const std::string& path, const std::string& than) const {
  const auto shape = shape_.supervisors.find(parent_of(than));
  if (shape == shape_.supervisors.end()) return false;
  const auto& ids = shape->second.children;
  const auto mine = std::find(ids.begin(), ids.end(), detail::split_path(than).second);
  return std::any_of(mine, ids.end(), [&](const std::string& id) {
    const auto sibling = shape->first + "/" + id;
    return sibling != than && !touched_.contains(sibling) && (path == sibling || is_below(path, sibling));
  });
}

void tree_board::asked_to_stop(const child_context& me) {
  const auto& one = life_of(me);
  // A supervisor that was killed in the middle of it has a successor, whose children are no concern of its own.
  if (touched_.contains(me.path()) || me.fenced()) return;
  for (const auto& [path, lives] : acting_) {
    const bool acts = std::any_of(lives.begin(), lives.end(), [](const life* other) { return other->acts(); });
    if (acts && stands_later(path, one.me.path()))
      fail("stop-order", named(me) + " is asked to stop before " + path + " is down");
  }
}

void tree_board::wrote(const child_context& me) {
  auto& last = writers_[me.path()];
  if (me.incarnation() < last) fail("no-zombie", named(me) + " has written after incarnation " + std::to_string(last));
  last = me.incarnation();
}

void tree_board::requests(const std::string& path) {
  ++requested_[path];
  touched_.insert(path);
}

void tree_board::answered(const std::string& path) { --requested_[path]; }

void tree_board::saw(const event& one) {
  if (one.kind == event_kind::escalated) check_escalation(one);
  const bool death =
      one.kind == event_kind::detected || one.kind == event_kind::start_failed || one.kind == event_kind::stopped;
  if (!death) return;
  deaths_[parent_of(one.path)].push_back(detail::instant(std::chrono::nanoseconds(one.ticks)));
  const auto* whose = find(one.path, one.incarnation);
  if (whose == nullptr) return;
  const bool earlier = one.reason == "init missed its deadline" || one.reason == "stopped before it had started" ||
                       one.reason == "killed";
  if (one.kind == event_kind::start_failed && !whose->thrown.empty() && one.reason != whose->thrown && !earlier)
    fail("reason",
         named(whose->me) + " threw \"" + whose->thrown + "\", but its start failed with \"" + one.reason + "\"");
  check_restarts(one, *whose);
}

// Counts what is sure to be a restart: a failure of one that is restarted by itself, and alone.
void tree_board::check_restarts(const event& one, const life& whose) {
  const auto above = shape_.supervisors.find(whose.supervisor);
  const auto worker = shape_.workers.find(one.path);
  if (above == shape_.supervisors.end() || worker == shape_.workers.end()) return;
  const auto& options = above->second.options;
  if (options.strategy != strategy::one_for_one || worker->second.restart == restart::temporary) return;
  if (one.kind == event_kind::stopped || touched_.contains(one.path)) return;
  if (one.kind == event_kind::start_failed && whose.first) return;
  auto& in = reigns_[{whose.supervisor, whose.above}];
  const detail::instant now{std::chrono::nanoseconds(one.ticks)};
  in.restarts.push_back(now);
  while (now - in.restarts.front() > options.period) in.restarts.pop_front();
  if (in.restarts.size() > options.intensity && !in.over_at) in.over_at = world_.turns();
}

void tree_board::check_escalation(const event& one) {
  const auto shape = shape_.supervisors.find(one.path);
  if (shape == shape_.supervisors.end()) return;
  const auto& options = shape->second.options;
  const detail::instant now{std::chrono::nanoseconds(one.ticks)};
  // It gave up at the last death, and ends when its children are down.
  const auto& all = deaths_[one.path];
  const auto most = static_cast<std::ptrdiff_t>(options.intensity);
  const auto begin = all.begin();
  bool enough = false;
  for (auto last = begin; last != all.end() && !enough; ++last)
    enough = last - begin >= most && *last - *(last - most) <= options.period && *last <= now;
  if (!enough)
    fail("intensity", one.path + " gave up, though there were never more than " + std::to_string(most) +
                          " deaths within its period");
}

void tree_board::check(node& where) {
  for (auto& [path, lives] : acting_) {
    std::erase_if(lives, [](const life* one) { return one->me.fenced(); });
    if (lives.size() > 1)
      fail("one-life", named(lives[0]->me) + " and " + named(lives[1]->me) + " live, and neither is fenced");
    const auto incarnation = where.find(path).incarnation();
    if (incarnation == 0) continue;
    const auto* one = find(path, incarnation);
    if (one == nullptr || !one->inited)
      fail("named", "the registry names " + path + "#" + std::to_string(incarnation) + " before its init succeeded");
  }
}

bool tree_board::may_be_missing(const std::string& path) const {
  const auto worker = shape_.workers.find(path);
  if (worker == shape_.workers.end() || worker->second.restart != restart::permanent) return true;
  if (touched_.contains(path)) return true;
  const auto after = lives_.upper_bound({path, std::numeric_limits<std::uint64_t>::max()});
  return after != lives_.begin() && std::prev(after)->first.first == path && std::prev(after)->second.ignored;
}

// Of a supervisor that runs: notes the workers that run below it, and what is wrong with the others.
void tree_board::compare(const child_view& top, std::set<std::pair<std::string, std::uint64_t>>& running,
                         std::string& wrong) const {
  std::set<std::string> here;
  for (const auto& child : top.children) {
    if (child.status != child_status::running && child.status != child_status::stopped)
      wrong = child.path + " is " + std::string(to_string(child.status));
    if (child.status != child_status::running) continue;
    here.insert(child.path);
    if (child.type == child_type::supervisor)
      compare(child, running, wrong);
    else
      running.emplace(child.path, child.incarnation);
  }
  const auto shape = shape_.supervisors.find(top.path);
  if (shape == shape_.supervisors.end()) return;
  for (const auto& id : shape->second.children) {
    const auto path = top.path + "/" + id;
    if (!here.contains(path) && !may_be_missing(path)) wrong = path + " is permanent, but does not run";
  }
}

std::optional<std::string> tree_board::incomplete(const child_view& tree) const {
  std::string wrong;
  std::set<std::pair<std::string, std::uint64_t>> running;
  compare(tree, running, wrong);
  for (const auto& [path, incarnation] : running) {
    const auto found = lives_.find({path, incarnation});
    if (found == lives_.end() || !found->second.acts() || !found->second.inited)
      wrong = path + "#" + std::to_string(incarnation) + " runs by the tree, but does not live";
  }
  for (const auto& [key, one] : lives_)
    if (one.acts() && !running.contains(key)) wrong = named(one.me) + " lives, but the tree does not know of it";
  if (wrong.empty()) return std::nullopt;
  return "complete: " + wrong;
}

std::size_t tree_board::living() const {
  return static_cast<std::size_t>(std::count_if(
      lives_.begin(), lives_.end(), [](const auto& one) { return !one.second.ended && one.second.inited; }));
}

}  // namespace planaria::sim
