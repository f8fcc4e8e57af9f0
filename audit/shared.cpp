#include "audit/shared.h"

#include <cerrno>
#include <cstring>

#include "audit/bytes.h"
#include "audit/guard.h"
#include "audit/report.h"
#include "audit/stacks.h"
#include "audit/world.h"
#include "platform/syscall.h"
#include "platform/text.h"
#include "recording/mappings.h"

namespace lockswap::audit {
namespace {

constexpr std::uint64_t kPage = 4096;  // no mapping begins or ends within one

// Returns false if nothing is mapped there, or /proc is missing.
bool find_mapping(std::uint64_t address, recording::Mapping& into) noexcept {
  recording::Mappings mappings;
  while (mappings.next(into)) {
    if (into.begin <= address && address < into.end) return true;
  }
  return false;
}

bool is_gone(std::uint32_t thread) noexcept {
  return thread != 0 && is_thread_id(thread) &&
         raw_syscall(SYS_kill, static_cast<long>(thread), 0) == -ESRCH;
}

bool find_shared(std::uint64_t address, recording::Mapping& into) noexcept {
  SharedSeen& seen = world().shared;
  const std::uint64_t page = address / kPage;
  if (seen.private_pages.has(page) || !find_mapping(address, into)) return false;
  if (!into.is_shared) seen.private_pages.put(page);
  return into.is_shared;
}

void keep(const Me& m, const Sight& sight, const recording::Mapping& mapping) noexcept {
  const std::uint32_t stack = take_stack(m, sight.site);
  const Section section(world().report);
  Record& r = record();
  const std::uint32_t n = r.shared_locks.load(relaxed);  // relaxed: under the guard
  if (n >= kSharedLocks) {
    r.shared_locks_cut.store(1, relaxed);  // relaxed: a flag, no more
    return;
  }
  SharedLock& into = r.shared_lock[n];
  into = {.address = sight.address,
          .device = mapping.device,
          .inode = mapping.inode,
          .offset = sight.address - mapping.begin + mapping.offset,
          .kind = sight.kind,
          .pid = world().pid,
          .thread = m.tid,
          .stack = stack_in_record(stack),
          .begins = sight.begins,
          .is_used = sight.is_used,
          .not_glibcs = sight.not_glibcs,
          .gone_holder = is_gone(sight.holder) ? sight.holder : 0,
          .file = {}};
  Text(into.file, sizeof into.file) << static_cast<const char*>(mapping.path);
  r.shared_locks.store(n + 1, release);  // pairs with the reader
}

}  // namespace

constinit SharedRanges shared_ranges{};

void maps_shared_memory(std::uint64_t begin, std::uint64_t bytes) noexcept {
  SharedSeen& seen = world().shared;
  const std::uint64_t end = begin + bytes;
  seen.locks.remove(begin, end);
  seen.private_pages.remove(begin / kPage, (end + kPage - 1) / kPage);
  shared_ranges.add(begin, end);
}

Sight sight_of(const pthread_mutex_t* m, std::uint64_t site) noexcept {
  const MutexBytes bytes(m);
  return {.address = address_of(m),
          .site = site,
          .kind = ObjectKind::mutex,
          .is_process_shared = bytes.is_process_shared(),
          .is_used = !bytes.are_fresh(),
          .not_glibcs = bytes.are_not_glibcs(),
          .holder = static_cast<std::uint32_t>(bytes.owner)};
}

Sight sight_of(const pthread_rwlock_t* l, std::uint64_t site) noexcept {
  return {.address = address_of(l),
          .site = site,
          .kind = ObjectKind::rwlock,
          .is_process_shared = is_process_shared(l),
          .is_used = !looks_fresh(l),
          .not_glibcs = is_not_glibcs(l),
          .holder = static_cast<std::uint32_t>(l->__data.__cur_writer)};
}

Sight sight_of(const pthread_cond_t* c, std::uint64_t site, bool is_process_shared) noexcept {
  std::uint64_t counters[3];  // in every layout they come first, and are 0 until the first use
  std::memcpy(counters, c, sizeof counters);
  return {.address = address_of(c),
          .site = site,
          .kind = ObjectKind::cond,
          .is_process_shared = is_process_shared,
          .is_used = (counters[0] | counters[1] | counters[2]) != 0};
}

bool is_in_shared_memory(std::uint64_t address) noexcept {
  recording::Mapping mapping;
  return shared_ranges.contains(address) && find_shared(address, mapping);
}

bool see_shared(const Me& m, const Sight& sight) noexcept {
  if (sight.is_process_shared) return false;
  SharedSeen& seen = world().shared;
  if (seen.locks.has(sight.address) || !seen.locks.has_room_for(sight.address)) return true;
  const Busy busy;
  recording::Mapping mapping;
  if (!find_shared(sight.address, mapping)) return false;
  if (seen.locks.add(sight.address)) keep(m, sight, mapping);
  return true;
}

}  // namespace lockswap::audit
