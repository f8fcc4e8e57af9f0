// What debuggers read in a lock's bytes, what the kinds do, and calls without a deadline.
#include <functional>
#include <map>
#include <unistd.h>

#include "support.h"

namespace conformance::rwlock_object {

namespace {

using L = pthread_rwlock_t;

int owner_of(const L& lock) { return __atomic_load_n(&lock.__data.__cur_writer, __ATOMIC_RELAXED); }

// pthread-wp is glibc's lock with the default kind made into the one that prefers writers.
unsigned kind_of_new(unsigned kind) {
  return lock_under_test() == "pthread-wp" && kind == PTHREAD_RWLOCK_DEFAULT_NP
             ? static_cast<unsigned>(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP)
             : kind;
}

// Each form of a write that succeeds on a free lock.
const std::function<int(L*)> kWrites[] = {
    pthread_rwlock_wrlock,
    pthread_rwlock_trywrlock,
    [](L* l) {
      const timespec t = after(CLOCK_REALTIME, 600'000 * kMillisecond);
      return pthread_rwlock_timedwrlock(l, &t);
    },
    [](L* l) {
      const timespec t = after(CLOCK_MONOTONIC, 600'000 * kMillisecond);
      return pthread_rwlock_clockwrlock(l, CLOCK_MONOTONIC, &t);
    },
};

}  // namespace

// gdb's pretty-printers and bcc's tools read the writer's thread id from where glibc keeps it.
TEST(Object, NamesItsWriterWhileItIsHeld) {
  Actor other;
  for (int reads : {0, 3000}) {
    L lock = PTHREAD_RWLOCK_INITIALIZER;
    EXPECT_EQ(0, owner_of(lock));
    warm_up_readers(&lock, reads);
    EXPECT_EQ(0, owner_of(lock));
    for (const auto& write : kWrites) {
      ASSERT_RC(0, write(&lock));
      EXPECT_EQ(gettid(), owner_of(lock));
      EXPECT_RC(EDEADLK, pthread_rwlock_wrlock(&lock));
      other.run([&] {
        EXPECT_EQ(getpid(), owner_of(lock));  // the main thread's id is the process's
        EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
        const timespec past{0, 0};
        EXPECT_RC(ETIMEDOUT, pthread_rwlock_timedwrlock(&lock, &past));
      });
      EXPECT_EQ(gettid(), owner_of(lock));
      ASSERT_RC(0, pthread_rwlock_unlock(&lock));
      EXPECT_EQ(0, owner_of(lock));
      other.run([&] {
        ASSERT_RC(0, write(&lock));
        EXPECT_EQ(gettid(), owner_of(lock));
        ASSERT_RC(0, pthread_rwlock_unlock(&lock));
      });
      EXPECT_EQ(0, owner_of(lock));
    }
  }
}

TEST(Object, NamesNobodyWhileReadersHoldIt) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  Actor other;
  for (int reads : {0, 3000}) {
    warm_up_readers(&lock, reads);
    ASSERT_RC(0, pthread_rwlock_rdlock(&lock));
    EXPECT_EQ(0, owner_of(lock));
    other.run([&] {
      EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
      const timespec soon = after(CLOCK_MONOTONIC, kMillisecond);
      EXPECT_RC(ETIMEDOUT, pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &soon));
    });
    EXPECT_EQ(0, owner_of(lock)) << "a writer that gave up is named";
    ASSERT_RC(0, pthread_rwlock_unlock(&lock));
  }
}

TEST(Object, KeepsItsKindAndThatItIsPrivate) {
  for (unsigned kind : {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP,
                        PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP}) {
    pthread_rwlockattr_t attribute;
    ASSERT_RC(0, pthread_rwlockattr_init(&attribute));
    ASSERT_RC(0, pthread_rwlockattr_setkind_np(&attribute, static_cast<int>(kind)));
    L made, fixed = {{__PTHREAD_RWLOCK_INITIALIZER(kind)}};
    ASSERT_RC(0, pthread_rwlock_init(&made, &attribute));
    for (L* lock : {&made, &fixed}) {
      warm_up_readers(lock);
      expect_works(lock);
      EXPECT_EQ(kind_of_new(kind), lock->__data.__flags);
      EXPECT_EQ(0, lock->__data.__shared);
    }
  }
}

// A reader holds, a writer waits: is another reader admitted? Each lock does what `lockswap list`
// and docs/interposition.md say of the kinds.
TEST(Object, DoesWithItsKindWhatIsSaid) {
  for (unsigned kind : {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP,
                        PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP}) {
    const bool nonrecursive = kind_of_new(kind) == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
    const bool waits = glibc_underneath() ? nonrecursive : true;
    const bool may_wait = lock_is("readers_overtake");
    const bool is_glibcs = glibc_underneath() && !bravo_over_glibc();
    const bool admits_itself = !nonrecursive || !is_glibcs;
    L lock = {{__PTHREAD_RWLOCK_INITIALIZER(kind)}};
    Actor holder, writer, reader;
    holder.run([&] { ASSERT_RC(0, pthread_rwlock_rdlock(&lock)); });
    writer.start([&] {
      EXPECT_RC(0, pthread_rwlock_wrlock(&lock));
      EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    });
    EXPECT_TRUE(writer.blocked());
    // The writer may not be there yet, so a reader that has to wait is asked until it does. (The
    // reads before that may bias BRAVO over glibc's lock, and biased readers do not wait.)
    reader.run([&] {
      for (int i = 0; (waits && !may_wait && !bravo_over_glibc()) || i < 200; ++i) {
        const int rc = pthread_rwlock_tryrdlock(&lock);
        if (rc == EBUSY && waits) break;
        ASSERT_EQ(0, rc) << "kind " << kind;
        ASSERT_RC(0, pthread_rwlock_unlock(&lock));
        sched_yield();
      }
    });
    holder.run([&] {
      const Rc again = call([&] { return pthread_rwlock_tryrdlock(&lock); });
      EXPECT_EQ(Rc{admits_itself ? 0 : EBUSY}, again) << "kind " << kind;
      if (again.value == 0) {
        EXPECT_RC(0, pthread_rwlock_unlock(&lock));
      }
      EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    });
    writer.finish();
    expect_works(&lock);
  }
}

// glibc's timed functions take a null pointer for "no deadline", and look at no clock then.
TEST(Object, TimedCallsWithoutADeadline) {
  using Timed = int (*)(L*, const timespec*);
  using Clock = int (*)(L*, clockid_t, const timespec*);
  // Read when called: the headers promise the compiler that it is never null.
  static const timespec* volatile nothing = nullptr;
  for (Timed volatile timed : {pthread_rwlock_timedrdlock, pthread_rwlock_timedwrlock}) {
    L lock = PTHREAD_RWLOCK_INITIALIZER;
    EXPECT_RC(0, timed(&lock, nothing));
    EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    ASSERT_RC(0, pthread_rwlock_wrlock(&lock));
    EXPECT_RC(EDEADLK, timed(&lock, nothing));
    Actor waiter;
    waiter.start([&] {
      EXPECT_RC(0, timed(&lock, nothing));
      EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    });
    EXPECT_TRUE(waiter.blocked());
    EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    waiter.finish();
    expect_works(&lock);
  }
  for (Clock volatile timed : {pthread_rwlock_clockrdlock, pthread_rwlock_clockwrlock})
    for (clockid_t clock : {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME, -1}) {
      L lock = PTHREAD_RWLOCK_INITIALIZER;
      EXPECT_RC(0, timed(&lock, clock, nothing));
      EXPECT_RC(0, pthread_rwlock_unlock(&lock));
      expect_works(&lock);
    }
}

}  // namespace conformance::rwlock_object
