// Each function of rlu.h and rlu.hpp, in the library.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <mutex>
#include <optional>
#include <thread>
#include <unistd.h>
#include <vector>

#include <sys/wait.h>

#include "lockswap/rlu.hpp"

namespace {

namespace rlu = lockswap::rlu;

lockswap_rlu_counts counts() {
  lockswap_rlu_counts c;
  EXPECT_EQ(lockswap_rlu_get_counts(&c), 0);
  return c;
}

struct Node {
  int value = 0;
  rlu::link<Node> next{};
};

int value_of(Node* n) {
  const rlu::section here;
  return here.read(n)->value;
}
void add(Node* n, int more) {
  rlu::update([&](rlu::section& here) -> std::optional<bool> {
    Node* mine = n;
    if (!here.lock(mine)) return std::nullopt;
    mine->value += more;
    return true;
  });
}
template <class F>
void in_thread(const F& f) {
  std::thread(f).join();
}
// A thread that does f, and stays until the end.
class Staying {
 public:
  template <class F>
  explicit Staying(F f)
      : thread_([this, f] {
          f();
          came_ = true;
          came_.notify_one();
          goes_.wait(false);
        }) {
    came_.wait(false);
  }
  ~Staying() {
    goes_ = true;
    goes_.notify_one();
    thread_.join();
  }

 private:
  std::atomic<bool> came_{false}, goes_{false};
  std::thread thread_;
};
// 0 if f() gave true in a forked child.
template <class F>
int in_child(const F& f) {
  const pid_t pid = fork();
  if (pid == 0) _exit(f() ? 0 : 1);
  int status = -1;
  waitpid(pid, &status, 0);
  return status;
}

class RluTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(lockswap_rlu_set_deferral(1), 0); }
  void TearDown() override {
    EXPECT_EQ(lockswap_rlu_depth(), 0u);
    EXPECT_EQ(lockswap_rlu_flush_all(), 0);
    EXPECT_EQ(lockswap_rlu_set_deferral(1), 0);
  }
};

TEST_F(RluTest, ObjectsAreZeroAndAligned) {
  for (const std::size_t size : {1u, 16u, 1000u}) {
    auto* p = static_cast<char*>(lockswap_rlu_alloc(size));
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 16, 0u);
    for (std::size_t i = 0; i < size; ++i)
      EXPECT_EQ(p[i], 0);
    lockswap_rlu_discard(p);
  }
  EXPECT_EQ(lockswap_rlu_alloc(SIZE_MAX), nullptr);
  EXPECT_EQ(lockswap_rlu_free(nullptr), 0);
  lockswap_rlu_discard(nullptr);
  EXPECT_EQ(lockswap_rlu_dereference(nullptr), nullptr);
  EXPECT_EQ(lockswap_rlu_actual(nullptr), nullptr);
}

TEST_F(RluTest, ASectionSeesItsOwnChangesOthersSeeThemAfter) {
  Node* const n = rlu::make<Node>(1);
  lockswap_rlu_reader_lock();
  auto* const copy = static_cast<Node*>(lockswap_rlu_try_lock(n));
  ASSERT_NE(copy, nullptr);
  EXPECT_NE(copy, n);
  copy->value = 2;
  EXPECT_EQ(lockswap_rlu_try_lock(n), copy);
  EXPECT_EQ(lockswap_rlu_try_lock(copy), copy);
  EXPECT_EQ(lockswap_rlu_dereference(n), copy);
  EXPECT_EQ(lockswap_rlu_actual(copy), n);
  EXPECT_TRUE(lockswap_rlu_same(copy, n));
  in_thread([n] { EXPECT_EQ(value_of(n), 1); });
  lockswap_rlu_reader_unlock();
  in_thread([n] { EXPECT_EQ(value_of(n), 2); });
  EXPECT_EQ(n->value, 2);
  rlu::free(n);
}

TEST_F(RluTest, AnAbortUndoesEverything) {
  Node* const n = rlu::make<Node>(1);
  Node* const other = rlu::make<Node>(5);
  lockswap_rlu_reader_lock();
  lockswap_rlu_reader_lock();
  static_cast<Node*>(lockswap_rlu_try_lock(n))->value = 2;
  EXPECT_EQ(lockswap_rlu_free(other), 0);
  EXPECT_EQ(lockswap_rlu_depth(), 2u);
  EXPECT_EQ(lockswap_rlu_reader_unlock(), 0);
  EXPECT_EQ(lockswap_rlu_abort(), 0);
  EXPECT_EQ(lockswap_rlu_depth(), 0u);
  EXPECT_EQ(value_of(n), 1);
  EXPECT_EQ(value_of(other), 5);
  rlu::free(n);
  rlu::free(other);
}

TEST_F(RluTest, NestedSectionsCommitTogether) {
  Node* const n = rlu::make<Node>(1);
  lockswap_rlu_reader_lock();
  {
    const rlu::section nested;
    Node* mine = n;
    ASSERT_TRUE(nested.lock(mine));
    ++mine->value;
  }
  in_thread([n] { EXPECT_EQ(value_of(n), 1); });
  lockswap_rlu_reader_unlock();
  in_thread([n] { EXPECT_EQ(value_of(n), 2); });
  rlu::free(n);
}

TEST_F(RluTest, AnotherThreadsLockIsBusyAndWaitedForByTheAbort) {
  Node* const n = rlu::make<Node>(1);
  std::atomic<bool> aborted{false};
  std::thread other;
  lockswap_rlu_reader_lock();
  static_cast<Node*>(lockswap_rlu_try_lock(n))->value = 10;
  std::atomic<bool> failed{false};
  other = std::thread([&] {
    lockswap_rlu_reader_lock();
    EXPECT_EQ(lockswap_rlu_try_lock(n), nullptr);
    EXPECT_EQ(lockswap_rlu_try_lock_const(n), nullptr);
    EXPECT_EQ(lockswap_rlu_free(n), EBUSY);
    failed = true;
    failed.notify_one();
    lockswap_rlu_abort();
    aborted = true;
    add(n, 1);
  });
  failed.wait(false);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(aborted);
  lockswap_rlu_reader_unlock();
  other.join();
  EXPECT_EQ(value_of(n), 11);
  EXPECT_GE(counts().sync_requests, 3u);
  rlu::free(n);
}

TEST_F(RluTest, AConstLockCopiesNothingAndKeepsOthersOut) {
  Node* const n = rlu::make<Node>(1);
  const auto before = counts();
  lockswap_rlu_reader_lock();
  EXPECT_EQ(lockswap_rlu_try_lock_const(n), n);
  EXPECT_EQ(lockswap_rlu_dereference(n), n);
  in_thread([n] {
    EXPECT_EQ(value_of(n), 1);
    lockswap_rlu_reader_lock();
    EXPECT_EQ(lockswap_rlu_try_lock_const(n), nullptr);
    lockswap_rlu_reader_unlock();
  });
  lockswap_rlu_reader_unlock();
  const auto after = counts();
  EXPECT_EQ(after.write_backs, before.write_backs);
  EXPECT_EQ(after.synchronizes, before.synchronizes);  // nothing has changed
  // A lock to change it may follow.
  lockswap_rlu_reader_lock();
  EXPECT_EQ(lockswap_rlu_try_lock_const(n), n);
  auto* const copy = static_cast<Node*>(lockswap_rlu_try_lock(n));
  ASSERT_NE(copy, n);
  EXPECT_EQ(lockswap_rlu_try_lock_const(n), copy);
  copy->value = 2;
  lockswap_rlu_reader_unlock();
  EXPECT_EQ(value_of(n), 2);
  rlu::free(n);
}

TEST_F(RluTest, LinksNeverPointToCopies) {
  Node* const a = rlu::make<Node>(1);
  Node* const b = rlu::make<Node>(2);
  rlu::update([&](rlu::section& here) -> std::optional<bool> {
    Node* first = a;
    Node* second = b;
    if (!here.lock(first) || !here.lock(second)) return std::nullopt;
    first->next = second;
    EXPECT_EQ(first->next.get(), b);
    EXPECT_EQ(first->next.read(), second);
    return true;
  });
  EXPECT_EQ(a->next.get(), b);
  rlu::free(a);
  rlu::free(b);
}

TEST_F(RluTest, ObjectsOfAnySizeAndLogsThatGrow) {
  constexpr std::size_t kLarge = 1 << 20;
  auto* const large = static_cast<char*>(lockswap_rlu_alloc(kLarge));
  std::vector<Node*> many;
  for (int i = 0; i < 3000; ++i)
    many.push_back(rlu::make<Node>(i));
  for (int round = 1; round <= 4; ++round) {
    lockswap_rlu_reader_lock();
    auto* const copy = static_cast<char*>(lockswap_rlu_try_lock(large));
    ASSERT_NE(copy, nullptr);
    std::memset(copy, round, kLarge);
    for (Node* n : many) {
      auto* const mine = static_cast<Node*>(lockswap_rlu_try_lock(n));
      ASSERT_NE(mine, nullptr);
      ++mine->value;
    }
    EXPECT_EQ(large[kLarge - 1], round - 1);
    lockswap_rlu_reader_unlock();
    EXPECT_EQ(large[0], round);
    EXPECT_EQ(large[kLarge - 1], round);
    for (int i = 0; i < 3000; ++i)
      EXPECT_EQ(many[static_cast<std::size_t>(i)]->value, i + round);
  }
  for (Node* n : many)
    rlu::free(n);
  rlu::free(large);
  EXPECT_EQ(lockswap_rlu_flush(), 0);
  EXPECT_LT(counts().log_bytes, std::uint64_t{1} << 20);  // what is beyond the usual is given back
}

// Copies of small objects that come behind a large one in a log, as other threads meet them.
TEST_F(RluTest, SmallObjectsBehindLargeOnesAreKnown) {
  constexpr std::size_t kSizes[] = {0, 8, 16'000, 20'000, 100'000, 1 << 20};
  for (const std::size_t size : kSizes) {
    void* const first = lockswap_rlu_alloc(size);
    if (size != 0) std::memset(first, 1, size);
    std::vector<Node*> small;
    for (int i = 0; i < 500; ++i)
      small.push_back(rlu::make<Node>(i));
    std::vector<Node*> copies;
    lockswap_rlu_reader_lock();
    ASSERT_NE(lockswap_rlu_try_lock(first), nullptr);
    for (Node* n : small) {
      copies.push_back(static_cast<Node*>(lockswap_rlu_try_lock(n)));
      ASSERT_NE(copies.back(), nullptr);
      copies.back()->value = -1;
    }
    for (std::size_t i = 0; i < small.size(); ++i) {
      ASSERT_EQ(lockswap_rlu_try_lock(small[i]), copies[i]) << size << ' ' << i;
      ASSERT_EQ(lockswap_rlu_dereference(small[i]), copies[i]) << size << ' ' << i;
    }
    in_thread([&] {
      lockswap_rlu_reader_lock();
      for (std::size_t i = 0; i < small.size(); ++i) {
        EXPECT_EQ(lockswap_rlu_dereference(small[i]), small[i]);
        EXPECT_EQ(lockswap_rlu_try_lock(small[i]), nullptr);
      }
      lockswap_rlu_reader_unlock();
    });
    lockswap_rlu_reader_unlock();
    for (Node* n : small) {
      EXPECT_EQ(n->value, -1);
      rlu::free(n);
    }
    rlu::free(static_cast<char*>(first));
  }
}

// An object of no size has a copy without a byte, which must not begin where the chunk has ended.
TEST_F(RluTest, ObjectsWithoutAByteAreKnownAnywhereInALog) {
  std::vector<void*> all;
  for (int i = 0; i < 2000; ++i)
    all.push_back(lockswap_rlu_alloc(0));
  lockswap_rlu_reader_lock();
  std::vector<void*> copies;
  for (void* p : all)
    copies.push_back(lockswap_rlu_try_lock(p));
  for (std::size_t i = 0; i < all.size(); ++i)
    ASSERT_EQ(lockswap_rlu_dereference(all[i]), copies[i]) << i;
  lockswap_rlu_reader_unlock();
  for (void* p : all)
    rlu::free(static_cast<char*>(p));
}

TEST_F(RluTest, DeferredCommitsTakeEffectAtTheLimit) {
  EXPECT_EQ(lockswap_rlu_set_deferral(0), EINVAL);
  ASSERT_EQ(lockswap_rlu_set_deferral(3), 0);
  Node* const n = rlu::make<Node>(0);
  const auto before = counts();
  for (int i = 1; i <= 2; ++i) {
    add(n, 1);
    EXPECT_EQ(value_of(n), i);  // its own thread sees it
    in_thread([n] { EXPECT_EQ(value_of(n), 0); });
  }
  EXPECT_EQ(counts().syncs, before.syncs);
  add(n, 1);
  EXPECT_EQ(counts().syncs, before.syncs + 1);
  in_thread([n] { EXPECT_EQ(value_of(n), 3); });
  rlu::free(n);
  EXPECT_EQ(lockswap_rlu_flush(), 0);
}

TEST_F(RluTest, AFlushMakesWhatIsDeferredTakeEffect) {
  ASSERT_EQ(lockswap_rlu_set_deferral(100), 0);
  Node* const n = rlu::make<Node>(0);
  add(n, 1);
  EXPECT_EQ(n->value, 0);
  EXPECT_EQ(lockswap_rlu_flush(), 0);
  EXPECT_EQ(n->value, 1);
  const Staying other([n] { add(n, 1); });
  EXPECT_EQ(n->value, 1);
  EXPECT_EQ(lockswap_rlu_flush(), 0);
  EXPECT_EQ(n->value, 1);
  EXPECT_EQ(lockswap_rlu_flush_all(), 0);
  EXPECT_EQ(n->value, 2);
  rlu::free(n);
}

TEST_F(RluTest, AThreadThatSleepsIsHelped) {
  ASSERT_EQ(lockswap_rlu_set_deferral(100), 0);
  Node* const n = rlu::make<Node>(0);
  const auto before = counts();
  const Staying other([n] { add(n, 1); });
  add(n, 1);
  EXPECT_EQ(value_of(n), 2);
  EXPECT_EQ(counts().helps, before.helps + 1);
  rlu::free(n);
}

TEST_F(RluTest, AnAbortPutsADeferredCopyBack) {
  ASSERT_EQ(lockswap_rlu_set_deferral(100), 0);
  Node* const n = rlu::make<Node>(0);
  add(n, 1);
  lockswap_rlu_reader_lock();
  auto* const mine = static_cast<Node*>(lockswap_rlu_try_lock(n));
  ASSERT_NE(mine, nullptr);
  EXPECT_EQ(mine->value, 1);
  mine->value = 7;
  EXPECT_EQ(lockswap_rlu_abort(), 0);
  EXPECT_EQ(value_of(n), 1);
  EXPECT_EQ(lockswap_rlu_flush(), 0);
  EXPECT_EQ(n->value, 1);
  rlu::free(n);
}

TEST_F(RluTest, AWaitInASectionIsRefused) {
  static rlu::writer_lock lock;
  const rlu::section here;
  EXPECT_EQ(lockswap_rlu_flush(), EDEADLK);
  EXPECT_EQ(lockswap_rlu_flush_all(), EDEADLK);
  EXPECT_EQ(lockswap_rlu_synchronize(), EDEADLK);
  EXPECT_EQ(lockswap_rlu_barrier(), EDEADLK);
  EXPECT_EQ(lockswap_rlu_writer_acquire(lock.native_handle()), EDEADLK);
  EXPECT_EQ(lockswap_rlu_writer_release(lock.native_handle()), EDEADLK);
}

TEST_F(RluTest, WriterLocksExcludeAndCommitAtOnce) {
  ASSERT_EQ(lockswap_rlu_set_deferral(100), 0);
  static rlu::writer_lock lock;
  Node* const n = rlu::make<Node>(0);
  {
    const std::lock_guard guard(lock);
    EXPECT_EQ(lockswap_rlu_writer_acquire(lock.native_handle()), EDEADLK);
    add(n, 1);
    EXPECT_EQ(n->value, 1);
    in_thread([] { EXPECT_EQ(lockswap_rlu_writer_release(lock.native_handle()), EPERM); });
  }
  EXPECT_EQ(lockswap_rlu_writer_release(lock.native_handle()), EPERM);
  const auto before = counts().aborts;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([n] {
      for (int i = 0; i < 200; ++i) {
        const std::lock_guard guard(lock);
        add(n, 1);
      }
    });
  }
  for (auto& t : threads)
    t.join();
  EXPECT_EQ(n->value, 801);
  EXPECT_EQ(counts().aborts, before);
  rlu::free(n);
}

struct Counted {
  lockswap_rlu_callback callback{};
  std::atomic<int> calls{0};
};
void count_it(lockswap_rlu_callback* c) { ++reinterpret_cast<Counted*>(c)->calls; }

TEST_F(RluTest, CallbacksComeAfterAGracePeriodAndOnce) {
  Counted counted;
  std::atomic<bool> leave{false};
  std::atomic<bool> in{false};
  std::thread reader([&] {
    const rlu::section here;
    in = true;
    in.notify_one();
    leave.wait(false);
  });
  in.wait(false);
  lockswap_rlu_call(&counted.callback, count_it);
  std::thread waits([] { EXPECT_EQ(lockswap_rlu_barrier(), 0); });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(counted.calls, 0);
  leave = true;
  leave.notify_one();
  waits.join();
  reader.join();
  EXPECT_EQ(counted.calls, 1);
  EXPECT_EQ(lockswap_rlu_barrier(), 0);
  EXPECT_EQ(counted.calls, 1);
}

TEST_F(RluTest, ManyCallbacksNeedNoBarrier) {
  std::vector<Counted> counted(1000);
  for (Counted& t : counted) {
    const rlu::section here;
    lockswap_rlu_call(&t.callback, count_it);
  }
  int called = 0;
  for (const Counted& t : counted)
    called += t.calls;
  EXPECT_GE(called, 500);
  EXPECT_EQ(lockswap_rlu_barrier(), 0);
  for (const Counted& t : counted)
    EXPECT_EQ(t.calls, 1);
}

TEST_F(RluTest, ABarrierInACallbackIsRefused) {
  static std::atomic<int> result{-1};
  static lockswap_rlu_callback c;
  lockswap_rlu_call(&c, [](lockswap_rlu_callback*) { result = lockswap_rlu_barrier(); });
  EXPECT_EQ(lockswap_rlu_barrier(), 0);
  EXPECT_EQ(result, EDEADLK);
}

TEST_F(RluTest, AThreadThatExitsFlushesAndAbortsAnOpenSection) {
  ASSERT_EQ(lockswap_rlu_set_deferral(100), 0);
  Node* const n = rlu::make<Node>(0);
  Node* const open = rlu::make<Node>(0);
  in_thread([=] {
    add(n, 1);
    lockswap_rlu_reader_lock();
    static_cast<Node*>(lockswap_rlu_try_lock(open))->value = 9;
  });
  EXPECT_EQ(n->value, 1);
  EXPECT_EQ(open->value, 0);
  EXPECT_EQ(lockswap_rlu_synchronize(), 0);  // its section is over
  add(open, 1);
  EXPECT_EQ(lockswap_rlu_flush(), 0);
  EXPECT_EQ(open->value, 1);
  rlu::free(n);
  rlu::free(open);
}

TEST_F(RluTest, ThreadsThatCameAndWentLeaveNothing) {
  Node* const n = rlu::make<Node>(0);
  in_thread([n] { add(n, 1); });
  const auto before = counts();
  for (int i = 0; i < 300; ++i)
    in_thread([n] { add(n, 1); });
  EXPECT_EQ(counts().threads, before.threads);
  EXPECT_EQ(counts().log_bytes, before.log_bytes);
  EXPECT_EQ(n->value, 301);
  rlu::free(n);
}

TEST_F(RluTest, AChildGoesOnWithItsSectionAndWithoutTheOthers) {
  ASSERT_EQ(lockswap_rlu_set_deferral(100), 0);
  Node* const mine = rlu::make<Node>(0);
  Node* const deferred = rlu::make<Node>(0);
  Node* const open = rlu::make<Node>(0);
  const Staying other([=] {
    add(deferred, 1);
    lockswap_rlu_reader_lock();
    static_cast<Node*>(lockswap_rlu_try_lock(open))->value = 9;
  });
  lockswap_rlu_reader_lock();
  static_cast<Node*>(lockswap_rlu_try_lock(mine))->value = 3;
  EXPECT_EQ(in_child([=] {
              if (lockswap_rlu_depth() != 1) return false;
              lockswap_rlu_reader_unlock();
              lockswap_rlu_flush();
              if (mine->value != 3 || deferred->value != 1 || open->value != 0) return false;
              add(open, 1);
              add(deferred, 1);
              std::thread([=] { add(open, 1); }).join();
              lockswap_rlu_flush_all();
              return open->value == 2 && deferred->value == 2 && counts().threads != 0;
            }),
            0);
  EXPECT_EQ(lockswap_rlu_abort(), 0);
  EXPECT_EQ(mine->value, 0);
  rlu::free(mine);
}

TEST_F(RluTest, TheLibraryStaysAfterDlclose) {
  void* const handle = dlopen("liblockswap_api.so.1", RTLD_NOW);
  if (handle == nullptr) GTEST_SKIP() << dlerror();
  EXPECT_EQ(dlclose(handle), 0);
  EXPECT_NE(dlopen("liblockswap_api.so.1", RTLD_NOW | RTLD_NOLOAD), nullptr);
}

TEST_F(RluTest, ExceptionsAbort) {
  Node* const n = rlu::make<Node>(1);
  EXPECT_THROW(rlu::update([&](rlu::section& here) -> std::optional<bool> {
                 Node* mine = n;
                 if (here.lock(mine)) mine->value = 2;
                 throw 1;
               }),
               int);
  EXPECT_EQ(value_of(n), 1);
  rlu::free(n);
}

}  // namespace
