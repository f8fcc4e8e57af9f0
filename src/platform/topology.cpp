#include "platform/topology.h"

#include <dlfcn.h>
#include <fcntl.h>

#include "platform/syscall.h"
#include "platform/text.h"

namespace lockswap {
namespace {

// A path that is joined from a few parts, without stdio.
class Path {
 public:
  explicit Path(const char* root) noexcept { out_ << root; }
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;
  template <class Part>
  Path& operator<<(Part part) noexcept {
    out_ << part;
    return *this;
  }
  const char* text() const noexcept { return text_; }

 private:
  char text_[256];
  Text out_{text_, sizeof text_};
};

// Calls on_range(first, last) for each part of a list such as "0-3,8,10-11". Returns false if there
// is no such file, or nothing in it.
template <class F>
bool read_list(const Path& path, F on_range) noexcept {
  const long fd =
      raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path.text()), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char buffer[512] = {};
  std::uint32_t first = 0, number = 0;
  bool has_number = false, has_first = false, any = false;
  const auto end_of_part = [&] {
    if (has_number) on_range(has_first ? first : number, number);
    any = any || has_number;
    number = 0;
    has_number = has_first = false;
  };
  long n;
  while ((n = raw_syscall(SYS_read, fd, reinterpret_cast<long>(buffer), sizeof buffer)) > 0) {
    for (long i = 0; i < n; ++i) {
      const char c = buffer[i];
      if (c >= '0' && c <= '9') {
        number = (number * 10 + static_cast<std::uint32_t>(c - '0')) & 0xffffff;
        has_number = true;
      } else if (c == '-') {
        first = number;
        has_first = has_number;
        number = 0;
        has_number = false;
      } else {
        end_of_part();
      }
    }
  }
  end_of_part();
  raw_syscall(SYS_close, fd);
  return any;
}

struct Counted {
  std::uint32_t count = 0;
  std::uint32_t end = 0;  // one past the highest number
};
Counted count(const Path& path) noexcept {
  Counted c;
  read_list(path, [&c](std::uint32_t first, std::uint32_t last) {
    c.count += last >= first ? last - first + 1 : 0;
    if (last >= c.end) c.end = last + 1;
  });
  return c;
}

Counted count_allowed() noexcept {
  unsigned long mask[kMostCpus / (8 * sizeof(unsigned long))] = {};
  const long bytes =
      raw_syscall(SYS_sched_getaffinity, 0, sizeof mask, reinterpret_cast<long>(mask));
  Counted c;
  for (std::uint32_t i = 0; bytes > 0 && i < 8 * static_cast<std::uint32_t>(bytes); ++i) {
    constexpr std::uint32_t kBits = 8 * sizeof(unsigned long);
    if ((mask[i / kBits] >> i % kBits & 1) == 0) continue;
    ++c.count;
    c.end = i + 1;
  }
  return c;
}

std::uint32_t between(std::uint32_t n, std::uint32_t most) noexcept {
  return n == 0 ? 1 : n < most ? n : most;
}

void read_nodes(const char* root) noexcept {
  std::uint32_t nodes = 0;
  read_list(Path(root) << "/node/online", [&](std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t id = first; id <= last && id < kMostNodes; ++id) {
      // A node that has only memory has an empty list, and gets no number here.
      const bool has_cpus = read_list(Path(root) << "/node/node" << id << "/cpulist",
                                      [&](std::uint32_t from, std::uint32_t to) {
                                        for (; from <= to && from < kMostCpus; ++from)
                                          node_of_cpu[from] = static_cast<std::uint16_t>(nodes);
                                      });
      nodes += has_cpus ? 1 : 0;
    }
  });
  topology.nodes = between(nodes, kMostNodes);
}

// Numbers CPUs as Linux does on most machines: first one thread of each core, node after node.
void pretend(const Pretence& p) noexcept {
  const std::uint32_t cores = p.nodes * p.cores;
  threads_stand_still = cores * p.smt > topology.cpus;
  topology = {cores * p.smt, cores * p.smt, cores * p.smt, p.nodes, p.smt};
  for (std::uint32_t cpu = 0; cpu < topology.cpus; ++cpu)
    node_of_cpu[cpu] = static_cast<std::uint16_t>(cpu % cores / p.cores);
}

void find_cpu_id() noexcept {
  const auto find = [](const char* name) {
    return find_in_libc != nullptr ? find_in_libc(name) : dlsym(RTLD_DEFAULT, name);
  };
  const auto* offset = static_cast<const std::ptrdiff_t*>(find("__rseq_offset"));
  const auto* size = static_cast<const unsigned*>(find("__rseq_size"));
  constexpr std::ptrdiff_t kCpuId = 4;  // in the kernel's struct rseq, from its first version
  const bool registered = offset != nullptr && size != nullptr && *size >= 8;
  cpu_id_offset = registered && !threads_stand_still ? *offset + kCpuId : 0;
}

}  // namespace

void read_topology(Pretence pretence, const char* root) noexcept {
  topology = {};
  threads_stand_still = false;
  for (auto& node : node_of_cpu) {
    if (node != 0) node = 0;  // untouched pages stay untouched
  }
  const Counted allowed = count_allowed();
  const Counted possible = count(Path(root) << "/cpu/possible");
  const Counted online = count(Path(root) << "/cpu/online");
  topology.allowed = between(allowed.count, kMostCpus);
  topology.cpus = between(possible.end != 0 ? possible.end : allowed.end, kMostCpus);
  topology.online = between(online.count != 0 ? online.count : allowed.count, kMostCpus);
  if (pretence.nodes != 0) {
    pretend(pretence);
  } else {
    read_nodes(root);
    topology.smt =
        between(count(Path(root) << "/cpu/cpu0/topology/thread_siblings_list").count, kMostCpus);
  }
  find_cpu_id();
}

}  // namespace lockswap
