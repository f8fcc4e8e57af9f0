// A thread destroys a lock as soon as it has it, while the last holder is still inside unlock. From
// the hand-off on, the object may not exist: here its page is made inaccessible, or filled with a
// pattern that must stay, or turned into another lock at once.
#include <memory>
#include <stdio.h>
#include <string.h>

#include <sys/mman.h>

#include "support.h"

namespace conformance::rwlock_destroy {

namespace {

using L = pthread_rwlock_t;

struct Object {
  L lock;
  std::atomic<int> left;       // users that have not finished with it
  std::atomic<bool> inside{};  // the first user holds the lock
};

// What happens to the object's page after destroy.
enum Fate { kClosed, kPattern, kNewLock, kFates };

class Pages {
 public:
  Pages() : size_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) { map(); }
  ~Pages() {
    check();
    munmap(base_, kCount * size_);
  }
  Object* next() {
    if (used_ == kCount) {
      check();
      munmap(base_, kCount * size_);
      map();
    }
    return reinterpret_cast<Object*>(base_ + size_ * static_cast<size_t>(used_++));
  }
  void end(Object* object, Fate fate) {
    if (fate == kClosed) mprotect(object, size_, PROT_NONE);
    if (fate == kPattern) memset(static_cast<void*>(object), 0xa5, sizeof *object);
    if (fate == kNewLock) {
      memset(static_cast<void*>(object), 0, sizeof *object);
      EXPECT_EQ(0, pthread_rwlock_trywrlock(&object->lock))
          << "a new lock in a destroyed one's place is not free";
    }
    fates_[static_cast<size_t>(index(object))] = fate;
  }

 private:
  static constexpr int kCount = 256;
  int index(Object* object) const {
    return static_cast<int>((reinterpret_cast<char*>(object) - base_) / static_cast<long>(size_));
  }
  void map() {
    base_ = static_cast<char*>(
        mmap(nullptr, kCount * size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(MAP_FAILED, static_cast<void*>(base_));
    used_ = 0;
  }
  // A new lock stays held for writing by the thread that ended the old one: the one that calls
  // this. Nobody came back to a destroyed object in the meantime.
  void check() {
    for (int i = 0; i < used_; ++i) {
      auto* object = reinterpret_cast<Object*>(base_ + size_ * static_cast<size_t>(i));
      if (fates_[static_cast<size_t>(i)] == kPattern) {
        const auto bytes = reinterpret_cast<unsigned char*>(object);
        for (size_t b = 0; b < sizeof *object; ++b)
          ASSERT_EQ(0xa5, bytes[b]) << "byte " << b << " was written after destroy";
      }
      if (fates_[static_cast<size_t>(i)] == kNewLock) {
        Actor other;
        other.run([&] {
          EXPECT_EQ(EBUSY, pthread_rwlock_trywrlock(&object->lock));
          EXPECT_EQ(EBUSY, pthread_rwlock_tryrdlock(&object->lock));
        });
        EXPECT_EQ(0, pthread_rwlock_unlock(&object->lock));
        expect_works(&object->lock);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
  size_t size_;
  char* base_ = nullptr;
  int used_ = 0;
  Fate fates_[kCount] = {};
};

void dawdle(std::mt19937& random) {
  for (unsigned n = random() % 3 ? 0 : random() % 400; n > 0; --n)
    asm volatile("");
  if (random() % 8 == 0) sched_yield();
}

int take_patiently(L* lock, bool write, unsigned form) {
  switch (form % 3) {
    case 0:
      return write ? pthread_rwlock_wrlock(lock) : pthread_rwlock_rdlock(lock);
    case 1: {
      for (;;) {
        const int rc = write ? pthread_rwlock_trywrlock(lock) : pthread_rwlock_tryrdlock(lock);
        if (rc != EBUSY) return rc;
        sched_yield();
      }
    }
    default: {
      const timespec t = after(CLOCK_MONOTONIC, 600'000 * kMillisecond);
      return write ? pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &t)
                   : pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &t);
    }
  }
}

// One thread releases the lock; the other, which knows that it is the last, then takes the lock,
// releases and destroys it, and ruins its page.
void last_user(bool leaver_writes, bool last_writes) {
  Pages pages;
  std::atomic<Object*> given{nullptr};
  std::atomic<bool> over{false};
  std::thread leaver([&] {
    std::mt19937 random(seed() + 1);
    Object* seen = nullptr;
    while (!over) {
      Object* object = given.load();
      if (object == nullptr || object == seen) {
        sched_yield();
        continue;
      }
      seen = object;
      EXPECT_EQ(0, leaver_writes ? pthread_rwlock_wrlock(&object->lock)
                                 : pthread_rwlock_rdlock(&object->lock));
      given = nullptr;
      seen = nullptr;
      object->inside = true;
      dawdle(random);
      EXPECT_EQ(0, pthread_rwlock_unlock(&object->lock));
    }
  });
  std::mt19937 random(seed());
  const std::int64_t end = milliseconds() + scaled_time(250);
  long rounds = 0;
  do {
    Object* object = pages.next();
    EXPECT_EQ(0, pthread_rwlock_init(&object->lock, nullptr));
    object->inside = false;
    warm_up_readers(&object->lock, rounds % 3 == 0 ? 0 : rounds % 50 == 1 ? 2000 : 60);
    given = object;
    while (!object->inside)
      sched_yield();
    dawdle(random);
    EXPECT_EQ(0, take_patiently(&object->lock, last_writes, random()));
    EXPECT_EQ(0, pthread_rwlock_unlock(&object->lock));
    EXPECT_EQ(0, pthread_rwlock_destroy(&object->lock));
    pages.end(object, static_cast<Fate>(rounds % kFates));
    ++rounds;
  } while (milliseconds() < end && !testing::Test::HasFailure());
  over = true;
  leaver.join();
}

}  // namespace

TEST(Destroy, ByAWriterAfterAReader) { last_user(false, true); }
TEST(Destroy, ByAWriterAfterAWriter) { last_user(true, true); }
TEST(Destroy, ByAReaderAfterAWriter) { last_user(true, false); }

// The classic: users count themselves out under the lock, and the last one destroys it.
TEST(Destroy, ByTheLastOfManyCountedUsers) {
  const int users = spinning() ? 2 : 4;
  Pages pages;
  std::atomic<Object*> round_object{nullptr};
  std::atomic<long> round{0}, ended{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> crew;
  for (int u = 0; u < users; ++u)
    crew.emplace_back([&, u] {
      std::mt19937 random(seed() + static_cast<unsigned>(u));
      for (long mine = 1;; ++mine) {
        while (round < mine && !over)
          sched_yield();
        if (over) return;
        Object* object = round_object;
        dawdle(random);
        if (random() % 2 == 0) {  // it also reads before it counts itself out
          EXPECT_EQ(0, pthread_rwlock_rdlock(&object->lock));
          EXPECT_EQ(0, pthread_rwlock_unlock(&object->lock));
        }
        EXPECT_EQ(0, take_patiently(&object->lock, true, random()));
        const bool last = --object->left == 0;
        EXPECT_EQ(0, pthread_rwlock_unlock(&object->lock));
        if (last) {
          EXPECT_EQ(0, pthread_rwlock_destroy(&object->lock));
          pages.end(object, mine % 2 ? kClosed : kPattern);
          ended = mine;
        }
      }
    });
  const std::int64_t end = milliseconds() + scaled_time(400);
  long rounds = 0;
  do {
    Object* object = pages.next();
    EXPECT_EQ(0, pthread_rwlock_init(&object->lock, nullptr));
    object->left = users;
    warm_up_readers(&object->lock, rounds % 2 ? 60 : 0);
    round_object = object;
    round = ++rounds;
    while (ended < rounds)
      sched_yield();
  } while (milliseconds() < end && !testing::Test::HasFailure());
  over = true;
  for (std::thread& t : crew)
    t.join();
}

// Several readers leave at about the same time; the writer that waited for all of them destroys.
TEST(Destroy, ByAWriterAfterManyReaders) {
  constexpr int kReaders = 3;
  const int readers = spinning() ? 1 : kReaders;
  Pages pages;
  std::atomic<Object*> round_object{nullptr};
  std::atomic<long> round{0};
  std::atomic<int> inside{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> crew;
  for (int u = 0; u < readers; ++u)
    crew.emplace_back([&, u] {
      std::mt19937 random(seed() + static_cast<unsigned>(u));
      for (long mine = 1;; ++mine) {
        while (round < mine && !over)
          sched_yield();
        if (over) return;
        Object* object = round_object;
        EXPECT_EQ(0, pthread_rwlock_rdlock(&object->lock));
        ++inside;
        while (inside < readers)
          sched_yield();
        dawdle(random);
        EXPECT_EQ(0, pthread_rwlock_unlock(&object->lock));
      }
    });
  std::mt19937 random(seed());
  const std::int64_t end = milliseconds() + scaled_time(300);
  long rounds = 0;
  do {
    Object* object = pages.next();
    EXPECT_EQ(0, pthread_rwlock_init(&object->lock, nullptr));
    warm_up_readers(&object->lock, rounds % 3 == 0 ? 0 : 60);
    round_object = object;
    inside = 0;
    round = ++rounds;
    while (inside < readers)
      sched_yield();
    EXPECT_EQ(0, take_patiently(&object->lock, true, random()));
    EXPECT_EQ(0, pthread_rwlock_unlock(&object->lock));
    EXPECT_EQ(0, pthread_rwlock_destroy(&object->lock));
    pages.end(object, static_cast<Fate>(rounds % kFates));
  } while (milliseconds() < end && !testing::Test::HasFailure());
  over = true;
  for (std::thread& t : crew)
    t.join();
}

}  // namespace conformance::rwlock_destroy
