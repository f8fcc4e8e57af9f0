// Finds incorrect calls, in programs that are compiled with LOCKSWAP_RLU_CHECKS, just before they
// are made.
//
// Paper: Matveev and others, "Read-log-update" (SOSP 2015), section 3.8, which leaves the rules to
//   the programmer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "platform/atomic.h"
#include "platform/concept.h"
#include "rlu/context.h"
#include "rlu/object.h"
#include "rlu/section.h"
#include "rlu/threads.h"
#include "rlu/watch.h"
#include "rlu/writer_lock.h"

namespace lockswap::rlu {

template <Platform P, Heap H, class Lock>
class Checks {
  using C = Context<P>;
  using Log = typename C::Log;
  using S = Section<P, H>;

 public:
  // Each function returns what is wrong, or nullptr.
  static const char* end() noexcept {
    if (const char* wrong = in_section("unlock outside of a section")) return wrong;
    C& c = *mine();
    if (c.depth != 1) return nullptr;
    if (stores_copy(c)) {
      return "the address of a copy is stored in an object: store lockswap_rlu_actual() of it";
    }
    return writes_without_lock(c)
               ? "an object was written without a lock: write into the copy that "
                 "a lock gives"
               : nullptr;
  }
  // Called when a section begins.
  static const char* begin() noexcept {
    if (depth() != 0 || mine() == nullptr || mine()->watch == nullptr) return nullptr;
    mine()->watch->sum_made();
    return nullptr;
  }
  // Called when the thread has made an object.
  static const char* made(void* object) noexcept {
    if (object == nullptr || !watches()) return nullptr;
    mine()->watch->made(object, header_of<P>(object).size);
    return nullptr;
  }
  static const char* abort() noexcept {
    if (const char* wrong = in_section("abort outside of a section")) return wrong;
    if (depth() != 1) return "abort of a section inside of another one, which still reads";
    return mine()->writer_locks != 0 ? "abort while the thread has a writer lock" : nullptr;
  }
  static const char* update() noexcept {
    return depth() != 0 ? "a change that needs a section of its own is made inside of a section"
                        : nullptr;
  }
  static const char* dereference(void* object) noexcept {
    if (const char* wrong = in_section("dereference outside of a section")) return wrong;
    if (object != nullptr && watches()) watch(*mine(), object);
    return nullptr;
  }
  static const char* lock(void* object) noexcept {
    if (const char* wrong = in_section("lock of an object outside of a section")) return wrong;
    if (object == nullptr) return "lock of NULL";
    return mine()->writer_locks != 0 && is_of_another(object)
               ? "a thread with a writer lock meets an object that another thread has locked"
               : nullptr;
  }
  static const char* free(void* object) noexcept {
    if (object == nullptr) return nullptr;
    if (mine() != nullptr && mine()->watch != nullptr) mine()->watch->forget_made(object);
    if (is_of_another(object)) return "free of an object that another thread has locked";
    const bool is_kept = depth() == 0 || mine()->writer_locks != 0;
    if (!is_kept && lock_of(S::actual(object)) == kUnlocked)
      return "free of an object that the section has not locked";
    return is_freed(S::actual(object)) ? "free of an object that is freed already" : nullptr;
  }
  static const char* discard(void* object) noexcept {
    if (mine() != nullptr && mine()->watch != nullptr) mine()->watch->forget_made(object);
    return object != nullptr && lock_of(object) != kUnlocked ? "discard of an object that is locked"
                                                             : nullptr;
  }
  static const char* writer_acquire(const Lock& l) noexcept {
    if (depth() != 0) return "a writer lock is acquired inside of a section";
    return is_mine(l) ? "a writer lock is acquired twice" : nullptr;
  }
  static const char* writer_release(const Lock& l) noexcept {
    if (depth() != 0) return "a writer lock is released inside of a section";
    return is_mine(l) ? nullptr : "release of a writer lock that the thread does not have";
  }
  static const char* wait() noexcept {
    return depth() != 0 ? "a wait for readers inside of a section" : nullptr;
  }

 private:
  static C* mine() noexcept { return local<P>().context; }
  static std::uint32_t depth() noexcept { return mine() == nullptr ? 0 : mine()->depth; }
  static const char* in_section(const char* otherwise) noexcept {
    return depth() != 0 ? nullptr : otherwise;
  }
  static bool is_mine(const Lock& l) noexcept { return mine() != nullptr && l.is_of(*mine()); }
  // Returns whether the thread has the data for watching its sections, or false if there is no
  // memory.
  static bool watches() noexcept {
    C* const c = mine() != nullptr ? mine() : Threads<P, H>::attach();
    if (c == nullptr) return false;
    if (c->watch == nullptr) {
      void* const memory = P::map(sizeof(Watch));
      if (memory != nullptr) c->watch = new (memory) Watch;
    }
    return c->watch != nullptr;
  }
  static void watch(C& c, void* object) noexcept {
    const std::uint64_t held = lock_of(object);
    if (held == kIsCopy) return;
    const void* const seen = held == kUnlocked ? object : S::steal(object);
    const bool is_copy = seen != object;
    if (is_copy && &Log::owner_of(held) == &c) return;
    c.watch->see(seen, header_of<P>(object).size, is_copy);
    c.duties |= C::kWatched;
  }
  // Checks what the section is about to commit.
  static bool stores_copy(C& c) noexcept {
    if ((c.duties & C::kWriting) == 0) return false;
    for (const Entry* e = c.log().last(); e != c.log().begun(); e = e->before) {
      if (e->kind == Kind::copy && names_copy(c, Log::copy_of(e), header_of<P>(e->object).size))
        return true;
    }
    return false;
  }
  static bool names_copy(C& c, const void* copy, std::size_t size) noexcept {
    const auto* const words = static_cast<const std::uint64_t*>(copy);
    for (std::size_t i = 0; i < size / sizeof(std::uint64_t); ++i) {
      const std::uint64_t w = words[i];
      const bool is_own = c.log().holds(w) || c.other_log().holds(w);
      if (is_own || (c.watch != nullptr && c.watch->is_copy(w))) return true;
    }
    return false;
  }
  // Returns whether it was written without a lock: an object that the section has read, or, if the
  // section has read and locked nothing, one that the thread made before. (A section that only
  // reads may fill an object that no other thread has yet.)
  static bool writes_without_lock(C& c) noexcept {
    if (c.watch == nullptr) return false;
    if ((c.duties & C::kWriting) != 0) {
      c.watch->forget_made();
    } else if (!c.watch->has_seen_any() && c.watch->has_changed_made()) {
      return true;
    }
    return c.watch->has_seen_any() && c.watch->changed() != nullptr;
  }
  static std::uint64_t lock_of(void* object) noexcept {
    return header_of<P>(object).lock.load(acquire);  // as in Section::lock
  }
  static bool is_of_another(void* object) noexcept {
    const std::uint64_t held = lock_of(S::actual(object));
    return held != kUnlocked && &Log::owner_of(held) != mine();
  }
  // Returns whether the present section has freed it. (A helper may be changing an object with a
  // deferred commit.)
  static bool is_freed(const void* object) noexcept {
    if (mine() == nullptr || (mine()->duties & C::kWriting) == 0) return false;
    for (const Entry* e = mine()->log().last(); e != nullptr; e = e->before) {
      if (e->kind == Kind::gone && e->object == object) return true;
    }
    return false;
  }
};

}  // namespace lockswap::rlu
