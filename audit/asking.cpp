#include "audit/asking.h"

#include "audit/address.h"
#include "audit/report.h"
#include "recording/places.h"

namespace lockswap::audit {
namespace {

// A separate function, so that begin_asking stays short.
[[gnu::noinline]] void locate(Unwinding::Call& call, std::uint64_t site) noexcept {
  const Busy busy;
  call = {site, recording::place_of_code(record().head, world().guard, site)};
}

// A thread makes most of its calls from few sites, so their places are cached.
recording::Place place_of_call(Unwinding& known, std::uint64_t site) noexcept {
  static_assert(Unwinding::kCalls == 1u << (64 - 58));
  Unwinding::Call& call = known.call[site * 0x9e3779b97f4a7c15u >> 58];
  if (call.site != site) [[unlikely]]
    locate(call, site);
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
  r.asked_mark.store(address_of(m.outer.mark), relaxed);
  r.remember_asked(question.address);
  inside.lock.store(question.address, release);  // pairs with Threads::question_of
  if ((question.mode & kForEver) != 0 && world().joins.is_any()) [[unlikely]]
    world().joins.look_at(m, question);
}

}  // namespace lockswap::audit
