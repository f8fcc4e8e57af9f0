// Locks that lie in memory which other processes may share, although no attribute says so
// (PTHREAD_PROCESS_SHARED). The record gets each of them with the place in its file, by which the
// report recognises the lock in the records of other processes.
#pragma once

#include <cstdint>
#include <pthread.h>

#include "audit/address.h"
#include "audit/me.h"
#include "audit/record.h"
#include "audit/shared_ranges.h"
#include "audit/word_set.h"

namespace lockswap::audit {

// What this process knows about such memory.
struct SharedSeen {
  WordSet<7> locks;           // those in the record; more than it has room for
  WordSet<11> private_pages;  // numbers of pages that turned out to be in a private mapping
};

// Not in the World, because a forked child inherits the mappings.
extern SharedRanges shared_ranges;

// Called when the program has mapped shared memory.
void maps_shared_memory(std::uint64_t begin, std::uint64_t bytes) noexcept;

// What a call finds, before it changes the object.
struct Sight {
  std::uint64_t address;
  std::uint64_t site;
  ObjectKind kind;
  bool is_process_shared;
  bool begins = false;       // the call initialises the object
  bool is_used = false;      // it isn't as an initialiser leaves it
  bool not_glibcs = false;   // glibc leaves no such bytes
  std::uint32_t holder = 0;  // the thread that holds it, if glibc knows one
};
Sight sight_of(const pthread_mutex_t* m, std::uint64_t site) noexcept;
Sight sight_of(const pthread_rwlock_t* l, std::uint64_t site) noexcept;
Sight sight_of(const pthread_cond_t* c, std::uint64_t site, bool is_process_shared) noexcept;

// Returns whether the address is in a shared mapping. Reads /proc, unless it knows the page.
// Async-signal-safe.
bool is_in_shared_memory(std::uint64_t address) noexcept;

// Returns whether the object should be process-shared, and puts it into the record once.
bool see_shared(const Me& m, const Sight& sight) noexcept;

[[gnu::always_inline]] inline bool may_be_shared(const void* object) noexcept {
  return shared_ranges.contains(address_of(object));
}

// The same for a call on the object, which costs one load if the program has no shared memory.
template <class Object, class... More>
[[gnu::always_inline]] inline bool look_where_it_lies(const Me& m, const Object* object,
                                                      std::uint64_t site, More... more) noexcept {
  return may_be_shared(object) && see_shared(m, sight_of(object, site, more...));
}
// The same after an init, which leaves no trace of what was there before.
template <class Object, class... More>
bool look_where_it_begins(const Me& m, const Object* object, std::uint64_t site,
                          More... more) noexcept {
  if (!may_be_shared(object)) return false;
  Sight sight = sight_of(object, site, more...);
  sight.begins = true;
  return see_shared(m, sight);
}

}  // namespace lockswap::audit
