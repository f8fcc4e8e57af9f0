// The limit of holds that a lock counts: the last one is admitted, the next is refused with EAGAIN,
// and afterwards the lock works as before. The test sets the counters close to their limits.
#include <cerrno>
#include <cstdint>
#include <gtest/gtest.h>
#include <thread>

#include "locks/rw/ba.h"
#include "locks/rw/bravo.h"
#include "locks/rw/pf-t.h"
#include "locks/rw/unbiased.h"
#include "platform/native.h"
#include "posix/rw_contract.h"
#include "wait/park.h"

namespace lockswap::limits_test {
namespace {

using W = Park<Native>;
using Word = std::uint32_t;

// Which word of the core counts arrived readers, in which steps, and how many it takes at most.
template <class Core>
struct Counter;
template <>
struct Counter<PfT<Native, W>> {
  static constexpr int kWord = 1;
  static constexpr Word kOne = 1, kMost = 1u << 30;
};
template <>
struct Counter<Ba<Native, W>> : Counter<PfT<Native, W>> {};

template <class Lock>
struct Limits : testing::Test {
  using Contract = RwContract<Native, W, Lock, CountNothing>;
  using Frame = typename Contract::Frame;
  using Core = decltype(Frame::core);

  static constexpr std::uint64_t kExtra = 1u << 11;  // one, in the contract word
  static constexpr std::uint64_t kMostExtra = (1u << 20) - 1;

  Limits() {
    static constinit ReadersTable<Native>::Slot slots[64] __attribute__((aligned(64)));
    Native::global<ReadersTable<Native>>() = {slots, 63, 9};
    prepare_scan();
    Contract::prepare();
    Contract::adopt(frame);
  }

  int read() { return Contract::read_lock(frame, {}); }
  int try_read() { return Contract::read_lock(frame, {.only_try = true}); }
  int unlock() { return Contract::slow_unlock(frame); }
  void add_extra(std::uint64_t n) { frame.contract.fetch_add(n * kExtra, relaxed); }
  void take_extra(std::uint64_t n) { frame.contract.fetch_sub(n * kExtra, relaxed); }
  // Readers that arrived in the core and did not leave.
  void add_readers(Word n) {
    reinterpret_cast<Word*>(&frame.core)[Counter<Core>::kWord] += n * Counter<Core>::kOne;
  }
  // A read hold that another thread releases: from now on records are not trusted.
  void mark() {
    std::thread([this] { EXPECT_EQ(0, read()); }).join();
    EXPECT_EQ(0, unlock());
  }
  void expect_works() {
    EXPECT_EQ(0, Contract::write_lock(frame, {.only_try = true}));
    std::thread([this] { EXPECT_EQ(EBUSY, try_read()); }).join();
    EXPECT_EQ(0, unlock());
    EXPECT_EQ(0, read());
    std::thread([this] {
      EXPECT_EQ(EBUSY, Contract::write_lock(frame, {.only_try = true}));
    }).join();
    EXPECT_EQ(0, unlock());
  }

  Frame frame{};
};

using Locks = testing::Types<
    Unbiased<Native, PfT<Native, W>, CountNothing>, Unbiased<Native, Ba<Native, W>, CountNothing>,
    Bravo<Native, W, PfT<Native, W>, CountNothing>, Bravo<Native, W, Ba<Native, W>, CountNothing>>;
TYPED_TEST_SUITE(Limits, Locks);

TYPED_TEST(Limits, OfRecursiveReads) {
  ASSERT_EQ(0, this->read());
  this->add_extra(this->kMostExtra - 2);
  EXPECT_EQ(0, this->read());
  EXPECT_EQ(0, this->try_read());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(EAGAIN, this->read());
    EXPECT_EQ(EAGAIN, this->try_read());
  }
  EXPECT_EQ(0, this->unlock());
  EXPECT_EQ(0, this->read()) << "one has left";
  EXPECT_EQ(EAGAIN, this->read());
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(0, this->unlock());
  this->take_extra(this->kMostExtra - 2);
  EXPECT_EQ(0, this->unlock());
  this->expect_works();
}

TYPED_TEST(Limits, OfReadersOfALockWithForeignReleases) {
  this->mark();
  constexpr Word kMost = Counter<typename TestFixture::Core>::kMost;
  this->add_readers(kMost - 2);
  EXPECT_EQ(0, this->read());
  EXPECT_EQ(0, this->try_read());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(EAGAIN, this->read());
    EXPECT_EQ(EAGAIN, this->try_read());
  }
  std::thread([this] { EXPECT_EQ(EAGAIN, this->read()); }).join();
  EXPECT_EQ(0, this->unlock());
  EXPECT_EQ(0, this->read()) << "one has left";
  EXPECT_EQ(EAGAIN, this->read());
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(0, this->unlock());
  this->add_readers(-(kMost - 2));
  this->expect_works();
}

}  // namespace
}  // namespace lockswap::limits_test
