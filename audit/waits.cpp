#include "audit/waits.h"

#include "audit/report.h"

namespace lockswap::audit {
namespace {

void say(const LockEntry& entry, const Hold& reader, std::uint64_t writer_site) noexcept {
  note(Finding::wait_while_reading, {.lock = pointer_to(entry.address),
                                     .site = reader.waits_at,
                                     .other_site = reader.site,
                                     .thread = reader.tid,
                                     .more_sites = {writer_site, 0}});
}

// Calls change(LockEntry&, Hold&) for each recorded read hold that the thread still has.
template <class Change>
void each_read_hold(const Me& m, Change change) noexcept {
  for (const HeldLock& held : m.held.locks) {
    if (!held.writes) visit_hold(held, m.serial, change);
  }
}

}  // namespace

void begin_wait(Me& m, std::uint64_t site) noexcept {
  each_read_hold(m, [site](const LockEntry& entry, Hold& h) {
    h.waits_at = site;
    if (entry.waiting_writers != 0) say(entry, h, entry.writer_site);
  });
}

void end_wait(Me& m) noexcept {
  each_read_hold(m, [](const LockEntry&, Hold& h) { h.waits_at = 0; });
}

void look_at_waiting_readers(LockEntry& entry, const Me& m, std::uint64_t site) noexcept {
  entry.writer_site = site;
  for (const Hold* h = entry.holds; h != nullptr; h = h->next) {
    if (h->waits_at != 0 && h->serial != m.serial) say(entry, *h, site);
  }
}

}  // namespace lockswap::audit
