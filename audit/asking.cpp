#include "audit/asking.h"

#include "audit/report.h"
#include "recording/places.h"

namespace lockswap::audit {
namespace {

// Of few calls each thread has many.
recording::Place place_of_call(Unwinding& known, std::uint64_t site) noexcept {
  static_assert(Unwinding::kCalls == 1u << (64 - 58));
  Unwinding::Call& call = known.call[site * 0x9e3779b97f4a7c15u >> 58];
  if (call.site != site) {
    const Busy busy;
    call = {site, recording::place_of_code(record().head, world().guard, site)};
  }
  return call.place;
}

}  // namespace

void begin_asking(Me& m, const Question& question) noexcept {
  ThreadRecord& r = *m.record;
  Inside& inside = *r.inside;
  if (r.unwinding != nullptr)
    inside.place.store(place_of_call(*r.unwinding, question.site), relaxed);
  inside.mode.store(question.mode, relaxed);
  r.asked_site.store(question.site, relaxed);
  r.asked_mark.store(reinterpret_cast<std::uintptr_t>(m.outer.mark), relaxed);
  r.remember_asked(question.address);
  inside.lock.store(question.address, release);  // pairs with Threads::question_of
  if (world().joins.is_any() && (question.mode & kForEver) != 0) [[unlikely]]
    world().joins.look_at(m, question);
}

}  // namespace lockswap::audit
