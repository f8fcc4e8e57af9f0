// rangefile: threads that read and write parts of one file at the same time.
//
// The file has --blocks blocks of 4096 bytes, each with a version and a checksum. An operation
// locks up to --longest blocks in a row, then reads each, or reads it, raises its version and
// writes it. Blocks are read and written in two halves, so that what is not locked out is seen as a
// wrong checksum, and two writers at once as a lost version. --ranges random: from a random block
// on; disjoint: in the thread's own part of the file.
//
// --locks ranges: bytes of a range lock, which LOCKSWAP_RANGE chooses (rwlock: one reader-writer
// lock for the file). --locks ofd: open-file-description locks of the system (fcntl), each thread
// with its own description. --locks none: nothing, to see that the checks see it; then each thread
// sleeps between the halves, so that others come between them on any machine. Without --locks:
// ranges if LOCKSWAP_RANGE is set, else ofd, so that a campaign's baselines are the system's locks.
//
// It prints the lines of common/report.h. The file is a new one in the working directory, removed
// at once. The exit status is 1 if a checksum or a version was wrong. --help shows the options.

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <unistd.h>

#include "common/random.h"
#include "common/report.h"
#include "lockswap/range_lock.h"

namespace {

using namespace bench;

constexpr std::size_t kBlock = 4096;
constexpr std::size_t kHalf = kBlock / 2;

[[noreturn]] void failed(const char* call, int error) {
  wrong_result(std::string(call) + ": " + std::strerror(error));
}

// The last word makes the sum of all 0.
struct Block {
  static constexpr std::size_t kWords = kBlock / sizeof(std::uint64_t);
  std::array<std::uint64_t, kWords> words;

  std::uint64_t version() const noexcept { return words[0]; }
  void fill(std::uint64_t version) noexcept {
    std::uint64_t sum = words[0] = version;
    for (std::size_t i = 1; i + 1 < kWords; ++i)
      sum += words[i] = words[i - 1] * 0x5851F42D4C957F2Du + i;
    words[kWords - 1] = 0 - sum;
  }
  bool is_whole() const noexcept {
    std::uint64_t sum = 0;
    for (const std::uint64_t w : words)
      sum += w;
    return sum == 0;
  }
};
static_assert(sizeof(Block) == kBlock);

// The file through one description.
class File {
 public:
  explicit File(int fd, bool sleeps = false) noexcept : fd_(fd), sleeps_(sleeps) {}
  void read(std::uint32_t number, Block& b) const { each_half(number, b, pread); }
  void write(std::uint32_t number, Block& b) const { each_half(number, b, pwrite); }
  int fd() const noexcept { return fd_; }

 private:
  template <class Call>
  void each_half(std::uint32_t number, Block& b, Call call) const {
    auto* bytes = reinterpret_cast<char*>(&b);
    for (const std::size_t at : {std::size_t{0}, kHalf}) {
      const auto offset = static_cast<off_t>(number * kBlock + at);
      if (call(fd_, bytes + at, kHalf, offset) != static_cast<ssize_t>(kHalf))
        failed("pread or pwrite", errno);
      if (sleeps_ && at == 0) usleep(100);
    }
  }
  int fd_;
  bool sleeps_;  // between the halves
};

enum class Locks { ranges, ofd, none };

struct Setting {
  Locks locks;
  lockswap_range_lock* lock;
  std::uint32_t blocks;
  std::uint32_t longest;
  bool disjoint;
  std::uint64_t read_share;
  std::uint32_t threads;
};

class alignas(128) Worker {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t raised = 0;  // versions

  Worker(const Setting& setting, int fd, std::uint32_t number)
      : setting_(setting), file_(fd, setting.locks == Locks::none), random_(number) {
    if (setting.disjoint) {
      begin_ = number * setting.blocks / setting.threads;
      end_ = (number + 1) * setting.blocks / setting.threads;
    } else {
      end_ = setting.blocks;
    }
  }

  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>&) {
    const std::uint32_t first = begin_ + random_.below(end_ - begin_);
    const std::uint32_t last = std::min(end_, first + 1 + random_.below(setting_.longest));
    const bool reads_it = random_.with_share(setting_.read_share);
    if (reads_it) {
      watch.read([&] { acquire(first, last, true); });
    } else {
      watch.write([&] { acquire(first, last, false); });
    }
    for (std::uint32_t number = first; number < last; ++number) {
      Block b;
      file_.read(number, b);
      if (!b.is_whole()) wrong_result("block " + std::to_string(number) + " is torn");
      if (reads_it) continue;
      b.fill(b.version() + 1);
      file_.write(number, b);
      ++raised;
    }
    release(first, last);
    ++(reads_it ? reads : writes);
  }

 private:
  void acquire(std::uint32_t first, std::uint32_t last, bool shared) {
    if (setting_.locks != Locks::ranges) {
      system_lock(first, last, shared ? F_RDLCK : F_WRLCK);
      return;
    }
    const int error =
        lockswap_range_acquire(setting_.lock, &range_, first * kBlock, last * kBlock,
                               shared ? LOCKSWAP_RANGE_SHARED : LOCKSWAP_RANGE_EXCLUSIVE);
    if (error != 0) failed("lockswap_range_acquire", error);
  }
  void release(std::uint32_t first, std::uint32_t last) {
    if (setting_.locks != Locks::ranges) {
      system_lock(first, last, F_UNLCK);
    } else if (const int error = lockswap_range_release(&range_); error != 0) {
      failed("lockswap_range_release", error);
    }
  }
  void system_lock(std::uint32_t first, std::uint32_t last, short type) const {
    if (setting_.locks == Locks::none) return;
    struct flock l {};
    l.l_type = type;
    l.l_whence = SEEK_SET;
    l.l_start = static_cast<off_t>(first * kBlock);
    l.l_len = static_cast<off_t>((last - first) * kBlock);
    while (fcntl(file_.fd(), F_OFD_SETLKW, &l) != 0) {
      if (errno != EINTR) failed("fcntl(F_OFD_SETLKW)", errno);
    }
  }

  const Setting& setting_;
  File file_;
  Random random_;
  std::uint32_t begin_ = 0;
  std::uint32_t end_ = 0;
  lockswap_range range_{};
};

// Open once for each thread; nothing of it stays.
std::vector<int> make_file(int descriptions, std::uint32_t blocks) {
  char name[] = "./rangefile-XXXXXX";
  std::vector<int> all;
  all.push_back(mkstemp(name));
  if (all[0] < 0) failed("mkstemp", errno);
  while (static_cast<int>(all.size()) < descriptions) {
    all.push_back(open(name, O_RDWR | O_CLOEXEC));
    if (all.back() < 0) failed("open", errno);
  }
  unlink(name);
  Block b;
  b.fill(0);
  for (std::uint32_t i = 0; i < blocks; ++i)
    File(all[0]).write(i, b);
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  double read_share = 0.8;
  int blocks = 256;
  int longest = 16;
  std::string ranges = "random";
  std::string locks = std::getenv("LOCKSWAP_RANGE") != nullptr ? "ranges" : "ofd";
  Options options("rangefile", "Threads read and write parts of one file at the same time.");
  add_plan_options(options, plan);
  options.choice("--locks", locks, {"ranges", "ofd", "none"}, "range locks, the system's, or none");
  options.choice("--ranges", ranges, {"random", "disjoint"}, "what is locked");
  options.number("--reads", read_share, 0, 1, "share of operations that only read");
  options.number("--blocks", blocks, 1, 1 << 18, "length of the file in blocks of 4096 bytes");
  options.number("--longest", longest, 1, 1 << 18, "most blocks of an operation");
  options.parse(argc, argv);
  if (ranges == "disjoint" && plan.threads > blocks) {
    options.refuse("--ranges disjoint takes at most as many threads as --blocks");
  }

  static lockswap_range_lock lock = LOCKSWAP_RANGE_LOCK_INITIALIZER;
  const auto count = static_cast<std::uint32_t>(blocks);
  const Locks which = locks == "ranges" ? Locks::ranges : locks == "ofd" ? Locks::ofd : Locks::none;
  const Setting setting{.locks = which,
                        .lock = &lock,
                        .blocks = count,
                        .longest = static_cast<std::uint32_t>(longest),
                        .disjoint = ranges == "disjoint",
                        .read_share = share_of_32_bits(read_share),
                        .threads = static_cast<std::uint32_t>(plan.threads)};
  const std::vector<int> files = make_file(plan.threads, count);
  std::vector<Worker> workers;
  for (std::uint32_t i = 0; i < setting.threads; ++i)
    workers.emplace_back(setting, files[i], i);
  run_and_print(plan, workers);

  std::uint64_t raised = 0;
  for (const Worker& w : workers)
    raised += w.raised;
  std::uint64_t versions = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    Block b;
    File(files[0]).read(i, b);
    if (!b.is_whole()) wrong_result("block " + std::to_string(i) + " is torn at the end");
    versions += b.version();
  }
  if (versions != raised) {
    wrong_result("versions got lost: " + std::to_string(raised) + " were raised, " +
                 std::to_string(versions) + " are left");
  }
  return 0;
}
