// Exact return values: a table of states of a lock against calls upon it, with what glibc returns.
// Plain glibc runs the same table, so an entry that is wrong about glibc fails there.
#include <limits.h>
#include <set>

#include "support.h"

namespace conformance::rwlock_values {

namespace {

enum State {
  kFree,
  kSelfReads,
  kSelfWrites,
  kOtherReads,
  kOtherWrites,
  kOtherReadsWriterWaits,
  kSelfReadsWriterWaits,
  kStates
};
constexpr const char* kStateNames[kStates] = {"free",
                                              "self reads",
                                              "self writes",
                                              "other reads",
                                              "other writes",
                                              "other reads and a writer waits",
                                              "self reads and a writer waits"};

// The results that a call may have in a state. A reader beside a waiting writer may have to wait
// (phase-fair locks do, glibc does not): both answers are right, unless the reader holds the lock
// already.
enum Answer {
  kOk,
  kBusy,
  kTimeout,
  kDeadlock,
  kInvalid,
  kOkOrBusy,
  kOkOrTimeout,
  kWouldBlock,  // not called: glibc would wait for ever
};

bool fits(Answer answer, int value) {
  switch (answer) {
    case kOk:
      return value == 0;
    case kBusy:
      return value == EBUSY;
    case kTimeout:
      return value == ETIMEDOUT;
    case kDeadlock:
      return value == EDEADLK;
    case kInvalid:
      return value == EINVAL;
    case kOkOrBusy:
      return value == 0 || value == EBUSY;
    case kOkOrTimeout:
      return value == 0 || value == ETIMEDOUT;
    case kWouldBlock:
      return false;
  }
  return false;
}

constexpr const char* kAnswerNames[] = {"0",      "EBUSY",      "ETIMEDOUT",      "EDEADLK",
                                        "EINVAL", "0 or EBUSY", "0 or ETIMEDOUT", "(blocks)"};

timespec nanoseconds_of(clockid_t clock, long nanoseconds) {
  timespec t = now(clock);
  t.tv_nsec = nanoseconds;
  return t;
}

using L = pthread_rwlock_t;
struct Row {
  const char* name;
  int (*make)(L*);
  Answer answers[kStates];
};

constexpr clockid_t kReal = CLOCK_REALTIME, kMono = CLOCK_MONOTONIC;
constexpr std::int64_t kPast = -5 * kMillisecond, kSoon = 2 * kMillisecond;

template <std::int64_t Delta>
int timed_read(L* l) {
  const timespec t = after(kReal, Delta);
  return pthread_rwlock_timedrdlock(l, &t);
}
template <std::int64_t Delta>
int timed_write(L* l) {
  const timespec t = after(kReal, Delta);
  return pthread_rwlock_timedwrlock(l, &t);
}
template <clockid_t Clock, std::int64_t Delta>
int clock_read(L* l) {
  const timespec t = after(Clock, Delta);
  return pthread_rwlock_clockrdlock(l, Clock, &t);
}
template <clockid_t Clock, std::int64_t Delta>
int clock_write(L* l) {
  const timespec t = after(Clock, Delta);
  return pthread_rwlock_clockwrlock(l, Clock, &t);
}
template <long Nanoseconds>
int invalid_read(L* l) {
  const timespec t = nanoseconds_of(kReal, Nanoseconds);
  return pthread_rwlock_timedrdlock(l, &t);
}
template <long Nanoseconds>
int invalid_write(L* l) {
  const timespec t = nanoseconds_of(kReal, Nanoseconds);
  return pthread_rwlock_timedwrlock(l, &t);
}
template <long Nanoseconds>
int invalid_clock_read(L* l) {
  const timespec t = nanoseconds_of(kMono, Nanoseconds);
  return pthread_rwlock_clockrdlock(l, kMono, &t);
}
template <long Nanoseconds>
int invalid_clock_write(L* l) {
  const timespec t = nanoseconds_of(kMono, Nanoseconds);
  return pthread_rwlock_clockwrlock(l, kMono, &t);
}
template <clockid_t Clock>
int odd_clock_read(L* l) {
  const timespec t = after(kReal, kSoon);
  return pthread_rwlock_clockrdlock(l, Clock, &t);
}
template <clockid_t Clock>
int odd_clock_write(L* l) {
  const timespec t = after(kReal, kSoon);
  return pthread_rwlock_clockwrlock(l, Clock, &t);
}
template <time_t Seconds>
int read_at(L* l) {
  const timespec t{Seconds, 0};
  return pthread_rwlock_timedrdlock(l, &t);
}
template <time_t Seconds>
int write_at(L* l) {
  const timespec t{Seconds, 0};
  return pthread_rwlock_timedwrlock(l, &t);
}
template <time_t Seconds>
int clock_read_at(L* l) {
  const timespec t{Seconds, 999'999'999};
  return pthread_rwlock_clockrdlock(l, kMono, &t);
}
template <time_t Seconds>
int clock_write_at(L* l) {
  const timespec t{Seconds, 999'999'999};
  return pthread_rwlock_clockwrlock(l, kMono, &t);
}

#define TIMED_READ \
  { kOk, kOk, kDeadlock, kOk, kTimeout, kOkOrTimeout, kOk }
#define TIMED_WRITE \
  { kOk, kTimeout, kDeadlock, kTimeout, kTimeout, kTimeout, kTimeout }
#define INVALID \
  { kInvalid, kInvalid, kInvalid, kInvalid, kInvalid, kInvalid, kInvalid }

const Row kTable[] = {
    // call                          free  self reads  self writes  other reads  other writes  other
    // reads, writer waits  self reads, writer waits
    {"rdlock", pthread_rwlock_rdlock, {kOk, kOk, kDeadlock, kOk, kWouldBlock, kWouldBlock, kOk}},
    {"wrlock",
     pthread_rwlock_wrlock,
     {kOk, kWouldBlock, kDeadlock, kWouldBlock, kWouldBlock, kWouldBlock, kWouldBlock}},
    {"tryrdlock", pthread_rwlock_tryrdlock, {kOk, kOk, kBusy, kOk, kBusy, kOkOrBusy, kOk}},
    {"trywrlock", pthread_rwlock_trywrlock, {kOk, kBusy, kBusy, kBusy, kBusy, kBusy, kBusy}},
    {"timedrdlock, past", timed_read<kPast>, TIMED_READ},
    {"timedrdlock, soon", timed_read<kSoon>, TIMED_READ},
    {"timedwrlock, past", timed_write<kPast>, TIMED_WRITE},
    {"timedwrlock, soon", timed_write<kSoon>, TIMED_WRITE},
    {"clockrdlock realtime, past", clock_read<kReal, kPast>, TIMED_READ},
    {"clockrdlock realtime, soon", clock_read<kReal, kSoon>, TIMED_READ},
    {"clockrdlock monotonic, past", clock_read<kMono, kPast>, TIMED_READ},
    {"clockrdlock monotonic, soon", clock_read<kMono, kSoon>, TIMED_READ},
    {"clockwrlock realtime, past", clock_write<kReal, kPast>, TIMED_WRITE},
    {"clockwrlock realtime, soon", clock_write<kReal, kSoon>, TIMED_WRITE},
    {"clockwrlock monotonic, past", clock_write<kMono, kPast>, TIMED_WRITE},
    {"clockwrlock monotonic, soon", clock_write<kMono, kSoon>, TIMED_WRITE},
    {"timedrdlock at 0 s", read_at<0>, TIMED_READ},
    {"timedwrlock at 0 s", write_at<0>, TIMED_WRITE},
    {"timedrdlock at -1 s", read_at<-1>, TIMED_READ},
    {"timedwrlock at -1 s", write_at<-1>, TIMED_WRITE},
    {"timedrdlock at the least time_t", read_at<LONG_MIN>, TIMED_READ},
    {"timedwrlock at the least time_t", write_at<LONG_MIN>, TIMED_WRITE},
    {"clockrdlock monotonic at -1 s", clock_read_at<-1>, TIMED_READ},
    {"clockwrlock monotonic at -1 s", clock_write_at<-1>, TIMED_WRITE},
    {"clockrdlock monotonic at the least time_t", clock_read_at<LONG_MIN>, TIMED_READ},
    {"clockwrlock monotonic at the least time_t", clock_write_at<LONG_MIN>, TIMED_WRITE},
    {"timedrdlock, nanoseconds -1", invalid_read<-1>, INVALID},
    {"timedrdlock, nanoseconds 1e9", invalid_read<1'000'000'000>, INVALID},
    {"timedrdlock, nanoseconds LONG_MIN", invalid_read<LONG_MIN>, INVALID},
    {"timedwrlock, nanoseconds -1", invalid_write<-1>, INVALID},
    {"timedwrlock, nanoseconds 1e9", invalid_write<1'000'000'000>, INVALID},
    {"timedwrlock, nanoseconds LONG_MAX", invalid_write<LONG_MAX>, INVALID},
    {"clockrdlock, nanoseconds -1", invalid_clock_read<-1>, INVALID},
    {"clockrdlock, nanoseconds 1e9", invalid_clock_read<1'000'000'000>, INVALID},
    {"clockwrlock, nanoseconds -1", invalid_clock_write<-1>, INVALID},
    {"clockwrlock, nanoseconds 1e9", invalid_clock_write<1'000'000'000>, INVALID},
    {"clockrdlock, processor time clock", odd_clock_read<CLOCK_PROCESS_CPUTIME_ID>, INVALID},
    {"clockrdlock, boot time clock", odd_clock_read<CLOCK_BOOTTIME>, INVALID},
    {"clockrdlock, clock -1", odd_clock_read<-1>, INVALID},
    {"clockrdlock, clock 12345", odd_clock_read<12345>, INVALID},
    {"clockwrlock, thread time clock", odd_clock_write<CLOCK_THREAD_CPUTIME_ID>, INVALID},
    {"clockwrlock, coarse clock", odd_clock_write<CLOCK_REALTIME_COARSE>, INVALID},
    {"clockwrlock, clock -1", odd_clock_write<-1>, INVALID},
    {"clockwrlock, clock 12345", odd_clock_write<12345>, INVALID},
};

// Puts a lock into a state, and out of it.
class Scene {
 public:
  explicit Scene(State state, int warm_reads) : state_(state) {
    warm_up_readers(&lock_, warm_reads);
    if (state == kSelfReads || state == kSelfReadsWriterWaits)
      self_.run([&] { ASSERT_RC(0, pthread_rwlock_rdlock(&lock_)); });
    if (state == kSelfWrites) self_.run([&] { ASSERT_RC(0, pthread_rwlock_wrlock(&lock_)); });
    if (state == kOtherReads || state == kOtherReadsWriterWaits)
      other_.run([&] { ASSERT_RC(0, pthread_rwlock_rdlock(&lock_)); });
    if (state == kOtherWrites) other_.run([&] { ASSERT_RC(0, pthread_rwlock_wrlock(&lock_)); });
    if (state == kSelfReadsWriterWaits || state == kOtherReadsWriterWaits) {
      writer_.start([&] {
        EXPECT_RC(0, pthread_rwlock_wrlock(&lock_));
        EXPECT_RC(0, pthread_rwlock_unlock(&lock_));
      });
      EXPECT_TRUE(writer_.blocked());
    }
  }
  ~Scene() {
    if (state_ == kSelfReads || state_ == kSelfWrites || state_ == kSelfReadsWriterWaits)
      release(self_);
    if (state_ == kOtherReads || state_ == kOtherWrites || state_ == kOtherReadsWriterWaits)
      release(other_);
    writer_.finish();
    expect_works(&lock_);
  }
  Rc make(int (*f)(L*)) {
    Rc rc;
    self_.run([&] {
      rc = call([&] { return f(&lock_); });
      if (rc.value == 0) {
        EXPECT_RC(0, pthread_rwlock_unlock(&lock_));
      }
    });
    return rc;
  }

 private:
  void release(Actor& actor) {
    actor.run([&] { EXPECT_RC(0, pthread_rwlock_unlock(&lock_)); });
  }
  State state_;
  L lock_ = PTHREAD_RWLOCK_INITIALIZER;
  Actor self_, other_, writer_;
};

void check_column(State state) {
  for (int warm_reads : {0, 3000}) {
    Scene scene(state, warm_reads);
    for (const Row& row : kTable) {
      const Answer answer = row.answers[state];
      if (answer == kWouldBlock) continue;
      const Rc rc = scene.make(row.make);
      EXPECT_TRUE(fits(answer, rc.value) && rc.errno_kept)
          << row.name << " on a lock in state '" << kStateNames[state] << "' after " << warm_reads
          << " reads returned " << rc << ", expected " << kAnswerNames[answer];
    }
  }
}

}  // namespace

TEST(Values, Free) { check_column(kFree); }
TEST(Values, SelfReads) { check_column(kSelfReads); }
TEST(Values, SelfWrites) { check_column(kSelfWrites); }
TEST(Values, OtherReads) { check_column(kOtherReads); }
TEST(Values, OtherWrites) { check_column(kOtherWrites); }
TEST(Values, OtherReadsWriterWaits) { check_column(kOtherReadsWriterWaits); }
TEST(Values, SelfReadsWriterWaits) { check_column(kSelfReadsWriterWaits); }

// The thread that wrote is remembered no longer than it writes.
TEST(Values, DeadlockIsForgottenWithTheHold) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  for (int i = 0; i < 100; ++i) {
    ASSERT_RC(0, pthread_rwlock_wrlock(&lock));
    ASSERT_RC(EDEADLK, pthread_rwlock_wrlock(&lock));
    ASSERT_RC(EDEADLK, pthread_rwlock_rdlock(&lock));
    ASSERT_RC(0, pthread_rwlock_unlock(&lock));
    ASSERT_RC(0, pthread_rwlock_rdlock(&lock));
    ASSERT_RC(0, pthread_rwlock_unlock(&lock));
  }
}

// A hold got by a try or timed form is a hold like any other.
TEST(Values, EveryFormOfWriteHoldIsKnownToItsThread) {
  for (const Row& row : kTable) {
    if (row.answers[kOtherReads] == kOk || row.answers[kFree] != kOk)
      continue;  // write forms that succeed
    L lock = PTHREAD_RWLOCK_INITIALIZER;
    ASSERT_RC(0, row.make(&lock)) << row.name;
    EXPECT_RC(EDEADLK, pthread_rwlock_wrlock(&lock)) << row.name;
    EXPECT_RC(EDEADLK, pthread_rwlock_rdlock(&lock)) << row.name;
    Actor other;
    other.run([&] {
      EXPECT_RC(EBUSY, pthread_rwlock_tryrdlock(&lock));
      EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
    });
    EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    expect_works(&lock);
  }
}

}  // namespace conformance::rwlock_values
