// What must be outermost refuses to be nested; what ends a section refuses where there is none. And
// what belongs to a domain, or to an object, and not to the process.
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <gtest/gtest.h>
#include <optional>
#include <system_error>
#include <thread>

#include "lockswap/rlu.hpp"

namespace {

namespace rlu = lockswap::rlu;

struct Number {
  int value = 0;
};
int value_of(Number* n) {
  const rlu::section here;
  return here.read(n)->value;
}
template <class F>
void in_thread(const F& f) {
  std::thread(f).join();
}

class RluRefusals : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(lockswap_rlu_depth(), 0u);
    EXPECT_EQ(lockswap_rlu_flush_all(), 0);
    rlu::free(n_);
    EXPECT_EQ(lockswap_rlu_flush_all(), 0);
  }
  Number* n_ = rlu::make<Number>(1);
};

TEST_F(RluRefusals, AnUnlockOutsideOfASection) {
  const auto refused = [] {
    EXPECT_EQ(lockswap_rlu_reader_unlock(), EPERM);
    lockswap_rlu_leave();
    EXPECT_EQ(lockswap_rlu_abort(), EPERM);
    EXPECT_EQ(lockswap_rlu_join(nullptr), EPERM);
    EXPECT_EQ(lockswap_rlu_depth(), 0u);
  };
  refused();
  in_thread(refused);  // which has never been in a section
  // A section still protects afterwards.
  lockswap_rlu_reader_lock();
  EXPECT_EQ(lockswap_rlu_depth(), 1u);
  EXPECT_EQ(lockswap_rlu_reader_unlock(), 0);
}

TEST_F(RluRefusals, ALockOutsideOfASection) {
  const auto refused = [this] {
    EXPECT_EQ(lockswap_rlu_try_lock(n_), nullptr);
    EXPECT_EQ(lockswap_rlu_try_lock_const(n_), nullptr);
  };
  refused();
  in_thread(refused);
  EXPECT_EQ(LOCKSWAP_RLU_HEADER(n_)->copy, 0u);
}

TEST_F(RluRefusals, AnAbortOfANestedSectionWhichGoesOn) {
  lockswap_rlu_reader_lock();
  static_cast<Number*>(lockswap_rlu_try_lock(n_))->value = 2;
  lockswap_rlu_reader_lock();
  EXPECT_EQ(lockswap_rlu_abort(), EDEADLK);
  EXPECT_EQ(lockswap_rlu_depth(), 2u);
  EXPECT_EQ(lockswap_rlu_reader_unlock(), 0);
  EXPECT_EQ(value_of(n_), 2);
  EXPECT_EQ(lockswap_rlu_abort(), 0);
  EXPECT_EQ(value_of(n_), 1);
}

TEST_F(RluRefusals, ACallThatIsRefusedLeavesTheSectionOpen) {
  rlu::section here;
  {
    rlu::section inner;
    EXPECT_THROW(inner.abort(), std::system_error);
    EXPECT_TRUE(inner.is_open());
    try {
      rlu::update([](rlu::section&) { return std::optional(true); });
      ADD_FAILURE() << "a change in a section of its own was made in a section";
    } catch (const std::system_error& e) {
      EXPECT_EQ(e.code().value(), EDEADLK);
    }
  }
  EXPECT_EQ(lockswap_rlu_depth(), 1u);
  EXPECT_TRUE(here.is_open());
}

// A thread in a walk whose lock fails, again and again: the walk keeps its protection.
TEST_F(RluRefusals, ALockThatFailsInANestedSectionEndsNothing) {
  std::atomic<int> step{0};
  std::thread other([&] {
    lockswap_rlu_reader_lock();
    EXPECT_NE(lockswap_rlu_try_lock(n_), nullptr);
    step = 1;
    step.notify_all();
    step.wait(1);
    lockswap_rlu_reader_unlock();
  });
  step.wait(0);
  lockswap_rlu_reader_lock();
  for (int i = 0; i < 10; ++i) {
    lockswap_rlu_reader_lock();
    EXPECT_EQ(lockswap_rlu_try_lock(n_), nullptr);
    EXPECT_EQ(lockswap_rlu_abort(), EDEADLK);
    EXPECT_EQ(lockswap_rlu_reader_unlock(), 0);
    EXPECT_EQ(lockswap_rlu_depth(), 1u);
  }
  step = 2;
  step.notify_all();
  EXPECT_EQ(lockswap_rlu_abort(), 0);
  other.join();
}

// --- Who frees an object

// Counts what it is given, which must be its own.
template <int kNumber>
struct Pool {
  alignas(16) static inline char memory[4096];
  static inline std::size_t used = 0;
  static inline int given = 0;
  static void* take(std::size_t size) {
    void* const at = memory + used;
    used += (size + 15) / 16 * 16;
    return at;
  }
  static void give(void* at) {
    EXPECT_GE(at, static_cast<void*>(memory));
    EXPECT_LT(at, static_cast<void*>(memory + sizeof memory));
    ++given;
  }
  static void* make(std::size_t size) {
    return lockswap_rlu_made(take(sizeof(lockswap_rlu_header) + size), size, give);
  }
};

TEST_F(RluRefusals, AnObjectIsFreedByItsOwnFunction) {
  using A = Pool<1>;
  using B = Pool<2>;
  void* const a = A::make(32);
  void* const of_malloc = lockswap_rlu_alloc(32);
  void* const b = B::make(32);
  void* const unseen = A::make(32);
  EXPECT_EQ(lockswap_rlu_free(of_malloc), 0);
  EXPECT_EQ(lockswap_rlu_free(a), 0);
  EXPECT_EQ(lockswap_rlu_free(b), 0);
  lockswap_rlu_discard(unseen);
  EXPECT_EQ(lockswap_rlu_flush(), 0);
  EXPECT_EQ(A::given, 2);
  EXPECT_EQ(B::given, 1);
}

TEST_F(RluRefusals, AnObjectWithoutAFunctionStaysThePrograms) {
  alignas(16) static char memory[64];
  void* const object = lockswap_rlu_made(memory, 32, nullptr);
  ASSERT_NE(object, nullptr);
  EXPECT_EQ(lockswap_rlu_free(object), 0);
  EXPECT_EQ(lockswap_rlu_flush(), 0);
}

TEST_F(RluRefusals, ASizeThatNoMemoryHas) {
  alignas(16) static char memory[16];
  EXPECT_EQ(lockswap_rlu_made(memory, SIZE_MAX, nullptr), nullptr);
}

// --- Domains

// Adds 1 in a section that joins the domain.
void add(Number* n, rlu::domain* of) {
  rlu::update([&](rlu::section& here) -> std::optional<bool> {
    here.join(of);
    Number* mine = n;
    if (!here.lock(mine)) return std::nullopt;
    ++mine->value;
    return true;
  });
}

TEST_F(RluRefusals, DeferralIsADomainsMatter) {
  rlu::domain late(3);
  rlu::domain at_once;
  add(n_, &late);
  EXPECT_EQ(n_->value, 1) << "it is deferred";
  add(n_, &late);
  EXPECT_EQ(n_->value, 1);
  add(n_, &late);
  EXPECT_EQ(n_->value, 4) << "the third one takes effect, with the others";
  add(n_, &late);
  EXPECT_EQ(n_->value, 4);
  add(n_, &at_once);
  EXPECT_EQ(n_->value, 6);
  add(n_, nullptr);
  EXPECT_EQ(n_->value, 7) << "the default domain defers nothing, whatever others do";
  late.set_deferral(1);
  add(n_, &late);
  EXPECT_EQ(n_->value, 8);
  EXPECT_THROW(late.set_deferral(0), std::system_error);
}

TEST_F(RluRefusals, ASectionOfTwoDomainsIsDeferredAsFarAsBothAllow) {
  rlu::domain late(100);
  for (const bool late_first : {true, false}) {
    const int before = n_->value;
    rlu::update([&](rlu::section& here) -> std::optional<bool> {
      here.join(late_first ? &late : nullptr);
      here.join(late_first ? nullptr : &late);
      Number* mine = n_;
      if (!here.lock(mine)) return std::nullopt;
      ++mine->value;
      return true;
    });
    EXPECT_EQ(n_->value, before + 1);
  }
}

TEST_F(RluRefusals, ADomainIsJoinedForOneSection) {
  rlu::domain late(100);
  {
    const rlu::section here;
    here.join(&late);
  }
  rlu::update([&](rlu::section& here) -> std::optional<bool> {
    Number* mine = n_;
    if (!here.lock(mine)) return std::nullopt;
    mine->value = 5;
    return true;
  });
  EXPECT_EQ(n_->value, 5);
  // Nor after an abort.
  {
    rlu::section here;
    here.join(&late);
    here.abort();
  }
  rlu::update([&](rlu::section& here) -> std::optional<bool> {
    Number* mine = n_;
    if (!here.lock(mine)) return std::nullopt;
    mine->value = 6;
    return true;
  });
  EXPECT_EQ(n_->value, 6);
}

}  // namespace
