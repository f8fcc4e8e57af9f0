#include "platform/looks.h"

#include "platform/libc_functions.h"
#include "platform/object_layout.h"
#include "platform/system_rwlock.h"

namespace lockswap {
namespace {

constexpr int kType = 3;  // of glibc's __kind

}  // namespace

Look Looks::at_taken(const pthread_mutex_t* m) noexcept {
  // An owner that relocks its mutex deadlocks, except with these two types, which return at once.
  const int type = m->__data.__kind & kType;
  const bool looks_at_owner =
      type == PTHREAD_MUTEX_RECURSIVE_NP || type == PTHREAD_MUTEX_ERRORCHECK_NP;
  const bool is_own = looks_at_owner && value(m->__data.__owner) == static_cast<int>(thread_id());
  return is_own ? Look::open : Look::taken;
}

Look Looks::at_taken(const pthread_rwlock_t* l) noexcept {
  const bool is_own =
      value(l->__data.__cur_writer) == static_cast<int>(thread_id());  // EDEADLK at once
  return is_own ? Look::open : Look::taken;
}

Look Looks::at_another_kind(const pthread_mutex_t* m) noexcept {
  const int kind = m->__data.__kind;
  const auto word = static_cast<std::uint32_t>(value(m->__data.__lock));
  if ((kind & (kRobust | kInherits)) != 0) {
    // The kernel defines the word: the owner's id, which is 0 also after the owner's death.
    return (word & FUTEX_TID_MASK) == 0 ? Look::open : at_taken(m);
  }
  constexpr std::uint32_t kCeiling = 0xfff80000;  // glibc's priority ceiling
  return (word & ~kCeiling) == 0 ? Look::open : at_taken(m);
}

void Looks::prepare() noexcept {
  are_known_ = false;
  if (!learn_mutex_layout() || !learn_rwlock_layout()) return;
  are_known_ = true;
  const LibcFunctions& real = libc_functions;
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  bool fits = at(&m) == Look::open && real.mutex.lock(&m) == 0;
  fits = fits && at(&m) == Look::taken && real.mutex.unlock(&m) == 0 && at(&m) == Look::open;
  pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
  fits = fits && at<true>(&l) == Look::open && at<false>(&l) == Look::open;
  fits = fits && real.rwlock.rdlock(&l) == 0 && at<true>(&l) == Look::open &&
         at<false>(&l) == Look::taken && real.rwlock.unlock(&l) == 0;
  fits = fits && real.rwlock.wrlock(&l) == 0 && (value(l.__data.__readers) & kWriteLocked) != 0 &&
         real.rwlock.unlock(&l) == 0;
  are_known_ = fits && at<true>(&l) == Look::open && at<false>(&l) == Look::open;
}

}  // namespace lockswap
