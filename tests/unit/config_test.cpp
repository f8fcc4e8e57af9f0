#include "config/config.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

#include "config/auto.h"
#include "registry/all_names.h"
#include "registry/mutexes.h"
#include "registry/range_locks.h"
#include "registry/rwlocks.h"

namespace lockswap::config_test {
namespace {

class ConfigTest : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < options().count; ++i)
      unsetenv(options().rows[i].name);
  }
  void TearDown() override {
    SetUp();
    unsetenv("LOCKSWAP_RWLOK");
  }
  bool read() { return read_config(config, all_names(), message, sizeof message); }

  Config config;
  char message[1024] = "";
};

TEST_F(ConfigTest, NothingSetIsPassThrough) {
  ASSERT_TRUE(read());
  EXPECT_EQ(config.rwlock, nullptr);
  EXPECT_EQ(config.mutex, nullptr);
  EXPECT_STREQ(config.wait, "park");
  EXPECT_EQ(config.bravo_slots, 4096u);
  EXPECT_EQ(config.bravo_n, 9u);
  EXPECT_EQ(config.stats, nullptr);
}

TEST_F(ConfigTest, NamesAreCaseBlindAndAliasesBecomeNames) {
  setenv("LOCKSWAP_RWLOCK", "pf-q", 1);
  setenv("LOCKSWAP_WAIT", "SPIN", 1);
  ASSERT_TRUE(read());
  EXPECT_STREQ(config.rwlock, "ba");
  EXPECT_STREQ(config.wait, "spin");
}

TEST_F(ConfigTest, EveryLockHasAName) {
  for (int i = 0; i < rwlocks().count; ++i) {
    setenv("LOCKSWAP_RWLOCK", rwlocks().rows[i].name, 1);
    ASSERT_TRUE(read()) << message;
    EXPECT_STREQ(config.rwlock, rwlocks().rows[i].name);
  }
}

TEST_F(ConfigTest, EveryRangeLockHasAName) {
  ASSERT_TRUE(read());
  EXPECT_EQ(config.range, 0u);
  for (int i = 0; i < range_locks().count; ++i) {
    setenv("LOCKSWAP_RANGE", range_locks().rows[i].name, 1);
    ASSERT_TRUE(read()) << message;
    EXPECT_EQ(config.range, (static_cast<std::uint32_t>(i) + 1) | RangeKind::kFair);
  }
}

TEST_F(ConfigTest, ARangeLockMayNameTheLocksInside) {
  setenv("LOCKSWAP_RANGE", "RWLOCK:pf-q", 1);
  ASSERT_TRUE(read()) << message;
  EXPECT_STREQ(rwlocks().rows[RangeKind::inner(config.range)].name, "ba");
  EXPECT_EQ(config.range & RangeKind::kNumber, find_range_lock("rwlock") & RangeKind::kNumber);
}

TEST_F(ConfigTest, ARangeLockMayNameItsOptions) {
  setenv("LOCKSWAP_RANGE", "list-ex:unfair", 1);
  ASSERT_TRUE(read()) << message;
  EXPECT_EQ(config.range, find_range_lock("list-ex") & ~RangeKind::kFair);
  setenv("LOCKSWAP_RANGE", "list-ex:writers-first", 1);
  EXPECT_FALSE(read()) << "it has no readers";
}

TEST_F(ConfigTest, Mutexes) {
  for (int i = 0; i < mutexes().count; ++i) {
    setenv("LOCKSWAP_MUTEX", mutexes().rows[i].name, 1);
    ASSERT_TRUE(read()) << message;
    EXPECT_STREQ(config.mutex, mutexes().rows[i].name);
  }
  setenv("LOCKSWAP_MUTEX", "MCS", 1);
  ASSERT_TRUE(read());
  EXPECT_STREQ(config.mutex, "mcs");
  setenv("LOCKSWAP_MUTEX", "pf-t", 1);
  ASSERT_FALSE(read());
  const std::string line = message;
  EXPECT_NE(line.find("LOCKSWAP_MUTEX=pf-t"), std::string::npos);
  for (int i = 0; i < mutexes().count; ++i)
    EXPECT_NE(line.find(mutexes().rows[i].name), std::string::npos) << line;
}

TEST_F(ConfigTest, AutoIsAMutexToo) {
  setenv("LOCKSWAP_MUTEX", "Auto", 1);
  ASSERT_TRUE(read());
  EXPECT_STREQ(config.mutex, "auto");
  resolve_auto(config);
  EXPECT_TRUE(config.automatic_mutex);
  EXPECT_FALSE(config.automatic);
  EXPECT_NE(find_mutex(config.mutex), nullptr);
  EXPECT_STRNE(config.mutex, "auto");
}

TEST_F(ConfigTest, CondsGoWithTheMutexUnlessTheyAreNamed) {
  ASSERT_TRUE(read());
  EXPECT_FALSE(swaps_conds(config));
  setenv("LOCKSWAP_MUTEX", "mcs", 1);
  ASSERT_TRUE(read());
  EXPECT_TRUE(swaps_conds(config));
  setenv("LOCKSWAP_MUTEX", "pthread", 1);
  ASSERT_TRUE(read());
  EXPECT_FALSE(swaps_conds(config));
  setenv("LOCKSWAP_COND", "Own", 1);
  ASSERT_TRUE(read());
  EXPECT_TRUE(swaps_conds(config));
  setenv("LOCKSWAP_COND", "mcs", 1);
  ASSERT_FALSE(read());
  EXPECT_NE(std::string(message).find("LOCKSWAP_COND=mcs"), std::string::npos) << message;
}

TEST_F(ConfigTest, GlibcsCondsWithAMutexOfOursAreRefused) {
  setenv("LOCKSWAP_COND", "pthread", 1);
  for (const char* mutex : {"pthread", "mcs"}) {
    setenv("LOCKSWAP_MUTEX", mutex, 1);
    MutexChoice choice{};
    const char* why = nullptr;
    ASSERT_TRUE(read()) << message;
    const bool done = prepare_mutex(config, choice, why);
    EXPECT_EQ(done, find_mutex(mutex)->passes_through());
    EXPECT_EQ(done, why == nullptr);
  }
}

// What is said of these names, and why the tests run only one of each group in full.
TEST_F(ConfigTest, MutexesOfTheSameCode) {
  const auto functions = [this](const char* name) {
    setenv("LOCKSWAP_MUTEX", name, 1);
    MutexChoice choice{};
    const char* why = nullptr;
    EXPECT_TRUE(read() && prepare_mutex(config, choice, why)) << name;
    return choice.mutex;
  };
  EXPECT_EQ(functions("ba"), functions("mcs"));
  EXPECT_EQ(functions("bravo-ba"), functions("mcs"));
  EXPECT_EQ(functions("rlu"), functions("ticket"));
  EXPECT_NE(functions("ticket"), functions("mcs"));
  EXPECT_NE(functions("cohort"), functions("per-cpu"));
}

TEST_F(ConfigTest, AnUnknownLockIsRefusedWithTheValidNames) {
  setenv("LOCKSWAP_RWLOCK", "bravo", 1);
  ASSERT_FALSE(read());
  const std::string line = message;
  EXPECT_NE(line.find("LOCKSWAP_RWLOCK=bravo"), std::string::npos);
  for (int i = 0; i < rwlocks().count; ++i) {
    EXPECT_NE(line.find(rwlocks().rows[i].name), std::string::npos) << line;
  }
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

TEST_F(ConfigTest, TheNearestNamesComeFirst) {
  const auto said = [&](const char* variable, const char* value) {
    setenv(variable, value, 1);
    EXPECT_FALSE(read());
    unsetenv(variable);
    const std::string line = message;
    const std::size_t at = line.find(" is not a ");
    return at == std::string::npos ? line : line.substr(line.find("; ", at) + 2);
  };
  const auto begins = [&](const std::string& line, const std::string& with) {
    EXPECT_EQ(line.substr(0, with.size()), with);
  };
  begins(said("LOCKSWAP_RWLOCK", "bavro-ba"), "did you mean bravo-ba? Choose one of:");
  begins(said("LOCKSWAP_RWLOCK", "Cohorts"), "did you mean cohort? Choose one of:");
  begins(said("LOCKSWAP_MUTEX", "mcss"), "did you mean mcs? Choose one of:");
  begins(said("LOCKSWAP_MUTEX", "evnetual"), "did you mean eventual? Choose one of:");
  begins(said("LOCKSWAP_RWLOCK", "bravo-asym"), "did you mean bravo-asym-");
  begins(said("LOCKSWAP_WAIT", "prak"), "did you mean park? Choose one of:");
  begins(said("LOCKSWAP_RWLOCK", "zzzzzz"), "choose one of:");
  begins(said("LOCKSWAP_RWLOCK", std::string(500, 'b').c_str()), "choose one of:");
  begins(said("LOCKSWAP_RANGE", "list"), "did you mean list-ex or list-rw? Choose one of:");
  begins(said("LOCKSWAP_RWLOK", "ba"), "did you mean LOCKSWAP_RWLOCK? Choose one of:");
}

TEST_F(ConfigTest, WrongValuesAreRefused) {
  const char* wrong[][2] = {
      {"LOCKSWAP_WAIT", "sleep"},         {"LOCKSWAP_SPIN", "-1"},
      {"LOCKSWAP_SPIN", "many"},          {"LOCKSWAP_BRAVO_SLOTS", "1000"},
      {"LOCKSWAP_BRAVO_SLOTS", "8"},      {"LOCKSWAP_BRAVO_SLOTS", "99999999999999999999"},
      {"LOCKSWAP_BRAVO_N", "9x"},         {"LOCKSWAP_VERBOSE", "yes"},
      {"LOCKSWAP_RWLOK", "ba"},           {"LOCKSWAP_TOPOLOGY", "2"},
      {"LOCKSWAP_TOPOLOGY", "2x18"},      {"LOCKSWAP_TOPOLOGY", "2x18x2x1"},
      {"LOCKSWAP_TOPOLOGY", "2x18x"},     {"LOCKSWAP_TOPOLOGY", "0x1x1"},
      {"LOCKSWAP_TOPOLOGY", "2x-1x1"},    {"LOCKSWAP_TOPOLOGY", "4096x4096x4096"},
      {"LOCKSWAP_TOPOLOGY", "2 x 1 x 1"}, {"LOCKSWAP_TOPOLOGY", "x1x1"},
      {"LOCKSWAP_RANGE", "list"},         {"LOCKSWAP_RANGE", "ba"},
      {"LOCKSWAP_RANGE", "rwlock:"},      {"LOCKSWAP_RANGE", "rwlock:list-ex"},
      {"LOCKSWAP_RANGE", "list-ex:ba"},   {"LOCKSWAP_RANGE_SEGMENT", "0"},
  };
  for (const auto& [name, value] : wrong) {
    setenv(name, value, 1);
    EXPECT_FALSE(read()) << name << "=" << value;
    EXPECT_NE(std::string(message).find(name), std::string::npos) << message;
    unsetenv(name);
  }
}

TEST_F(ConfigTest, ATopologyIsThreeNumbers) {
  ASSERT_TRUE(read());
  EXPECT_EQ(config.topology.nodes, 0u);
  setenv("LOCKSWAP_TOPOLOGY", "2x18x3", 1);
  ASSERT_TRUE(read()) << message;
  EXPECT_EQ(config.topology.nodes, 2u);
  EXPECT_EQ(config.topology.cores, 18u);
  EXPECT_EQ(config.topology.smt, 3u);
}

TEST_F(ConfigTest, AutoIsALockOfTheTable) {
  const auto choice = [this](const char* topology) {
    setenv("LOCKSWAP_RWLOCK", "auto", 1);
    setenv("LOCKSWAP_TOPOLOGY", topology, 1);
    EXPECT_TRUE(read()) << message;
    resolve_auto(config);
    EXPECT_TRUE(config.automatic);
    return std::string(config.rwlock);
  };
  EXPECT_EQ(choice("1x1x1"), kAutoRwlock.one_cpu);
  EXPECT_EQ(choice("1x1x2"), kAutoRwlock.several_cpus);
  EXPECT_EQ(choice("1x64x2"), kAutoRwlock.several_cpus);
  EXPECT_EQ(choice("2x1x1"), kAutoRwlock.several_cpus);
  EXPECT_EQ(choice("4x18x2"), kAutoRwlock.several_cpus);
  // A quota does not keep threads from running at once.
  EXPECT_EQ(kAutoRwlock.on({.allowed = 2, .quota_percent = 50}), kAutoRwlock.several_cpus);
  EXPECT_EQ(kAutoRwlock.on({.allowed = 1, .quota_percent = 50}), kAutoRwlock.one_cpu);
  // What is named is what runs.
  setenv("LOCKSWAP_RWLOCK", "ba", 1);
  ASSERT_TRUE(read());
  resolve_auto(config);
  EXPECT_FALSE(config.automatic);
  EXPECT_STREQ(config.rwlock, "ba");
}

TEST_F(ConfigTest, StatsGoToStderrOrAFile) {
  setenv("LOCKSWAP_STATS", "1", 1);
  ASSERT_TRUE(read());
  EXPECT_STREQ(config.stats, "");
  setenv("LOCKSWAP_STATS", "out/stats", 1);
  ASSERT_TRUE(read());
  EXPECT_STREQ(config.stats, "out/stats");
  setenv("LOCKSWAP_STATS", "0", 1);
  Config off;
  ASSERT_TRUE(read_config(off, all_names(), message, sizeof message));
  EXPECT_EQ(off.stats, nullptr);
}

TEST_F(ConfigTest, TheFileOfStatsOutlivesTheEnvironment) {
  setenv("LOCKSWAP_STATS", "out/stats", 1);
  ASSERT_TRUE(read());
  char* in_environment = getenv("LOCKSWAP_STATS");
  ASSERT_NE(in_environment, nullptr);
  *in_environment = 'x';
  EXPECT_STREQ(config.stats, "out/stats");
}

TEST_F(ConfigTest, AFileOfStatsThatIsTooLongIsRefused) {
  setenv("LOCKSWAP_STATS", std::string(4000, 'x').c_str(), 1);
  EXPECT_TRUE(read());
  setenv("LOCKSWAP_STATS", std::string(4001, 'x').c_str(), 1);
  EXPECT_FALSE(read());
  EXPECT_NE(std::string(message).find("LOCKSWAP_STATS=... is longer than 4000 bytes"),
            std::string::npos)
      << message;
}

}  // namespace
}  // namespace lockswap::config_test
