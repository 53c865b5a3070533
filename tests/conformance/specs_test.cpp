// What is refused, by name, before anything starts.
#include "stand.hpp"

namespace planaria::conformance {
namespace {

// Refused with these words, and nothing has begun.
template <class Make>
void is_refused(stand& s, Make&& make, errc code, std::string_view says) {
  const auto why = refused([&] { s.node().start(make()); });
  CHECK(why.code == code);
  INFO(why.text);
  CHECK(why.says(says));
  CHECK(s.notes().empty());
  CHECK(s.ids("").empty());
}

}  // namespace

PLANARIA_CONFORMANCE("spec-duplicate", "two first children of one id are refused") {
  is_refused(
      s,
      [&] {
        return supervisor("s", {}, {s.worker("a"), s.worker("b"), s.worker("a")});
      },
      errc::already_exists, "supervisor \"s\": two children are called \"a\"");
}

PLANARIA_CONFORMANCE("spec-intensity", "a negative intensity is refused") {
  is_refused(
      s, [&] { return supervisor("s", {.intensity = static_cast<std::size_t>(-1)}, {s.worker("a")}); },
      errc::invalid_input, "its intensity must be between 0 and 1000000000, not -1");
}

PLANARIA_CONFORMANCE("spec-period", "a period of zero, or a negative one, is refused") {
  for (const auto period : {0ms, -5ms})
    is_refused(
        s, [&] { return supervisor("s", {.period = period}, {s.worker("a")}); }, errc::invalid_input, "period");
}

PLANARIA_CONFORMANCE("spec-cycle", "a tree that is below itself is refused") {
  struct knot {
    child_spec spec;
  };
  const auto tied = std::make_shared<knot>();
  const std::weak_ptr<knot> loose = tied;
  tied->spec = supervisor("s", {}, std::function<std::vector<child_spec>()>([loose] {
                            return std::vector<child_spec>{loose.lock()->spec};
                          }));
  is_refused(
      s, [&] { return tied->spec; }, errc::invalid_input, "it is below itself");
}

PLANARIA_CONFORMANCE("spec-start", "a spec without a start function is refused") {
  is_refused(
      s,
      [&] {
        auto spec = s.worker("a");
        spec.start = nullptr;
        return supervisor("s", {}, {s.worker("b"), spec});
      },
      errc::invalid_input, "child \"s/a\": it has no start function");
}

PLANARIA_CONFORMANCE("spec-significant", "a significant child is refused where auto_shutdown is never") {
  is_refused(
      s, [&] { return supervisor("s", {}, {significant(s.worker("a", restart::transient))}); }, errc::invalid_input,
      "child \"s/a\": it is significant, but its supervisor's auto_shutdown is never");
}

PLANARIA_CONFORMANCE("spec-significant-permanent", "a significant child that is permanent is refused") {
  is_refused(
      s,
      [&] {
        return supervisor("s", {.auto_shutdown = auto_shutdown::any_significant},
                          {significant(s.worker("a", restart::permanent))});
      },
      errc::invalid_input, "a permanent child never ends, so it cannot be significant");
}

PLANARIA_CONFORMANCE("spec-name", "an id that is empty, or has a separator or other signs, is refused") {
  for (const auto* id : {"", "a/b", "/", "a b", "\xc3\xa4", "a:b"})
    is_refused(
        s, [&] { return supervisor("s", {}, {s.worker(id)}); }, errc::invalid_input,
        "an id is one or more letters, digits, '-', '_' and '.'");
}

PLANARIA_CONFORMANCE("spec-durations", "deadlines and timeouts that no clock can keep are refused") {
  const auto with = [&](auto change) {
    return [&s, change] {
      auto spec = s.worker("a");
      change(spec);
      return supervisor("s", {}, {spec});
    };
  };
  is_refused(s, with([](child_spec& spec) { spec.shutdown = shutdown::timeout(-1ms); }), errc::invalid_input,
             "child \"s/a\": its shutdown timeout");
  is_refused(s, with([](child_spec& spec) { spec.start_deadline = 0ms; }), errc::invalid_input,
             "child \"s/a\": its start deadline");
  is_refused(s, with([](child_spec& spec) { spec.progress_deadline = -1ms; }), errc::invalid_input,
             "child \"s/a\": its progress deadline");
}

PLANARIA_CONFORMANCE("spec-backoff", "pauses that do not grow, or are no numbers, are refused") {
  const auto with = [&](auto change) {
    return [&s, change] {
      supervisor_options options;
      change(options.backoff);
      return supervisor("s", options, {s.worker("a")});
    };
  };
  is_refused(s, with([](backoff& b) { b.factor = 0.5; }), errc::invalid_input, "factor");
  is_refused(s, with([](backoff& b) { b.jitter = 1.5; }), errc::invalid_input, "jitter");
  is_refused(s, with([](backoff& b) { b.step = -1ms; }), errc::invalid_input, "step");
}

PLANARIA_CONFORMANCE("spec-deep", "one bad spec deep in a tree refuses the whole of it, by its path") {
  is_refused(
      s,
      [&] {
        return supervisor("s", {}, {s.worker("a"), supervisor("x", {}, {supervisor("y", {}, {s.worker("!")})})});
      },
      errc::invalid_input, "child \"s/x/y/!\"");
}

PLANARIA_CONFORMANCE("spec-added", "a bad spec that is added later is refused, and its supervisor goes on") {
  s.node().start(supervisor("s", {}, {s.worker("a")}));
  CHECK(refused([&] { s.node().start(s.worker("a/b"), "s"); }).code == errc::invalid_input);
  CHECK(refused([&] { s.node().start(significant(s.worker("b", restart::transient)), "s"); }).code ==
        errc::invalid_input);
  CHECK(s.ids("s") == texts{"a"});
}

}  // namespace planaria::conformance
