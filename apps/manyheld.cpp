// manyheld: threads that acquire ranges of a lock of which many other ranges are held, as when many
// threads have their parts of one file.
//
// The first thread holds every third block of 4096 units, exclusively, all the time. An operation
// acquires a random block that follows one of these, shared to read its slot or exclusive to add 1
// to it, and releases it; then the thread does up to 255 no-ops. (It is every third block, so that
// held and other blocks share the lists of sharded-rw, which is made for this: from about 350 held
// blocks on, which wrap around its 1024 lists. With fewer an acquisition is alone in its list. With
// --offset 2048 each block lies across two of its segments.)
//
// LOCKSWAP_RANGE chooses the lock; those that are made of reader-writer locks cannot be held so
// often by one thread. The program prints the lines of common/report.h. The exit status is 1 if the
// slots' final contents are not what was added, or if a reader saw a writer's half-done work.
// --help shows the options.

#include <cstdint>
#include <vector>

#include "common/random.h"
#include "common/report.h"
#include "common/witness.h"
#include "lockswap/range_lock.h"

namespace {

using namespace bench;

constexpr std::uint64_t kBlock = 4096;
constexpr std::uint32_t kNoOps = 256;

class Blocks {
 public:
  Blocks(std::uint32_t held, std::uint64_t offset) : offset_(offset), held_(held), slots_(held) {
    must(lockswap_range_lock_init(&lock_, nullptr), "lockswap_range_lock_init");
    for (std::uint32_t i = 0; i < held; ++i)
      acquire(held_[i], 3 * std::uint64_t{i}, LOCKSWAP_RANGE_EXCLUSIVE);
  }
  ~Blocks() {
    for (lockswap_range& r : held_)
      release(r);
  }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

  std::uint32_t count() const { return static_cast<std::uint32_t>(slots_.size()); }
  // The one behind the i-th that is held.
  void acquire_free(lockswap_range& r, std::uint32_t i, int mode) {
    acquire(r, 3 * std::uint64_t{i} + 1, mode);
  }
  static void release(lockswap_range& r) {
    must(lockswap_range_release(&r), "lockswap_range_release");
  }

  void read(std::uint32_t i) const { slots_[i].check(); }
  void add(std::uint32_t i) { slots_[i].write(); }
  void check_writes(std::uint64_t writes) const { check_writes_in(slots_, writes); }

 private:
  void acquire(lockswap_range& r, std::uint64_t block, int mode) {
    const std::uint64_t start = offset_ + block * kBlock;
    must(lockswap_range_acquire(&lock_, &r, start, start + kBlock, mode), "lockswap_range_acquire");
  }

  lockswap_range_lock lock_;
  std::uint64_t offset_;
  std::vector<lockswap_range> held_;
  std::vector<Slot> slots_;
};

class alignas(128) Worker {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;

  Worker(Blocks& blocks, double read_share, std::uint32_t number)
      : blocks_(blocks), read_share_(share_of_32_bits(read_share)), random_(number) {}

  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>&) {
    constexpr int kBatch = 8;
    for (int n = 0; n < kBatch; ++n) {
      const std::uint32_t i = random_.below(blocks_.count());
      lockswap_range range;
      if (random_.with_share(read_share_)) {
        watch.read([&] { blocks_.acquire_free(range, i, LOCKSWAP_RANGE_SHARED); });
        blocks_.read(i);
        ++reads;
      } else {
        watch.write([&] { blocks_.acquire_free(range, i, LOCKSWAP_RANGE_EXCLUSIVE); });
        blocks_.add(i);
        ++writes;
      }
      Blocks::release(range);
      for (std::uint32_t k = random_.below(kNoOps); k > 0; --k)
        asm volatile("nop");
    }
  }

 private:
  Blocks& blocks_;
  std::uint64_t read_share_;
  Random random_;
};

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  double read_share = 0.5;
  int held = 1000;
  int offset = 0;
  Options options("manyheld", "Threads acquire ranges of a lock of which many others are held.");
  add_plan_options(options, plan);
  options.number("--held", held, 1, 1'000'000, "ranges that are held all the time");
  options.number("--offset", offset, 0, kBlock - 1, "of the blocks, in units");
  options.number("--reads", read_share, 0, 1, "share of shared acquisitions");
  options.parse(argc, argv);

  Blocks blocks(static_cast<std::uint32_t>(held), static_cast<std::uint64_t>(offset));
  std::vector<Worker> workers;
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(plan.threads); ++i)
    workers.emplace_back(blocks, read_share, i);
  run_and_print(plan, workers);
  std::uint64_t writes = 0;
  for (const Worker& w : workers)
    writes += w.writes;
  blocks.check_writes(writes);
  return 0;
}
