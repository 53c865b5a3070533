#include <planaria/runtime/compute_child.hpp>
#include <planaria/runtime/compute_pool.hpp>
#include <planaria/runtime/detail/child_record.hpp>
#include <planaria/runtime/detail/down_reason.hpp>

#include <caf/unit.hpp>

#include <atomic>
#include <chrono>
#include <memory>

namespace planaria {
namespace {

// How long the body of a child that was killed or stopped may take to notice before it counts as hung.
constexpr std::chrono::seconds notice{10};

void give_up(const child_context& context, compute_handle& slot) {
  slot.abandon(context.record()->hung ? std::chrono::milliseconds{0} : notice);
  if (context.record()->hung && slot.abandoned())
    context.events().record(event_kind::slot_abandoned, context.path(), context.incarnation(),
                            "the hung body still holds its slot");
}

void begin(const child_context& context, const std::function<void(child_context)>& body,
           const std::function<void(const child_context&)>& wake) {
  const auto returned = std::make_shared<std::atomic<bool>>(false);
  auto slot = context.compute().run(context.path(), [body, context, returned] {
    const auto failed = detail::run_guarded([&] { body(context); });
    *returned = true;
    if (failed)
      context.record()->end(failed);
    else
      context.finish();
  });
  context.on_fenced([context, wake, slot, returned]() mutable {
    wake(context);
    if (!*returned) give_up(context, slot);
  });
}

}  // namespace

child_spec compute_child(std::string id, std::function<void(child_context)> body,
                         std::function<void(const child_context&)> wake) {
  return child(std::move(id),
               [body = std::move(body), wake = std::move(wake)](caf::event_based_actor* self,
                                                                child_context context) -> caf::behavior {
                 // The body begins once the child counts as started, so that how it ends is never mistaken for a failed
                 // start.
                 context.record()->on_started = [body, wake](const child_context& me) { begin(me, body, wake); };
                 // The shell's end, however it came, is the body's.
                 self->attach_functor([record = context.record()] { record->fence(); });
                 return {[](caf::unit_t) {}};
               });
}

}  // namespace planaria
