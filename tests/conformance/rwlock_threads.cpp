// Threads: very many over time, many at once, and those that are about to end.
#include <limits.h>

#include "support.h"

namespace conformance::rwlock_threads {

namespace {
using L = pthread_rwlock_t;
}

TEST(Threads, VeryManyOverTime) {
  static Guarded guarded[4];
  constexpr int kAtOnce = 8;
  const auto body = [](void*) -> void* {
    for (Guarded& g : guarded) {
      EXPECT_EQ(0, pthread_rwlock_rdlock(&g.lock));
      EXPECT_EQ(0, pthread_rwlock_rdlock(&g.lock));
      g.read_inside();
      EXPECT_EQ(0, pthread_rwlock_unlock(&g.lock));
      EXPECT_EQ(0, pthread_rwlock_unlock(&g.lock));
    }
    if (pthread_rwlock_trywrlock(&guarded[0].lock) == 0) {
      guarded[0].write_inside();
      EXPECT_EQ(0, pthread_rwlock_unlock(&guarded[0].lock));
    }
    return nullptr;
  };
  pthread_attr_t attribute;
  pthread_attr_init(&attribute);
  pthread_attr_setstacksize(&attribute, PTHREAD_STACK_MIN + 64 * 1024);
  const int threads = scaled(10'000);
  pthread_t crew[kAtOnce];
  for (int made = 0; made < threads; made += kAtOnce) {
    for (pthread_t& t : crew)
      ASSERT_EQ(0, pthread_create(&t, &attribute, body, nullptr));
    for (pthread_t& t : crew)
      ASSERT_EQ(0, pthread_join(t, nullptr));
  }
  for (Guarded& g : guarded) {
    EXPECT_EQ(0u, g.violations.load());
    expect_works(&g.lock);
  }
}

TEST(Threads, SixtyFourAtOnce) {
  static Guarded guarded[2];
  hammer(64, spinning() ? 1 : scaled_time(400), [&](int index, std::mt19937& random) {
    Guarded& g = guarded[random() % 2];
    const bool write = (index + static_cast<int>(random() % 8)) % 8 == 0;
    ASSERT_EQ(0, write ? pthread_rwlock_wrlock(&g.lock) : pthread_rwlock_rdlock(&g.lock));
    if (write)
      g.write_inside();
    else
      g.read_inside();
    ASSERT_EQ(0, pthread_rwlock_unlock(&g.lock));
  });
  for (Guarded& g : guarded) {
    EXPECT_EQ(0u, g.violations.load());
    expect_works(&g.lock);
  }
}

// All hold at the same moment: no table of holders is too small.
TEST(Threads, HundredsHoldTheSameLockAtOnce) {
  const int threads = scaled_up(200);
  L locks[3] = {PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER};
  for (L& lock : locks)
    warm_up_readers(&lock);
  std::atomic<int> inside{0};
  std::atomic<bool> leave{false};
  std::vector<std::thread> crew;
  for (int i = 0; i < threads; ++i)
    crew.emplace_back([&] {
      for (L& lock : locks)
        EXPECT_RC(0, pthread_rwlock_rdlock(&lock));
      if (inside.fetch_add(1) + 1 == threads) inside.notify_all();
      leave.wait(false);
      for (L& lock : locks)
        EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    });
  for (int n = inside; n < threads; n = inside)
    inside.wait(n);
  for (L& lock : locks)
    EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
  leave = true;
  leave.notify_all();
  for (std::thread& t : crew)
    t.join();
  for (L& lock : locks)
    expect_works(&lock);
}

// ---- on the way out

namespace {

pthread_key_t key;
L exit_lock = PTHREAD_RWLOCK_INITIALIZER, exit_held = PTHREAD_RWLOCK_INITIALIZER;
std::atomic<int> destructor_runs{0};

void use_in_destructor(void* round) {
  const auto n = reinterpret_cast<std::intptr_t>(round);
  EXPECT_RC(0, pthread_rwlock_rdlock(&exit_held));  // recursion: the thread's body took it
  EXPECT_RC(0, pthread_rwlock_unlock(&exit_held));
  EXPECT_RC(0, pthread_rwlock_wrlock(&exit_lock));
  EXPECT_RC(EDEADLK, pthread_rwlock_wrlock(&exit_lock));
  EXPECT_RC(0, pthread_rwlock_unlock(&exit_lock));
  EXPECT_RC(0, pthread_rwlock_rdlock(&exit_lock));
  EXPECT_RC(0, pthread_rwlock_rdlock(&exit_lock));
  EXPECT_RC(0, pthread_rwlock_unlock(&exit_lock));
  EXPECT_RC(0, pthread_rwlock_unlock(&exit_lock));
  ++destructor_runs;
  if (n < PTHREAD_DESTRUCTOR_ITERATIONS - 1)
    pthread_setspecific(key, reinterpret_cast<void*>(n + 1));
  else
    EXPECT_RC(0, pthread_rwlock_unlock(&exit_held));
}

struct UsesLocksAtThreadExit {
  ~UsesLocksAtThreadExit() {
    EXPECT_RC(0, pthread_rwlock_rdlock(&exit_lock));
    EXPECT_RC(0, pthread_rwlock_unlock(&exit_lock));
    EXPECT_RC(0, pthread_rwlock_wrlock(&exit_lock));
    EXPECT_RC(0, pthread_rwlock_unlock(&exit_lock));
  }
};

}  // namespace

// Destructors of thread-specific data run in several rounds, some after any bookkeeping of ours has
// ended.
TEST(Threads, KeyDestructorsThatLock) {
  ASSERT_EQ(0, pthread_key_create(&key, use_in_destructor));
  for (int i = 0; i < 50; ++i) {
    std::thread([] {
      EXPECT_RC(0, pthread_rwlock_rdlock(&exit_held));
      pthread_setspecific(key, reinterpret_cast<void*>(std::intptr_t{1}));
    }).join();
    expect_works(&exit_held);
    expect_works(&exit_lock);
  }
  EXPECT_EQ(50 * (PTHREAD_DESTRUCTOR_ITERATIONS - 1), destructor_runs.load());
}

TEST(Threads, KeyDestructorThatReadsAgainBesideAWaitingWriter) {
  ASSERT_EQ(0, pthread_key_create(&key, use_in_destructor));
  for (int i = 0; i < 5; ++i) {
    std::atomic<bool> holds{false}, go_on{false};
    std::thread reader([&] {
      EXPECT_RC(0, pthread_rwlock_rdlock(&exit_held));
      pthread_setspecific(key, reinterpret_cast<void*>(std::intptr_t{1}));
      holds = true;
      holds.notify_all();
      go_on.wait(false);
    });
    holds.wait(false);
    Actor writer;
    writer.start([&] {
      EXPECT_RC(0, pthread_rwlock_wrlock(&exit_held));
      EXPECT_RC(0, pthread_rwlock_unlock(&exit_held));
    });
    EXPECT_TRUE(writer.blocked());
    go_on = true;
    go_on.notify_all();
    reader.join();
    writer.finish();
  }
}

TEST(Threads, ThreadLocalDestructorsThatLock) {
  for (int i = 0; i < 50; ++i)
    std::thread([] {
      static thread_local UsesLocksAtThreadExit object;
      (void)&object;
      EXPECT_RC(0, pthread_rwlock_rdlock(&exit_lock));
      EXPECT_RC(0, pthread_rwlock_unlock(&exit_lock));
    }).join();
  expect_works(&exit_lock);
}

TEST(Threads, HoldOfAnExitedThreadStays) {
  L lock = PTHREAD_RWLOCK_INITIALIZER;
  for (int reads : {0, 3000}) {
    warm_up_readers(&lock, reads);
    std::thread([&] { EXPECT_RC(0, pthread_rwlock_rdlock(&lock)); }).join();
    for (int i = 0; i < 20; ++i)
      std::thread([&] {
        EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
        EXPECT_RC(0, pthread_rwlock_rdlock(&lock));
        EXPECT_RC(0, pthread_rwlock_unlock(&lock));
      }).join();
    EXPECT_RC(EBUSY, pthread_rwlock_trywrlock(&lock));
    EXPECT_RC(0, pthread_rwlock_unlock(&lock));
    expect_works(&lock);
  }
}

}  // namespace conformance::rwlock_threads
