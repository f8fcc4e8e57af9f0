#include "platform/topology.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#if defined(__GLIBC_PREREQ) && __GLIBC_PREREQ(2, 35)
#include <sys/rseq.h>
#endif

namespace lockswap::topology_test {
namespace {

namespace fs = std::filesystem;

// A /sys/devices/system of its own, so that machines can be read that are not here.
class TopologyTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/lockswap-topology-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root_ = name;
  }
  void TearDown() override {
    fs::remove_all(root_);
    read_topology();  // what the other tests of this program see
  }
  void file(const std::string& name, const std::string& text) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text << "\n";
  }
  void read() { read_topology({}, root_.c_str()); }

  fs::path root_;
};

TEST_F(TopologyTest, OneNodeIsReadAsItIs) {
  file("cpu/possible", "0-3");
  file("cpu/online", "0-1,3");
  file("cpu/cpu0/topology/thread_siblings_list", "0-1");
  file("node/online", "0");
  file("node/node0/cpulist", "0-3");
  read();
  EXPECT_EQ(topology.cpus, 4u);
  EXPECT_EQ(topology.online, 3u);
  EXPECT_EQ(topology.nodes, 1u);
  EXPECT_EQ(topology.smt, 2u);
}

// The machine of the BRAVO paper.
TEST_F(TopologyTest, TwoNodesWithInterleavedHardwareThreads) {
  file("cpu/possible", "0-71");
  file("cpu/online", "0-71");
  file("cpu/cpu0/topology/thread_siblings_list", "0,36");
  file("node/online", "0-1");
  file("node/node0/cpulist", "0-17,36-53");
  file("node/node1/cpulist", "18-35,54-71");
  read();
  EXPECT_EQ(topology.cpus, 72u);
  EXPECT_EQ(topology.nodes, 2u);
  EXPECT_EQ(topology.smt, 2u);
  for (unsigned cpu = 0; cpu < 72; ++cpu)
    EXPECT_EQ(node_of_cpu[cpu], cpu % 36 / 18) << cpu;
}

// Numbers with gaps, and a node that has only memory.
TEST_F(TopologyTest, FourNodesOfWhichOneHasNoCpus) {
  file("cpu/possible", "0-127");
  file("cpu/online", "0-5");
  file("node/online", "0,8,16-17");
  file("node/node0/cpulist", "0-1");
  file("node/node8/cpulist", "2-3");
  file("node/node16/cpulist", "");
  file("node/node17/cpulist", "4,5");
  read();
  EXPECT_EQ(topology.cpus, 128u);
  EXPECT_EQ(topology.nodes, 3u);
  EXPECT_EQ(node_of_cpu[1], 0);
  EXPECT_EQ(node_of_cpu[2], 1);
  EXPECT_EQ(node_of_cpu[4], 2);
  EXPECT_EQ(node_of_cpu[5], 2);
  EXPECT_EQ(node_of_cpu[100], 0);  // may be plugged in: it has some node
}

TEST_F(TopologyTest, ALongListIsReadToItsEnd) {
  std::string list = "0";
  for (int cpu = 2; cpu < 2000; cpu += 2)
    list += "," + std::to_string(cpu);
  file("cpu/possible", list);
  file("cpu/online", list);
  file("node/online", "0-1");
  file("node/node0/cpulist", "0");
  file("node/node1/cpulist", list.substr(2));
  read();
  EXPECT_EQ(topology.cpus, 1999u);
  EXPECT_EQ(topology.online, 1000u);
  EXPECT_EQ(node_of_cpu[1998], 1);
}

// Containers hide /sys at times.
TEST_F(TopologyTest, WithoutSysfsItIsWhatTheThreadMayUse) {
  read();
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  int highest = 0;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    highest = CPU_ISSET(i, &set) ? i : highest;
  EXPECT_EQ(topology.cpus, static_cast<unsigned>(highest) + 1);
  EXPECT_EQ(topology.allowed, static_cast<unsigned>(CPU_COUNT(&set)));
  EXPECT_EQ(topology.nodes, 1u);
  EXPECT_EQ(topology.smt, 1u);
}

TEST_F(TopologyTest, NonsenseDoesNoHarm) {
  for (const char* text : {"", "\n\n", "-", "x", "3-1", "99999999999999999999", "0-4294967295"}) {
    file("cpu/possible", text);
    file("cpu/online", text);
    file("node/online", text);
    file("node/node0/cpulist", text);
    read();
    EXPECT_GE(topology.cpus, 1u) << text;
    EXPECT_LE(topology.cpus, kMostCpus) << text;
    EXPECT_GE(topology.nodes, 1u) << text;
    EXPECT_LE(topology.nodes, kMostNodes) << text;
    EXPECT_LT(current_cpu(), topology.cpus) << text;
    EXPECT_LT(current_node(), topology.nodes) << text;
  }
}

TEST_F(TopologyTest, ThisMachine) {
  read_topology();
  EXPECT_GE(topology.cpus, static_cast<unsigned>(sysconf(_SC_NPROCESSORS_ONLN)));
  EXPECT_LE(topology.online, topology.cpus);
  EXPECT_LE(topology.allowed, topology.cpus);
}

// On each CPU that this thread may use: where it says that it is, and where getcpu says so.
TEST_F(TopologyTest, AThreadKnowsWhereItRuns) {
  read_topology();
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &before)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(current_cpu(), static_cast<unsigned>(cpu));
    EXPECT_EQ(ask_current_cpu(), static_cast<unsigned>(cpu));
    EXPECT_EQ(current_node(), node_of_cpu[cpu]);
  }
  sched_setaffinity(0, sizeof before, &before);
}

// Where glibc has registered the area (2.35 on, if the kernel knows it), it is used.
TEST_F(TopologyTest, TheKernelsAreaIsFound) {
  read_topology();
#if defined(__GLIBC_PREREQ) && __GLIBC_PREREQ(2, 35)
  EXPECT_EQ(cpu_id_offset != 0, __rseq_size != 0);
#endif
  const std::ptrdiff_t found = cpu_id_offset;
  cpu_id_offset = 0;
  EXPECT_LT(current_cpu(), topology.cpus);
  cpu_id_offset = found;
}

TEST_F(TopologyTest, PretendedCpusAreTheThreadsOwn) {
  read_topology({2, 18, 2});
  EXPECT_EQ(topology.cpus, 72u);
  EXPECT_EQ(topology.nodes, 2u);
  EXPECT_EQ(topology.smt, 2u);
  EXPECT_EQ(node_of_cpu[17], 0);
  EXPECT_EQ(node_of_cpu[18], 1);
  EXPECT_EQ(node_of_cpu[36], 0);
  if (static_cast<unsigned>(sysconf(_SC_NPROCESSORS_CONF)) >= 72)
    GTEST_SKIP() << "a machine as large as the pretended one";
  std::set<unsigned> seen, nodes;
  for (int i = 0; i < 72; ++i) {
    std::thread([&] {
      const unsigned cpu = current_cpu();
      EXPECT_EQ(current_cpu(), cpu);  // it stays
      seen.insert(cpu);
      nodes.insert(current_node());
    }).join();
  }
  EXPECT_EQ(seen.size(), 72u);
  EXPECT_EQ(nodes.size(), 2u);
}

TEST_F(TopologyTest, FewerPretendedCpusThanRealOnes) {
  read_topology({1, 1, 1});
  EXPECT_EQ(topology.cpus, 1u);
  EXPECT_EQ(current_cpu(), 0u);
  EXPECT_EQ(current_node(), 0u);
}

TEST(Pretence, SaysWhatCanBe) {
  EXPECT_TRUE((Pretence{1, 1, 1}.valid()));
  EXPECT_TRUE((Pretence{1024, 8, 1}.valid()));
  EXPECT_FALSE((Pretence{0, 1, 1}.valid()));
  EXPECT_FALSE((Pretence{1, 0, 1}.valid()));
  EXPECT_FALSE((Pretence{1, 1, 0}.valid()));
  EXPECT_FALSE((Pretence{1025, 1, 1}.valid()));
  EXPECT_FALSE((Pretence{2, 4096, 2}.valid()));
}

}  // namespace
}  // namespace lockswap::topology_test
