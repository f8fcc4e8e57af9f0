// The files of a quota that stay open: what is read again, and when it is not.
#include "platform/quota.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

namespace lockswap::quota_test {
namespace {

namespace fs = std::filesystem;

class QuotaTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/lockswap-quota-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root_ = name;
    before_ = descriptors();
  }
  void TearDown() override {
    kept_.close();
    fs::remove_all(root_);
  }
  // A file of the kernel keeps its inode when it is written; so do these.
  void file(const std::string& name, const std::string& text) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text << "\n";
  }
  void v2(const std::string& path, const std::string& text) {
    file("sys/fs/cgroup" + path + "/cpu.max", text);
  }
  void v1(const std::string& quota, const std::string& period) {
    file("sys/fs/cgroup/cpu/app/cpu.cfs_quota_us", quota);
    file("sys/fs/cgroup/cpu/app/cpu.cfs_period_us", period);
  }
  std::uint64_t start(const std::string& group) {
    file("proc/self/cgroup", group);
    return read_quota(kNoQuota, root_.c_str(), &kept_);
  }
  std::uint64_t again(std::uint64_t last = 777) { return kept_.again(last); }

  static std::vector<int> descriptors() {
    std::vector<int> found;
    for (int fd = 0; fd < 1024; ++fd) {
      if (fcntl(fd, F_GETFD) != -1) found.push_back(fd);
    }
    return found;
  }
  // Those that were opened since.
  std::vector<int> kept_descriptors() const {
    std::vector<int> now = descriptors();
    std::erase_if(now, [this](int fd) {
      return std::find(before_.begin(), before_.end(), fd) != before_.end();
    });
    return now;
  }

  fs::path root_;
  std::vector<int> before_;
  KeptQuota kept_;
};

TEST_F(QuotaTest, AChangeIsSeenInVersion2) {
  v2("/app", "50000 100000");
  EXPECT_EQ(start("0::/app"), 50u);
  EXPECT_EQ(again(), 50u);
  v2("/app", "400000 100000");
  EXPECT_EQ(again(), 400u);
  v2("/app", "max 100000");
  EXPECT_EQ(again(), kNoQuota);
  v2("/app", "20000 100000");
  EXPECT_EQ(again(), 20u);
}

TEST_F(QuotaTest, AChangeIsSeenInVersion1) {
  v1("-1", "100000");
  EXPECT_EQ(start("1:cpu:/app"), kNoQuota);
  v1("150000", "100000");
  EXPECT_EQ(again(), 150u);
  v1("150000", "50000");
  EXPECT_EQ(again(), 300u);
  v1("-1", "50000");
  EXPECT_EQ(again(), kNoQuota);
}

TEST_F(QuotaTest, TheSmallestStays) {
  v2("/a", "90000 100000");
  v2("/a/b", "70000 100000");
  v2("/a/b/c", "80000 100000");
  v2("/a/b/c/d", "400000 100000");
  EXPECT_EQ(start("0::/a/b/c/d"), 70u);
  EXPECT_EQ(kept_descriptors().size(), 2u);  // of d and of b
  v2("/a/b/c/d", "60000 100000");
  EXPECT_EQ(again(), 60u);
  v2("/a/b/c/d", "max 100000");
  EXPECT_EQ(again(), 70u);
  v2("/a/b", "max 100000");
  EXPECT_EQ(again(), 80u);  // c's, as it was at the start
}

TEST_F(QuotaTest, NoFileNoDescriptor) {
  EXPECT_EQ(start("0::/app"), kNoQuota);
  EXPECT_FALSE(kept_.is_kept());
  EXPECT_EQ(kept_descriptors().size(), 0u);
  EXPECT_EQ(again(777), 777u);
}

TEST_F(QuotaTest, NumbersAreHighAndEndAtExec) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  if (before.rlim_max < 1024) GTEST_SKIP() << "few files may be open here";
  const rlimit many{std::max<rlim_t>(before.rlim_cur, 1024), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &many), 0);
  v1("50000", "100000");
  start("1:cpu:/app");
  EXPECT_EQ(kept_descriptors().size(), 2u);
  for (const int fd : kept_descriptors()) {
    EXPECT_GE(fd, 700);
    EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(QuotaTest, WhereNumbersAreFewNoneIsKept) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{256, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  v1("50000", "100000");
  EXPECT_EQ(start("1:cpu:/app"), 50u);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(kept_.is_kept());
  EXPECT_EQ(kept_descriptors().size(), 0u);
}

TEST_F(QuotaTest, AProgramMayCloseThem) {
  for (const std::size_t which : {0u, 1u}) {
    v1("50000", "100000");
    start("1:cpu:/app");
    const std::vector<int> fds = kept_descriptors();
    ASSERT_EQ(fds.size(), 2u);
    ::close(fds[which]);
    errno = EDOM;
    EXPECT_EQ(again(777), 777u);
    EXPECT_EQ(errno, EDOM);
    EXPECT_EQ(again(778), 778u);
    ::close(fds[1 - which]);
  }
}

TEST_F(QuotaTest, ANumberThatIsUsedForSomethingElseIsNotRead) {
  v2("/app", "50000 100000");
  start("0::/app");
  const std::vector<int> fds = kept_descriptors();
  ASSERT_EQ(fds.size(), 1u);
  // What is there now looks like a quota, and it is somewhere in the midst.
  const int other = memfd_create("other", 0);
  ASSERT_EQ(::write(other, "300000 100000\n", 14), 14);
  ASSERT_EQ(::dup2(other, fds[0]), fds[0]);
  ::close(other);
  EXPECT_EQ(again(777), 777u);
  EXPECT_EQ(::lseek(fds[0], 0, SEEK_CUR), 14);  // nor moved
  // And closed it is not either, also when all is let go.
  kept_.close();
  EXPECT_NE(fcntl(fds[0], F_GETFD), -1);
  ::close(fds[0]);
}

TEST_F(QuotaTest, AReadThatIsRefusedKeepsTheLastValue) {
  v2("/app", "50000 100000");
  start("0::/app");
  fs::resize_file(root_ / "sys/fs/cgroup/app/cpu.max", 0);  // as nothing can be read
  EXPECT_EQ(again(50), 50u);
}

TEST_F(QuotaTest, AChildReadsItToo) {
  v2("/app", "50000 100000");
  start("0::/app");
  const pid_t child = ::fork();
  if (child == 0) {
    v2("/app", "300000 100000");
    _exit(again() == 300 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(again(), 300u);
}

}  // namespace
}  // namespace lockswap::quota_test
