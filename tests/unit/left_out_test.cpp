// A build that leaves locks out: what it says of them, and what `auto` takes. It has its list of
// them in left_out/, so no library is built for that.
#include <gtest/gtest.h>
#include <string>

#include "config/auto.h"
#include "config/names.h"

namespace lockswap {
namespace {

constexpr const char* kNames[] = {"pthread", "ba", "eventual"};
const NameList locks{"lock", 3, [](int i) { return kNames[i]; },
                     [](const char*) -> const char* { return nullptr; }};

std::string answer(const char* typed) {
  char line[256];
  Text text(line, sizeof line);
  put_choice(text, "is not a ", locks, typed);
  return line;
}

TEST(LeftOut, ANameThatIsLeftOutIsSaidToBe) {
  EXPECT_EQ(answer("Bravo-BA"),
            "was left out of this build (LOCKSWAP_WITHOUT); choose one of: pthread, ba, eventual");
}

TEST(LeftOut, AnotherOneIsNoName) {
  EXPECT_EQ(answer("bravo-zz"), "is not a lock; choose one of: pthread, ba, eventual");
}

TEST(LeftOut, AutoTakesTheBestThatIsThere) {
  static_assert(same_name(kAutoRwlock.several_cpus, "eventual"));
  EXPECT_STREQ(kAutoRwlock.left_out, "bravo-eventual");
  EXPECT_EQ(kAutoMutex.left_out, nullptr);
  EXPECT_STREQ(kDefaultRange, "kernel-rw");
}

TEST(LeftOut, WithoutTheOthersAutoIsGlibcs) {
  constexpr AutoChoice choice = auto_choice({"bravo-ba", "pthread"}, {"list-rw", "pthread"});
  EXPECT_STREQ(choice.one_cpu, "pthread");
  EXPECT_STREQ(choice.several_cpus, "pthread");
  EXPECT_STREQ(choice.left_out, "list-rw");
}

}  // namespace
}  // namespace lockswap
