#include "platform/processors.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <string>

namespace lockswap::processors_test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kNone = ~std::uint64_t{0};

// A /proc and a /sys/fs/cgroup of its own: a test cannot write the real ones.
class ProcessorsTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/lockswap-processors-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }
  void file(const std::string& name, const std::string& text) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text << "\n";
  }
  void group(const std::string& text) { file("proc/self/cgroup", text); }
  void v2(const std::string& path, const std::string& text) {
    file("sys/fs/cgroup" + path + "/cpu.max", text);
  }
  void v1(const std::string& path, const std::string& quota, const std::string& period) {
    file("sys/fs/cgroup/cpu,cpuacct" + path + "/cpu.cfs_quota_us", quota);
    file("sys/fs/cgroup/cpu,cpuacct" + path + "/cpu.cfs_period_us", period);
  }
  std::uint64_t quota(std::uint64_t last = 777) const {
    return read_processors({1, last}, root_.c_str()).quota_percent;
  }

  fs::path root_;
};

TEST(Processors, NoSpinningOnLessThanTwo) {
  EXPECT_EQ(worth_spinning(50, {2, kNone}), 50u);
  EXPECT_EQ(worth_spinning(50, {1, kNone}), 0u);
  EXPECT_EQ(worth_spinning(50, {8, 50}), 0u);
  EXPECT_EQ(worth_spinning(50, {8, 199}), 0u);
  EXPECT_EQ(worth_spinning(50, {8, 200}), 50u);
  EXPECT_EQ((Processors{8, 350}.whole()), 3u);
  EXPECT_EQ((Processors{2, 350}.whole()), 2u);
}

TEST_F(ProcessorsTest, HalfAProcessorOfVersion2) {
  group("0::/app");
  v2("/app", "50000 100000");
  EXPECT_EQ(quota(), 50u);
  EXPECT_EQ(worth_spinning(50, read_processors({}, root_.c_str())), 0u);
}

TEST_F(ProcessorsTest, HalfAProcessorOfVersion1) {
  group("4:memory:/elsewhere\n2:cpu,cpuacct:/app\n1:cpuset:/");
  v1("/app", "50000", "100000");
  EXPECT_EQ(quota(), 50u);
}

TEST_F(ProcessorsTest, NoQuotaIsNoLimit) {
  group("2:cpu,cpuacct:/\n0::/app");
  v2("/app", "max 100000");
  v1("", "-1", "100000");
  EXPECT_EQ(quota(), kNone);
}

TEST_F(ProcessorsTest, TheSmallestOfTheGroupsAbove) {
  group("0::/slice/app/inner");
  v2("/slice", "150000 100000");
  v2("/slice/app", "max 100000");
  v2("/slice/app/inner", "300000 100000");
  EXPECT_EQ(quota(), 150u);
}

TEST_F(ProcessorsTest, AContainerSeesItsGroupAsTheTop) {
  v2("", "120000 60000");
  for (const char* path : {"0::/", "0::/docker/0123", "0::/../../other"}) {
    group(path);
    EXPECT_EQ(quota(), 200u) << path;
  }
}

TEST_F(ProcessorsTest, ChangesAreSeen) {
  group("0::/app");
  v2("/app", "400000 100000");
  EXPECT_EQ(quota(), 400u);
  v2("/app", "25000 100000");
  EXPECT_EQ(quota(), 25u);
  v2("/app", "max 100000");
  EXPECT_EQ(quota(), kNone);
}

TEST_F(ProcessorsTest, ARefusedReadKeepsTheLastValue) {
  EXPECT_EQ(quota(777), 777u);  // no /proc
  group("0::/app");
  EXPECT_EQ(quota(777), kNone);  // no limit anywhere
  // A folder opens, and its read is refused, to any user.
  fs::create_directories(root_ / "sys/fs/cgroup/app/cpu.max");
  v2("", "100000 100000");
  EXPECT_EQ(quota(777), 777u);
  group("0::/" + std::string(2000, 'x'));
  EXPECT_EQ(quota(777), 777u);
}

TEST_F(ProcessorsTest, ErrnoIsLeftAlone) {
  errno = EDOM;
  EXPECT_EQ(quota(777), 777u);
  EXPECT_EQ(errno, EDOM);
}

TEST_F(ProcessorsTest, AffinityAtRunTime) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const auto all = static_cast<std::uint32_t>(CPU_COUNT(&before));
  EXPECT_EQ(read_processors({}).allowed, all);
  int first = 0;
  while (!CPU_ISSET(first, &before))
    ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const Processors now = read_processors({all, kNone}, root_.c_str());
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(now.allowed, 1u);
  EXPECT_EQ(worth_spinning(50, now), 0u);
}

}  // namespace
}  // namespace lockswap::processors_test
