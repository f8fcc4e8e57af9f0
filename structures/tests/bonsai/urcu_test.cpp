// liburcu as the grace period of a Bonsai tree: when it is over, and which thread is registered.
#include "lockswap/urcu.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <gtest/gtest.h>
#include <optional>
#include <thread>

#include "lockswap/bonsai.hpp"

namespace {

using lockswap::copies;
using lockswap::rcu_domain;
using lockswap::urcu_domain;
namespace urcu = lockswap::urcu;
static_assert(rcu_domain<urcu_domain<urcu::memb>> && rcu_domain<urcu_domain<urcu::mb>>);
static_assert(rcu_domain<urcu_domain<urcu::qsbr>> && rcu_domain<urcu_domain<urcu::bp>>);

// What a thread does that is in no section, and is going to wait.
template <class Flavour>
void rest() {}
template <>
void rest<urcu::qsbr>() {
  urcu_qsbr_thread_offline();
}

template <class Domain>
void until_over(Domain& domain, typename Domain::period& p) {
  while (!domain.is_over(p))
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

template <class Flavour>
class UrcuTest : public testing::Test {};
using Flavours = testing::Types<urcu::memb, urcu::mb, urcu::qsbr, urcu::bp>;
TYPED_TEST_SUITE(UrcuTest, Flavours);

TYPED_TEST(UrcuTest, APeriodEndsWhenItsReadersHaveLeft) {
  using Domain = urcu_domain<TypeParam>;
  Domain domain;
  auto nobody = domain.close();
  until_over(domain, nobody);

  std::atomic<int> stage{0};
  std::thread reader([&] {
    typename Domain::reader me(domain);
    {
      const typename Domain::section outer(me);
      const typename Domain::section inner(me);
      stage = 1;
      while (stage != 2)
        std::this_thread::yield();
    }
    rest<TypeParam>();
    while (stage != 3)
      std::this_thread::yield();
  });
  while (stage != 1)
    std::this_thread::yield();
  auto first = domain.close();
  auto second = domain.close();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(domain.is_over(first));
  EXPECT_FALSE(domain.is_over(second));
  stage = 2;
  until_over(domain, first);
  until_over(domain, second);
  auto third = domain.close();
  domain.wait(third);
  EXPECT_TRUE(domain.is_over(third));
  stage = 3;
  reader.join();
}

TYPED_TEST(UrcuTest, AReaderThatSleepsKeepsWhatWasTakenOut) {
  using Domain = urcu_domain<TypeParam>;
  Domain domain;
  lockswap::bonsai_map<std::uint32_t, std::uint32_t, Domain> map(domain);
  for (std::uint32_t i = 0; i < 100; ++i)
    map.insert(i, i);
  map.synchronize();
  EXPECT_EQ(map.counts().waiting, 0u);
  std::atomic<int> stage{0};
  bool kept = false;
  std::thread reader([&] {
    typename Domain::reader me(domain);
    const auto then = map.snapshot_for(me);
    stage = 1;
    while (stage != 2)
      std::this_thread::yield();
    std::uint32_t next = 0;
    for (const auto& [key, value] : then)
      next += key == next && value == next ? 1 : 0;
    kept = next == 100;
  });
  while (stage != 1)
    std::this_thread::yield();
  const auto before = map.counts().garbage;
  map.set_batch(1);
  for (std::uint32_t i = 0; i < 100; ++i)
    map.erase(i);
  EXPECT_EQ(map.counts().waiting, map.counts().garbage - before);
  stage = 2;
  reader.join();
  EXPECT_TRUE(kept);
  map.synchronize();
  EXPECT_EQ(map.counts().waiting, 0u);
}

TYPED_TEST(UrcuTest, AThreadIsRegisteredOnce) {
  using Domain = urcu_domain<TypeParam>;
  Domain one;
  Domain two;
  lockswap::bonsai_map<std::uint32_t, std::uint32_t, Domain> map(one);
  map.insert(1, 2);
  // Twice in a row: the thread's place in liburcu is free again after the last one.
  for (int i = 0; i < 2; ++i) {
    std::optional<typename Domain::reader> a(std::in_place, one);
    const typename Domain::reader b(two);
    a.reset();
    typename Domain::reader c(one);
    EXPECT_EQ(map.find(c, 1)->value, 2u);
  }
  TypeParam::register_thread();
  {
    typename Domain::reader mine(one, urcu::registered);
    EXPECT_EQ(map.floor(mine, 5)->key, 1u);
  }
  TypeParam::unregister_thread();
  map.erase(1);
  map.synchronize();
  EXPECT_EQ(map.counts().waiting, 0u);
}

// The writer may be a reader, too, and its updates wait for others with a limit.
TYPED_TEST(UrcuTest, AWriterThatIsAReaderWaits) {
  using Domain = urcu_domain<TypeParam>;
  Domain domain;
  lockswap::bonsai_map<std::uint32_t, std::uint32_t, Domain, copies::rotations> map(domain);
  map.set_garbage_limit(10);
  typename Domain::reader me(domain);
  for (std::uint32_t i = 0; i < 300; ++i) {
    map.insert(i, i);
    EXPECT_TRUE(map.find(me, i).has_value());
    if (i % 2 == 0) map.erase(i);
    EXPECT_LE(map.counts().waiting, 10u);
  }
}

}  // namespace
