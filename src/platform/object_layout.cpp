#include "platform/object_layout.h"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <initializer_list>
#include <pthread.h>

#include "platform/libc_functions.h"
#include "platform/syscall.h"
#include "platform/system_rwlock.h"
#include "platform/text.h"

namespace lockswap {
namespace {

// A deadline that has passed, which glibc notices without a system call.
constexpr timespec kPast{-1, 0};

struct Bytes {
  std::size_t from, to;  // the first, and one past the last
};

// Two copies of an object, pre-filled with different byte patterns and then initialised: a byte
// that is equal in both was written by the initialiser.
template <class Object>
class Made {
 public:
  // Init: (Object*) -> errno.
  template <class Init>
  explicit Made(const Init& init) noexcept {
    std::memset(&object, 0xa5, sizeof object);
    std::memset(&refilled_, 0x5a, sizeof refilled_);
    error_ = init(&object) != 0 || init(&refilled_) != 0;
    std::memcpy(bytes_, &object, sizeof object);
  }

  bool failed() const noexcept { return error_; }
  // Returns the index of the first byte in the range that the initialiser left non-zero or did not
  // write, or bytes.to if there is none.
  std::size_t first_not_zero(Bytes bytes) const noexcept {
    std::size_t i = bytes.from;
    while (i < bytes.to && bytes_[i] == 0 && refilled(i) == 0)
      ++i;
    return i;
  }
  std::uint32_t word(std::size_t at) const noexcept {
    std::uint32_t w;
    std::memcpy(&w, bytes_ + at, sizeof w);
    return w;
  }
  // Returns the index of the first byte, from `from` on, that the two initialisers left different,
  // or the object's size if there is none. Bytes that neither wrote, such as padding, don't count.
  std::size_t first_difference(const Made& other, std::size_t from = 0) const noexcept {
    std::size_t i = from;
    while (i < sizeof object && bytes_[i] == other.bytes_[i] && refilled(i) == other.refilled(i))
      ++i;
    return i;
  }

  Object object;  // for trial operations

 private:
  unsigned char refilled(std::size_t i) const noexcept {
    return reinterpret_cast<const unsigned char*>(&refilled_)[i];
  }
  Object refilled_;
  unsigned char bytes_[sizeof(Object)];
  bool error_;
};

template <class Object>
std::uint32_t word_now(const Object& object, std::size_t at) noexcept {
  std::uint32_t w;
  std::memcpy(&w, reinterpret_cast<const unsigned char*>(&object) + at, sizeof w);
  return w;
}

bool fail(Misfit& misfit, const char* what) noexcept {
  Text(misfit.why, sizeof misfit.why) << what;
  return false;
}
bool fail(Misfit& misfit, const char* what, std::size_t byte) noexcept {
  Text(misfit.why, sizeof misfit.why) << what << " byte " << std::uint64_t{byte};
  return false;
}

// --- mutexes: the fields of src/locks/common/mutex_layout.h

constexpr std::size_t kCount = 4, kOwner = 8, kUsers = 12, kKind = 16, kRobustList = 24,
                      kChoice = 36;
constexpr Bytes kMutexBefore{0, 16}, kMutexBehind{24, 40};

struct MutexAttributes {
  int type = PTHREAD_MUTEX_DEFAULT;
  int pshared = PTHREAD_PROCESS_PRIVATE;
  int robust = PTHREAD_MUTEX_STALLED;
  int protocol = PTHREAD_PRIO_NONE;
};

Made<pthread_mutex_t> make_mutex(const MutexAttributes& wanted) noexcept {
  return Made<pthread_mutex_t>([&wanted](pthread_mutex_t* m) {
    const AttributeOps& set = libc_functions.attributes;
    pthread_mutexattr_t a;
    if (set.mutex_init(&a) != 0 || set.mutex_settype(&a, wanted.type) != 0 ||
        set.mutex_setpshared(&a, wanted.pshared) != 0 ||
        set.mutex_setrobust(&a, wanted.robust) != 0 ||
        set.mutex_setprotocol(&a, wanted.protocol) != 0) {
      return EINVAL;
    }
    return libc_functions.mutex.init(m, &a);
  });
}

// Our mutexes keep their state in the bytes around the kind.
bool leaves_our_bytes(const Made<pthread_mutex_t>& m, Misfit& misfit) noexcept {
  for (const Bytes bytes : {kMutexBefore, kMutexBehind}) {
    const std::size_t at = m.first_not_zero(bytes);
    if (at < bytes.to) return fail(misfit, "pthread_mutex_init writes to", at);
  }
  return true;
}

bool knows_types(Misfit& misfit) noexcept {
  struct {
    int type;
    std::uint32_t kind;
  } constexpr kTypes[] = {{PTHREAD_MUTEX_NORMAL, 0},
                          {PTHREAD_MUTEX_RECURSIVE, 1},
                          {PTHREAD_MUTEX_ERRORCHECK, 2},
                          {PTHREAD_MUTEX_ADAPTIVE_NP, 3}};
  for (const auto& t : kTypes) {
    const Made<pthread_mutex_t> m = make_mutex({.type = t.type});
    if (m.failed()) return fail(misfit, "pthread_mutex_init fails");
    // glibc may set bits of its own above the type, for lock elision.
    if ((m.word(kKind) & 0xff) != t.kind)
      return fail(misfit, "pthread_mutex_t doesn't have its type in", kKind);
    if (!leaves_our_bytes(m, misfit)) return false;
  }
  return true;
}

// Mutexes that must stay glibc's are recognised by their kind: a mutex with one of these attributes
// has the corresponding bit set. Priority protection isn't tried, because glibc makes system calls
// about priorities for it, which seccomp may block.
bool knows_flags(Misfit& misfit) noexcept {
  struct {
    MutexAttributes attributes;
    std::uint32_t bit;
    bool may_be_refused;  // if the kernel does not support it
  } constexpr kFlags[] = {
      {{.pshared = PTHREAD_PROCESS_SHARED}, 0x80, false},
      {{.robust = PTHREAD_MUTEX_ROBUST}, 0x10, false},
      {{.type = PTHREAD_MUTEX_RECURSIVE, .robust = PTHREAD_MUTEX_ROBUST}, 0x10, false},
      {{.protocol = PTHREAD_PRIO_INHERIT}, 0x20, true}};
  for (const auto& f : kFlags) {
    const Made<pthread_mutex_t> m = make_mutex(f.attributes);
    if (m.failed() && f.may_be_refused) continue;
    if (m.failed()) return fail(misfit, "pthread_mutex_init fails");
    if ((m.word(kKind) & f.bit) == 0)
      return fail(misfit, "pthread_mutex_t doesn't have its flags in", kKind);
  }
  return true;
}

// Snapshots of a mutex's fields: while it is locked (twice if it is recursive), and after unlock.
struct Shown {
  bool worked;  // the mutex behaves as its type requires
  std::uint32_t kind, count, owner, users;
  std::uint32_t owner_after, users_after;

  bool shows_owner() const noexcept {
    // seccomp may block gettid; any number will do then.
    const long tid = raw_syscall(SYS_gettid);
    return worked && owner != 0 && owner_after == 0 &&
           (tid <= 0 || owner == static_cast<std::uint32_t>(tid));
  }
};

// For types that check ownership.
Shown held(int type) noexcept {
  Made<pthread_mutex_t> m = make_mutex({.type = type});
  if (m.failed()) return {};
  pthread_mutex_t& mutex = m.object;
  const bool again = type == PTHREAD_MUTEX_RECURSIVE;
  // The second lock uses a function that can't block, whatever the type turns out to be.
  bool worked =
      libc_functions.mutex.lock(&mutex) == 0 &&
      libc_functions.mutex.clocklock(&mutex, CLOCK_MONOTONIC, &kPast) == (again ? 0 : EDEADLK);
  Shown shown{.worked = false,
              .kind = m.word(kKind),
              .count = word_now(mutex, kCount),
              .owner = word_now(mutex, kOwner),
              .users = word_now(mutex, kUsers),
              .owner_after = 0,
              .users_after = 0};
  if (again) worked = worked && libc_functions.mutex.unlock(&mutex) == 0;
  worked =
      worked && word_now(mutex, kOwner) == shown.owner && libc_functions.mutex.unlock(&mutex) == 0;
  shown.worked = worked && word_now(mutex, kKind) == shown.kind;
  shown.owner_after = word_now(mutex, kOwner);
  shown.users_after = word_now(mutex, kUsers);
  return shown;
}

bool shows_holder(const Shown& shown, int type, Misfit& misfit) noexcept {
  if (!shown.worked)
    return fail(misfit, "pthread_mutex functions don't do as the type says that is in", kKind);
  if (!shown.shows_owner())
    return fail(misfit, "pthread_mutex_t doesn't have its owner in", kOwner);
  if (shown.users != 1 || shown.users_after != 0)
    return fail(misfit, "pthread_mutex_t doesn't have its users in", kUsers);
  if (type == PTHREAD_MUTEX_RECURSIVE && shown.count != 2)
    return fail(misfit, "pthread_mutex_t doesn't count recursion in", kCount);
  return true;
}

// Runs every glibc function on a mutex of a common type while the object also contains the word in
// which a policy records that it is glibc's. An elided mutex stores neither owner nor users.
bool works_beside_our_word(int type, Misfit& misfit) noexcept {
  Made<pthread_mutex_t> m = make_mutex({.type = type});
  if (m.failed()) return fail(misfit, "pthread_mutex_init fails");
  pthread_mutex_t& mutex = m.object;
  auto* bytes = reinterpret_cast<unsigned char*>(&mutex);
  const auto expected = [](std::size_t i) {
    return static_cast<unsigned char>(i < kChoice ? 0 : 0xa5 + i);
  };
  const auto first_changed = [&] {
    std::size_t i = kMutexBehind.from;
    while (i < kMutexBehind.to && bytes[i] == expected(i))
      ++i;
    return i;
  };
  for (std::size_t i = kChoice; i < kMutexBehind.to; ++i)
    bytes[i] = expected(i);
  const MutexOps& real = libc_functions.mutex;
  bool worked = real.lock(&mutex) == 0;
  const std::size_t while_held = first_changed();
  const std::uint32_t users = word_now(mutex, kUsers);
  worked = worked && real.trylock(&mutex) == EBUSY &&
           real.clocklock(&mutex, CLOCK_MONOTONIC, &kPast) == ETIMEDOUT &&
           real.unlock(&mutex) == 0 && real.trylock(&mutex) == 0 && real.unlock(&mutex) == 0 &&
           real.timedlock(&mutex, &kPast) == 0 && real.unlock(&mutex) == 0;
  if (!worked) return fail(misfit, "pthread_mutex functions don't work beside a word of ours");
  for (const std::size_t i : {while_held, first_changed()}) {
    if (i < kMutexBehind.to) return fail(misfit, "pthread_mutex functions write to", i);
  }
  return users <= 1 || fail(misfit, "pthread_mutex_t doesn't have its users in", kUsers);
}

// A locked robust mutex has a pointer where our mutexes have their state word. Bit 2 tells them
// apart: it is always set in ours and never in a pointer. glibc uses bit 0 of the pointer.
bool robust_differs_from_ours(Misfit& misfit) noexcept {
  Made<pthread_mutex_t> m = make_mutex({.robust = PTHREAD_MUTEX_ROBUST});
  if (m.failed() || libc_functions.mutex.lock(&m.object) != 0)
    return fail(misfit, "robust mutexes can't be made");
  const std::uint32_t list = word_now(m.object, kRobustList);
  libc_functions.mutex.unlock(&m.object);
  constexpr std::uint32_t kMarkOfOurs = 4;
  return (list & kMarkOfOurs) == 0 ||
         fail(misfit, "robust mutexes have no pointer in", kRobustList);
}

// --- reader-writer locks: the fields of src/locks/common/rw_layout.h

constexpr std::size_t kReaders = 0, kWriter = 24, kShared = 28, kPreference = 48;
constexpr Bytes kRwBefore{0, 28}, kRwBehind{32, 48};

Made<pthread_rwlock_t> make_rwlock(int kind, int pshared) noexcept {
  return Made<pthread_rwlock_t>([kind, pshared](pthread_rwlock_t* l) {
    const AttributeOps& set = libc_functions.attributes;
    pthread_rwlockattr_t a;
    if (set.rwlock_init(&a) != 0 || set.rwlock_setkind(&a, kind) != 0 ||
        set.rwlock_setpshared(&a, pshared) != 0) {
      return EINVAL;
    }
    return libc_functions.rwlock.init(l, &a);
  });
}

bool knows_attributes(int kind, int pshared, Misfit& misfit) noexcept {
  const Made<pthread_rwlock_t> l = make_rwlock(kind, pshared);
  if (l.failed()) return fail(misfit, "pthread_rwlock_init fails");
  for (const Bytes bytes : {kRwBefore, kRwBehind}) {
    const std::size_t at = l.first_not_zero(bytes);
    if (at < bytes.to) return fail(misfit, "pthread_rwlock_init writes to", at);
  }
  if (l.word(kPreference) != static_cast<std::uint32_t>(kind))
    return fail(misfit, "pthread_rwlock_t doesn't have its kind in", kPreference);
  if ((l.word(kShared) != 0) != (pshared == PTHREAD_PROCESS_SHARED))
    return fail(misfit, "pthread_rwlock_t doesn't have \"process-shared\" in", kShared);
  return true;
}

// What the helpers of system_rwlock.h report while the calling thread holds a lock.
struct Seen {
  bool reads = false, writes = false;
  std::uint32_t writer = 0;
};

// Calls every function on a free lock. Returns false if one doesn't do what it should.
bool every_function_works(pthread_rwlock_t& lock, Seen& seen) noexcept {
  const RwOps& real = libc_functions.rwlock;
  // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the table is filled before this runs.
  const auto is_released = [&] { return real.unlock(&lock) == 0; };
  if (real.rdlock(&lock) != 0 || real.tryrdlock(&lock) != 0) return false;
  seen.reads = is_read(&lock) && !is_written(&lock) && !looks_fresh(&lock);
  if (real.trywrlock(&lock) == 0 || real.clockwrlock(&lock, CLOCK_MONOTONIC, &kPast) == 0 ||
      !is_released() || !is_released() || real.wrlock(&lock) != 0) {
    return false;
  }
  seen.writer = word_now(lock, kWriter);
  seen.writes = is_written(&lock) && !looks_fresh(&lock);
  return real.tryrdlock(&lock) != 0 && is_released() && real.trywrlock(&lock) == 0 &&
         is_released() && real.timedrdlock(&lock, &kPast) == 0 && is_released();
}

// Runs every function once. Our words (bravo-pthread's, and a policy's) lie next to glibc's state:
// glibc must not touch them, and system_rwlock.h must be able to read its state. Only uncontended:
// according to glibc's source, the contended paths change the same fields.
bool works_beside_our_words(Misfit& misfit) noexcept {
  Made<pthread_rwlock_t> l = make_rwlock(PTHREAD_RWLOCK_DEFAULT_NP, PTHREAD_PROCESS_PRIVATE);
  if (l.failed()) return fail(misfit, "pthread_rwlock_init fails");
  pthread_rwlock_t& lock = l.object;
  auto* bytes = reinterpret_cast<unsigned char*>(&lock);
  const auto pattern = [](std::size_t i) { return static_cast<unsigned char>(0xa5 + i); };
  const bool was_fresh = looks_fresh(&lock);
  for (std::size_t i = kRwBehind.from; i < kRwBehind.to; ++i)
    bytes[i] = pattern(i);
  Seen seen;
  if (!every_function_works(lock, seen))
    return fail(misfit, "pthread_rwlock functions don't work beside words of ours");
  for (std::size_t i = kRwBehind.from; i < kRwBehind.to; ++i) {
    if (bytes[i] != pattern(i)) return fail(misfit, "pthread_rwlock functions write to", i);
  }
  const long tid = raw_syscall(SYS_gettid);
  if (!seen.writes || (tid > 0 && seen.writer != static_cast<std::uint32_t>(tid)) ||
      is_written(&lock)) {
    return fail(misfit, "pthread_rwlock_t doesn't have its writer in", kWriter);
  }
  if (!was_fresh || !seen.reads || is_read(&lock))
    return fail(misfit, "pthread_rwlock_t doesn't count its readers in", kReaders);
  if (word_now(lock, kShared) != l.word(kShared) ||
      word_now(lock, kPreference) != l.word(kPreference)) {
    return fail(misfit, "pthread_rwlock functions change what attributes asked for");
  }
  return true;
}

// --- condition variables

// The bytes that NativeCond of src/ops/cond_table.h uses.
constexpr Bytes kOfOurCond{0, 24};

Made<pthread_cond_t> make_cond(int pshared, clockid_t clock) noexcept {
  return Made<pthread_cond_t>([pshared, clock](pthread_cond_t* c) {
    const AttributeOps& set = libc_functions.attributes;
    pthread_condattr_t a;
    if (set.cond_init(&a) != 0 || set.cond_setpshared(&a, pshared) != 0 ||
        set.cond_setclock(&a, clock) != 0) {
      return EINVAL;
    }
    return libc_functions.cond.init(c, &a);
  });
}

// Tests a signal, a broadcast and a wait that returns at once: none of them may change the flags.
bool keeps_flags(pthread_cond_t& c, std::size_t at, unsigned flags) noexcept {
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  libc_functions.mutex.lock(&m);
  const int waited = libc_functions.cond.timedwait(&c, &m, &kPast);
  const bool worked = (waited == ETIMEDOUT || waited == 0) && libc_functions.cond.signal(&c) == 0 &&
                      libc_functions.cond.broadcast(&c) == 0 && word_now(c, at) == flags &&
                      libc_functions.cond.destroy(&c) == 0;
  libc_functions.mutex.unlock(&m);
  return worked;
}

}  // namespace

bool learn_mutex_layout() noexcept {
  Misfit& misfit = object_layout.mutex = {};
  const Shown errorcheck = held(PTHREAD_MUTEX_ERRORCHECK);
  // system_tid.h needs the owner field, whether or not the rest of the layout matches.
  object_layout.mutex_shows_owner = errorcheck.shows_owner();
  return knows_types(misfit) && knows_flags(misfit) &&
         shows_holder(errorcheck, PTHREAD_MUTEX_ERRORCHECK, misfit) &&
         shows_holder(held(PTHREAD_MUTEX_RECURSIVE), PTHREAD_MUTEX_RECURSIVE, misfit) &&
         works_beside_our_word(PTHREAD_MUTEX_NORMAL, misfit) &&
         works_beside_our_word(PTHREAD_MUTEX_ADAPTIVE_NP, misfit) &&
         robust_differs_from_ours(misfit);
}

bool learn_rwlock_layout() noexcept {
  Misfit& misfit = object_layout.rwlock = {};
  for (const int kind : {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP,
                         PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP}) {
    for (const int pshared : {PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED}) {
      if (!knows_attributes(kind, pshared, misfit)) return false;
    }
  }
  return works_beside_our_words(misfit);
}

bool learn_cond_layout() noexcept {
  Misfit& misfit = object_layout.cond = {};
  struct {
    int pshared;
    clockid_t clock;
    unsigned flags;
  } constexpr kMade[] = {
      {PTHREAD_PROCESS_PRIVATE, CLOCK_REALTIME, 0},
      {PTHREAD_PROCESS_PRIVATE, CLOCK_MONOTONIC, kCondIsMonotonic},
      {PTHREAD_PROCESS_SHARED, CLOCK_REALTIME, kCondIsShared},
      {PTHREAD_PROCESS_SHARED, CLOCK_MONOTONIC, kCondIsShared | kCondIsMonotonic}};
  const Made<pthread_cond_t> plain = make_cond(kMade[0].pshared, kMade[0].clock);
  const Made<pthread_cond_t> flagged = make_cond(kMade[3].pshared, kMade[3].clock);
  if (plain.failed() || flagged.failed()) return fail(misfit, "pthread_cond_init fails");
  // The word in which the two differ is the one that holds the flags.
  const std::size_t differs = flagged.first_difference(plain);
  if (differs == sizeof(pthread_cond_t))
    return fail(misfit, "pthread_cond_init doesn't show the attributes");
  const std::size_t at = differs & ~std::size_t{3};
  if (at != byte_of(CondFlags::at_byte_36) && at != byte_of(CondFlags::at_byte_28))
    return fail(misfit, "pthread_cond_init keeps the attributes in", differs);
  object_layout.cond_flags =
      at == byte_of(CondFlags::at_byte_28) ? CondFlags::at_byte_28 : CondFlags::at_byte_36;
  for (const auto& wanted : kMade) {
    Made<pthread_cond_t> c = make_cond(wanted.pshared, wanted.clock);
    if (c.failed()) return fail(misfit, "pthread_cond_init fails");
    if (const std::size_t i = c.first_not_zero(kOfOurCond); i < kOfOurCond.to)
      return fail(misfit, "pthread_cond_init writes to", i);
    if (c.word(at) != wanted.flags || c.first_difference(plain, at + 4) < sizeof(pthread_cond_t))
      return fail(misfit, "pthread_cond_init has other flags than the known ones in", at);
    if (!keeps_flags(c.object, at, wanted.flags))
      return fail(misfit, "pthread_cond functions change the flags in", at);
  }
  return true;
}

}  // namespace lockswap
