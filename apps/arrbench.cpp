// arrbench: threads that read and change parts of an array under a range lock (A. Kogan, D. Dice,
// S. Issa, EuroSys 2020, section 7.1).
//
// The array has 256 slots, each on a cache line. An operation acquires a range of slots, shared to
// read the value of each, exclusive to add 1 to each, and releases it; then the thread does 0 to
// 2047 no-ops. --ranges is what is acquired:
//   full      all slots
//   disjoint  the thread's own part, which it goes through as many times as there are threads, so
//             that an operation is the same work at each number of threads
//   random    from one random slot to another
// The paper's shares of reads are 1, 0.8 and 0.6. A slot is two words, so that a half-done write is
// seen: a writer stores both, a reader loads both.
//
// --lock is whose ranges they are:
//   library      the library's: LOCKSWAP_RANGE chooses; lists have a fast path and are fair
//   paper-ex, paper-rw    the paper's two lists as it measured them, without both (7.1)
// In a lock that is made of segments one has --segment slots. The program prints the lines of
// common/report.h. Its exit status is 1 if the array's final contents are not what was added, or if
// a reader saw a writer's half-done work. --help shows the options.

#include <algorithm>
#include <memory>

#include "arrbench_locks.h"
#include "common/random.h"
#include "common/report.h"
#include "common/witness.h"

namespace {

using namespace bench;

constexpr std::uint32_t kSlots = 256;
constexpr std::uint32_t kNoOps = 2048;

template <class Lock>
class Array {
 public:
  explicit Array(int segment) : lock(segment) {}
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  Lock lock;

  void read(std::uint32_t begin, std::uint32_t end) const {
    for (std::uint32_t i = begin; i < end; ++i)
      slots_[i].check();
  }
  void add(std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t i = begin; i < end; ++i)
      slots_[i].write();
  }
  void check_added(std::uint64_t added) const { check_writes_in(slots_, added); }

 private:
  Slot slots_[kSlots];
};

enum class Ranges { full, disjoint, random };

template <class Lock>
class alignas(128) Worker {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t added = 0;  // to slots

  Worker(Array<Lock>& array, Ranges ranges, double read_share, std::uint32_t number,
         std::uint32_t threads)
      : array_(array),
        ranges_(ranges),
        read_share_(share_of_32_bits(read_share)),
        random_(number),
        rounds_(ranges == Ranges::disjoint ? threads : 1) {
    if (ranges == Ranges::disjoint) {
      begin_ = number * kSlots / threads;
      end_ = (number + 1) * kSlots / threads;
    }
  }

  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>&) {
    constexpr int kBatch = 8;
    for (int i = 0; i < kBatch; ++i) {
      if (ranges_ == Ranges::random) choose();
      typename Lock::Held range{};
      if (random_.with_share(read_share_)) {
        watch.read([&] { array_.lock.acquire(range, begin_, end_, true); });
        for (std::uint32_t n = 0; n < rounds_; ++n)
          array_.read(begin_, end_);
        ++reads;
      } else {
        watch.write([&] { array_.lock.acquire(range, begin_, end_, false); });
        for (std::uint32_t n = 0; n < rounds_; ++n)
          array_.add(begin_, end_);
        ++writes;
        added += std::uint64_t{rounds_} * (end_ - begin_);
      }
      array_.lock.release(range);
      for (std::uint32_t n = random_.below(kNoOps); n > 0; --n)
        asm volatile("nop");
    }
  }

 private:
  void choose() {
    const std::uint32_t a = random_.below(kSlots);
    const std::uint32_t b = random_.below(kSlots);
    begin_ = std::min(a, b);
    end_ = std::max(a, b) + 1;
  }

  Array<Lock>& array_;
  Ranges ranges_;
  std::uint64_t read_share_;
  Random random_;
  std::uint32_t rounds_;
  std::uint32_t begin_ = 0;
  std::uint32_t end_ = kSlots;
};

struct Setup {
  Plan plan;
  Ranges ranges;
  double read_share;
  int segment;  // slots
};

template <class Lock>
void run(const Setup& setup) {
  const auto array = std::make_unique<Array<Lock>>(setup.segment);
  std::vector<Worker<Lock>> workers;
  const auto threads = static_cast<std::uint32_t>(setup.plan.threads);
  for (std::uint32_t i = 0; i < threads; ++i)
    workers.emplace_back(*array, setup.ranges, setup.read_share, i, threads);
  run_and_print(setup.plan, workers);
  std::uint64_t added = 0;
  for (const auto& w : workers)
    added += w.added;
  array->check_added(added);
}

}  // namespace

int main(int argc, char** argv) {
  Setup setup{.plan = {}, .ranges = Ranges::random, .read_share = 0.8, .segment = 1};
  std::string ranges = "random";
  std::string lock = "library";
  Options options("arrbench", "Threads read and change parts of an array under a range lock.");
  add_plan_options(options, setup.plan);
  options.choice("--ranges", ranges, {"full", "disjoint", "random"}, "what is acquired");
  options.number("--reads", setup.read_share, 0, 1, "share of shared acquisitions");
  options.choice("--lock", lock, {"library", "paper-ex", "paper-rw"},
                 "the library's range lock, or a list as the paper measured it");
  options.number("--segment", setup.segment, 1, static_cast<int>(kSlots),
                 "slots of a segment, in locks that are made of segments");
  options.parse(argc, argv);
  if (ranges == "disjoint" && setup.plan.threads > static_cast<int>(kSlots)) {
    options.refuse("--ranges disjoint takes at most 256 threads");
  }
  setup.ranges = ranges == "full"       ? Ranges::full
                 : ranges == "disjoint" ? Ranges::disjoint
                                        : Ranges::random;
  if (lock == "paper-ex") {
    run<ListAsInPaper<false>>(setup);
  } else if (lock == "paper-rw") {
    run<ListAsInPaper<true>>(setup);
  } else {
    run<LibraryRanges>(setup);
  }
  return 0;
}
