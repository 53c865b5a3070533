// A supervision tree of every kind of child: from a function, statically typed or not, from a class, on a thread of its
// own, and a supervisor below the supervisor. One is killed on purpose; the tree is printed before and after.
#include <planaria/runtime/compute_child.hpp>
#include <planaria/runtime/node.hpp>
#include <planaria/runtime/registry.hpp>

#include <caf/all.hpp>

#include <cstdlib>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

using take_atom = caf::atom_constant<caf::atom("take")>;
using prices_actor = caf::typed_actor<caf::replies_to<std::string>::with<int>>;

prices_actor::behavior_type prices(prices_actor::pointer, const planaria::child_context&) {
  return {[](const std::string& what) { return what == "apple" ? 30 : 90; }};
}

caf::behavior courier(caf::event_based_actor*, const planaria::child_context& me) {
  return {[me](const std::string& what) { return what + " by " + me.path(); }};
}

class stock : public caf::event_based_actor {
 public:
  stock(caf::actor_config& config, const planaria::child_context&, int pieces)
      : caf::event_based_actor(config), pieces_(pieces) {}

  caf::behavior make_behavior() override {
    return {[this](take_atom) { return --pieces_; }};
  }

 private:
  int pieces_;
};

void count_shelves(const planaria::child_context& me) {
  while (me.pause(10ms)) me.progress();
}

// [tree]
planaria::child_spec shop() {
  using namespace planaria;
  auto audit = compute_child("audit", count_shelves, [](const child_context&) {});  // a body on a thread of its own
  audit.progress_deadline = 5s;                                                     // silent for longer: hung, replaced
  auto guest = child("guest", courier);  // a function that returns a CAF behavior
  guest.restart = restart::temporary;    // not started again, whatever it ends with

  return supervisor("shop", {.strategy = strategy::one_for_one, .intensity = 3, .period = 10s},
                    {
                        child<prices_actor>("prices", prices),  // a function again, with a statically typed interface
                        child<stock>("stock", 100),             // a class: 100 goes to each incarnation's constructor
                        audit,
                        guest,
                        supervisor("delivery", {.strategy = strategy::one_for_all},  // when one falls, both start anew
                                   {child("van", courier), child("bicycle", courier)}),
                    });
}
// [tree]

namespace {

template <class Handle, class... Parts>
int ask(planaria::node& node, const Handle& whom, const Parts&... parts) {
  caf::scoped_actor self(node.system());
  int answer = -1;
  self->request(whom, 10s, parts...).receive([&](int value) { answer = value; }, [](const caf::error&) {});
  return answer;
}

}  // namespace

int main() {
  planaria::node node;
  node.start(shop());
  std::cout << planaria::to_text(node.tree());

  const auto price = ask(node, node.find("shop/prices").as<prices_actor>(), std::string("apple"));
  const auto left = ask(node, node.find("shop/stock").current(), take_atom::value);
  std::cout << "an apple costs " << price << ", " << left << " are left\n";

  const auto van = node.find("shop/delivery/van"), bicycle = node.find("shop/delivery/bicycle");
  const auto before = bicycle.current();
  node.kill(van.path());
  static_cast<void>(bicycle.wait(10s, before));  // the last of its group to start
  std::cout << "\nafter the van's death\n" << planaria::to_text(node.tree());
  return price == 30 && left == 99 ? EXIT_SUCCESS : EXIT_FAILURE;
}
