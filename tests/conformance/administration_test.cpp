// Children added, stopped, started again, removed and asked for while their supervisor runs.
#include "stand.hpp"

namespace planaria::conformance {

PLANARIA_CONFORMANCE("add", "a child added later comes last in the order") {
  s.node().start(supervisor("s", {}, {s.worker("a")}));
  CHECK(s.node().start(s.worker("b"), "s") == "s/b");
  CHECK(s.ids("s") == texts{"a", "b"});
  s.node().stop("s");
  CHECK(s.notes("asked ") == texts{"s/b", "s/a"});
}

PLANARIA_CONFORMANCE("add-duplicate", "an id that a child has, running or stopped, is refused for another") {
  s.node().start(supervisor("s", {}, {s.worker("a")}));
  const auto again = [&] { return refused([&] { s.node().start(s.worker("a"), "s"); }); };
  CHECK(again().code == errc::already_exists);
  s.node().stop("s/a");
  CHECK(again().code == errc::already_exists);
  CHECK(again().says("s/a"));
  s.node().remove("s/a");
  CHECK(again().code == errc{});
}

PLANARIA_CONFORMANCE("add-fails", "a child that is added and cannot start is not kept, and its supervisor goes on") {
  s.node().start(supervisor("s", {.intensity = 0}, {s.worker("a")}));
  CHECK(refused([&] { s.node().start(s.worker("b", {.init = failing(1)}), "s"); }).text == "no luck");
  CHECK(s.ids("s") == texts{"a"});
  CHECK(s.life("s") == 1);
}

PLANARIA_CONFORMANCE("terminate", "a child that is stopped keeps its spec, and stopping it again changes nothing") {
  s.node().start(supervisor("s", {}, {s.worker("a"), s.worker("b")}));
  s.node().stop("s/a");
  s.node().stop("s/a");
  CHECK(s.status("s/a") == child_status::stopped);
  CHECK(s.notes("asked ") == texts{"s/a"});
  CHECK(refused([&] { s.node().stop("s/none"); }).code == errc::not_found);
}

PLANARIA_CONFORMANCE("terminate-temporary", "a temporary child that is stopped is forgotten") {
  s.node().start(supervisor("s", {}, {s.worker("a", restart::temporary)}));
  s.node().stop("s/a");
  CHECK(s.ids("s").empty());
}

PLANARIA_CONFORMANCE("terminate-in-pause", "a child that is stopped while it waits for its restart is not restarted") {
  s.node().start(supervisor("s", long_pauses(), {s.worker("a")}));
  s.die("s/a");
  CHECK(s.status("s/a") == child_status::restarting);
  s.node().stop("s/a");
  CHECK(s.status("s/a") == child_status::stopped);
}

PLANARIA_CONFORMANCE("restart-child",
                     "a stopped child is started again by request; one that runs, or is not known, is refused") {
  s.node().start(supervisor("s", {}, {s.worker("a")}));
  CHECK(refused([&] { s.node().restart("s/a"); }).code == errc::invalid_input);
  s.node().stop("s/a");
  s.node().restart("s/a");
  CHECK(s.life("s/a") == 2);
  CHECK(refused([&] { s.node().restart("s/none"); }).code == errc::not_found);
}

PLANARIA_CONFORMANCE("restart-child-in-pause", "a child that waits for its restart cannot be started by request") {
  s.node().start(supervisor("s", long_pauses(), {s.worker("a")}));
  s.die("s/a");
  CHECK(refused([&] { s.node().restart("s/a"); }).code == errc::invalid_input);
  CHECK(refused([&] { s.node().remove("s/a"); }).code == errc::invalid_input);
}

PLANARIA_CONFORMANCE("delete",
                     "a stopped child's spec is removed by request; one that runs, or is not known, is refused") {
  s.node().start(supervisor("s", {}, {s.worker("a"), s.worker("b")}));
  CHECK(refused([&] { s.node().remove("s/a"); }).code == errc::invalid_input);
  s.node().stop("s/a");
  s.node().remove("s/a");
  CHECK(s.ids("s") == texts{"b"});
  CHECK(refused([&] { s.node().remove("s/a"); }).code == errc::not_found);
}

PLANARIA_CONFORMANCE("which-children", "the children are listed in order, with their kind and what they do") {
  s.node().start(supervisor("s", {}, {s.worker("a"), supervisor("b", {}, std::vector<child_spec>{}), s.worker("c")}));
  s.node().stop("s/c");
  const auto all = s.node().children("s");
  REQUIRE(all.size() == 3);
  CHECK(all[0].path == "s/a");
  CHECK(all[0].status == child_status::running);
  CHECK(all[1].type == child_type::supervisor);
  CHECK(all[2].status == child_status::stopped);
}

PLANARIA_CONFORMANCE("count-children", "specs, those that live, supervisors and workers are counted") {
  s.node().start(supervisor("s", {},
                            {s.worker("a"), supervisor("b", {}, std::vector<child_spec>{}), s.worker("c"),
                             s.worker("d", restart::transient)}));
  s.node().stop("s/c");
  s.tell("s/d", finish_atom::value);
  REQUIRE(s.happens(event_kind::stopped, "s/d"));
  const auto all = s.node().count("s");
  CHECK(all.specs == 4);
  CHECK(all.active == 2);
  CHECK(all.supervisors == 1);
  CHECK(all.workers == 3);
}

PLANARIA_CONFORMANCE("count-restarting",
                     "a child that waits for its restart is listed so, and does not count as living") {
  s.node().start(supervisor("s", long_pauses(), {s.worker("a"), s.worker("b")}));
  s.die("s/a");
  CHECK(s.node().count("s").active == 1);
  CHECK(s.node().count("s").specs == 2);
  CHECK(s.status("s/a") == child_status::restarting);
}

PLANARIA_CONFORMANCE("get-childspec", "a child's spec can be had by its path; of one that is not known it is refused") {
  auto spec = s.worker("a", restart::transient);
  spec.shutdown = shutdown::timeout(123ms);
  s.node().start(supervisor("s", {}, {spec}));
  const auto kept = s.node().spec("s/a");
  CHECK(kept.id == "a");
  CHECK(kept.restart == restart::transient);
  CHECK(kept.shutdown.after == 123ms);
  CHECK(kept.type == child_type::worker);
  CHECK(s.node().spec("s").type == child_type::supervisor);
  CHECK(refused([&] { static_cast<void>(s.node().spec("s/none")); }).code == errc::not_found);
}

PLANARIA_CONFORMANCE("shutting-down", "requests to a supervisor that shuts down are refused") {
  s.node().start(supervisor("s", {}, {s.worker("a", {.asked = manners::linger})}));
  s.beside([&] { s.node().stop("s"); });
  REQUIRE(s.eventually([&] { return !s.notes("asked ").empty(); }));
  const auto code = refused([&] { s.node().start(s.worker("b"), "s"); }).code;
  CHECK((code == errc::stopped || code == errc::not_found));
  s.beside_is_done();
  CHECK(s.notes("init ") == texts{"s/a#1"});
}

PLANARIA_CONFORMANCE("no-supervisor", "a request for a supervisor that is not there, or is a worker, is refused") {
  s.node().start(s.worker("a"));
  CHECK(refused([&] { s.node().start(s.worker("b"), "none"); }).code == errc::not_found);
  CHECK(refused([&] { s.node().start(s.worker("b"), "a"); }).code == errc::invalid_input);
  CHECK(s.life("a") == 1);
}

}  // namespace planaria::conformance
