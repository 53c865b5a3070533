// Children that are all made by one function.
#include "stand.hpp"

#include <algorithm>

namespace planaria::conformance {

PLANARIA_CONFORMANCE("dynamic-argument",
                     "a dynamic child is made of the argument it was added with, in each of its lives") {
  s.node().start(dynamic_supervisor("s", {}, [&s](const std::string& argument) {
    return s.worker("any", {.init = [&s, argument](const child_context&) { s.note("argument " + argument); }});
  }));
  s.node().start_dynamic("s", "left", "l");
  s.node().start_dynamic("s", "right", "r");
  s.crash("s/l");
  CHECK(s.notes("argument ") == texts{"left", "right", "left"});
}

PLANARIA_CONFORMANCE("dynamic-ids", "a dynamic child without an id gets one that is never used again") {
  s.node().start(dynamic_supervisor("s", {}, always(s.worker("any", restart::temporary))));
  texts paths;
  for (int i = 0; i < 10; ++i) {
    paths.push_back(s.node().start_dynamic("s", ""));
    s.node().stop(paths.back());
  }
  std::sort(paths.begin(), paths.end());
  CHECK(std::unique(paths.begin(), paths.end()) == paths.end());
}

PLANARIA_CONFORMANCE("dynamic-duplicate", "an id that a dynamic child has is refused for another") {
  s.node().start(dynamic_supervisor("s", {}, always(s.worker("any"))));
  s.node().start_dynamic("s", "", "a");
  CHECK(refused([&] { s.node().start_dynamic("s", "", "a"); }).code == errc::already_exists);
  CHECK(s.life("s/a") == 1);
}

PLANARIA_CONFORMANCE("dynamic-stop",
                     "a dynamic child that is stopped, or has ended for good, is forgotten with its spec") {
  s.node().start(dynamic_supervisor("s", {}, always(s.worker("any", restart::transient))));
  s.node().start_dynamic("s", "", "a");
  s.node().start_dynamic("s", "", "b");
  s.node().stop("s/a");
  s.tell("s/b", finish_atom::value);
  REQUIRE(s.happens(event_kind::stopped, "s/b"));
  CHECK(s.ids("s").empty());
  CHECK(refused([&] { s.node().restart("s/a"); }).code == errc::not_found);
}

PLANARIA_CONFORMANCE("dynamic-fails", "a dynamic child that cannot start is refused with the reason, and not kept") {
  s.node().start(dynamic_supervisor("s", {.intensity = 0}, always(s.worker("any", {.init = failing(1)}))));
  CHECK(refused([&] { s.node().start_dynamic("s", "", "a"); }).text == "no luck");
  CHECK(s.ids("s").empty());
  CHECK(s.life("s") == 1);
}

PLANARIA_CONFORMANCE("dynamic-make-fails", "a function that cannot make the child refuses it with its text") {
  s.node().start(dynamic_supervisor("s", {}, [&s](const std::string& argument) {
    if (argument == "bad") throw std::runtime_error("no such thing as bad");
    return s.worker("any");
  }));
  CHECK(refused([&] { s.node().start_dynamic("s", "bad"); }).says("no such thing as bad"));
  CHECK(s.node().start_dynamic("s", "good", "g") == "s/g");
}

PLANARIA_CONFORMANCE("dynamic-kind", "start() is refused by a dynamic supervisor, and start_dynamic() by any other") {
  s.node().start(dynamic_supervisor("d", {}, always(s.worker("any"))));
  s.node().start(supervisor("s", {}, {s.worker("a")}));
  CHECK(refused([&] { s.node().start(s.worker("x"), "d"); }).says("use start_dynamic()"));
  CHECK(refused([&] { s.node().start_dynamic("s", ""); }).says("use start()"));
}

PLANARIA_CONFORMANCE("dynamic-many", "many temporary dynamic children leave nothing behind") {
  s.node().start(dynamic_supervisor("s", {.intensity = 0}, always(s.worker("any", restart::temporary))));
  texts paths;
  for (int i = 0; i < 200; ++i) paths.push_back(s.node().start_dynamic("s", ""));
  CHECK(s.node().count("s").active == 200);
  for (const auto& path : paths) s.tell(path, crash_atom::value);
  CHECK(s.eventually([&] { return s.node().count("s").specs == 0; }));
  CHECK(s.life("s") == 1);
}

PLANARIA_CONFORMANCE("dynamic-forgotten", "a dynamic supervisor that is restarted begins without children") {
  s.node().start(dynamic_supervisor("s", {}, always(s.worker("any"))));
  s.node().start_dynamic("s", "", "a");
  s.node().kill("s");
  REQUIRE(s.lives("s", 2));
  CHECK(s.ids("s").empty());
  CHECK(s.eventually([&] { return s.life("s/a") == 0; }));
}

PLANARIA_CONFORMANCE("dynamic-kept",
                     "one that keeps its children starts them again with it, in the order they were added") {
  s.node().start(dynamic_supervisor("s", {}, always(s.worker("any")), dynamic_children::kept));
  for (const auto* id : {"b", "a"}) s.node().start_dynamic("s", "", id);
  s.node().kill("s");
  REQUIRE(s.lives("s", 2));
  CHECK(s.lives("s/b", 2));
  CHECK(s.lives("s/a", 2));
  CHECK(s.ids("s") == texts{"b", "a"});
}

}  // namespace planaria::conformance
