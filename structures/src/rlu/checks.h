// Errors of use, for programs that are compiled with LOCKSWAP_RLU_CHECKS: what is wrong with a call
// that is about to be made.
//
// Paper: Matveev and others, "Read-log-update" (SOSP 2015), section 3.8, which leaves the rules to
//   the programmer.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"
#include "rlu/context.h"
#include "rlu/object.h"
#include "rlu/section.h"
#include "rlu/writer_lock.h"

namespace lockswap::rlu {

template <Platform P, Heap H, class Lock>
class Checks {
  using C = Context<P>;
  using Log = typename C::Log;
  using S = Section<P, H>;

 public:
  // Each: what is wrong, or nullptr.
  static const char* end() noexcept { return in_section("unlock outside of a section"); }
  static const char* abort() noexcept {
    if (const char* wrong = in_section("abort outside of a section")) return wrong;
    if (depth() != 1) return "abort of a section inside of another one, which still reads";
    return mine()->writer_locks != 0 ? "abort while the thread has a writer lock" : nullptr;
  }
  static const char* update() noexcept {
    return depth() != 0 ? "a change that needs a section of its own is made inside of a section"
                        : nullptr;
  }
  static const char* dereference() noexcept {
    return in_section("dereference outside of a section");
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
    if (is_of_another(object)) return "free of an object that another thread has locked";
    return is_freed(S::actual(object)) ? "free of an object that is freed already" : nullptr;
  }
  static const char* discard(void* object) noexcept {
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
  static std::uint64_t lock_of(void* object) noexcept {
    return header_of<P>(object).lock.load(acquire);  // as in Section::lock
  }
  static bool is_of_another(void* object) noexcept {
    const std::uint64_t held = lock_of(S::actual(object));
    return held != kUnlocked && &Log::owner_of(held) != mine();
  }
  // By the section that is going on. (An object of which a commit was deferred may be in a helper's
  // hands.)
  static bool is_freed(const void* object) noexcept {
    if (mine() == nullptr || (mine()->duties & C::kWriting) == 0) return false;
    for (const Entry* e = mine()->log().last(); e != nullptr; e = e->before) {
      if (e->kind == Kind::gone && e->object == object) return true;
    }
    return false;
  }
};

}  // namespace lockswap::rlu
