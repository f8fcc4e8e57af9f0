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
// The paper's shares of reads are 1, 0.8 and 0.6. Its locks were measured without their fast path
// and without fairness (7.1); here they have both, as programs have them. A slot is two words, so
// that a half-done write is seen: a writer stores both, a reader loads both.
//
// LOCKSWAP_RANGE chooses the lock; a segment of pnova-rw is one slot. The program prints the lines
// of common/report.h. Its exit status is 1 if the array's final contents are not what was added, or
// if a reader saw a writer's half-done work. --help shows the options.

#include <algorithm>
#include <memory>

#include "common/random.h"
#include "common/report.h"
#include "common/witness.h"
#include "lockswap/range_lock.h"

namespace {

using namespace bench;

constexpr std::uint32_t kSlots = 256;
constexpr std::uint32_t kNoOps = 2048;

class Array {
 public:
  Array() {
    lockswap_range_lock_attr attr;
    must(lockswap_range_lock_attr_init(&attr), "lockswap_range_lock_attr_init");
    must(lockswap_range_lock_attr_set_segment(&attr, 1), "lockswap_range_lock_attr_set_segment");
    must(lockswap_range_lock_init(&lock_, &attr), "lockswap_range_lock_init");
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  void acquire(lockswap_range& r, std::uint32_t begin, std::uint32_t end, int mode) {
    must(lockswap_range_acquire(&lock_, &r, begin, end, mode), "lockswap_range_acquire");
  }
  static void release(lockswap_range& r) {
    must(lockswap_range_release(&r), "lockswap_range_release");
  }

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
  lockswap_range_lock lock_;
  Slot slots_[kSlots];
};

enum class Ranges { full, disjoint, random };

class alignas(128) Worker {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t added = 0;  // to slots

  Worker(Array& array, Ranges ranges, double read_share, std::uint32_t number,
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
      lockswap_range range;
      if (random_.with_share(read_share_)) {
        watch.read([&] { array_.acquire(range, begin_, end_, LOCKSWAP_RANGE_SHARED); });
        for (std::uint32_t n = 0; n < rounds_; ++n)
          array_.read(begin_, end_);
        ++reads;
      } else {
        watch.write([&] { array_.acquire(range, begin_, end_, LOCKSWAP_RANGE_EXCLUSIVE); });
        for (std::uint32_t n = 0; n < rounds_; ++n)
          array_.add(begin_, end_);
        ++writes;
        added += std::uint64_t{rounds_} * (end_ - begin_);
      }
      Array::release(range);
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

  Array& array_;
  Ranges ranges_;
  std::uint64_t read_share_;
  Random random_;
  std::uint32_t rounds_;
  std::uint32_t begin_ = 0;
  std::uint32_t end_ = kSlots;
};

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  double read_share = 0.8;
  std::string ranges = "random";
  Options options("arrbench", "Threads read and change parts of an array under a range lock.");
  add_plan_options(options, plan);
  options.choice("--ranges", ranges, {"full", "disjoint", "random"}, "what is acquired");
  options.number("--reads", read_share, 0, 1, "share of shared acquisitions");
  options.parse(argc, argv);
  if (ranges == "disjoint" && plan.threads > static_cast<int>(kSlots)) {
    options.refuse("--ranges disjoint takes at most 256 threads");
  }

  const auto array = std::make_unique<Array>();
  const Ranges which = ranges == "full"       ? Ranges::full
                       : ranges == "disjoint" ? Ranges::disjoint
                                              : Ranges::random;
  std::vector<Worker> workers;
  const auto threads = static_cast<std::uint32_t>(plan.threads);
  for (std::uint32_t i = 0; i < threads; ++i)
    workers.emplace_back(*array, which, read_share, i, threads);
  run_and_print(plan, workers);
  std::uint64_t added = 0;
  for (const Worker& w : workers)
    added += w.added;
  array->check_added(added);
  return 0;
}
