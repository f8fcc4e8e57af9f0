#include "calls/start.h"

#include <algorithm>

#include "calls/book.h"
#include "calls/file.h"

namespace lockswap::calls {
namespace {

constexpr std::uint32_t kPairs = 64, kRounds = 8;
static_assert(2 * kPairs < Chunk::kCalls);

constinit pthread_mutex_t probe = PTHREAD_MUTEX_INITIALIZER;

std::uint64_t ns_of_pairs(const MutexOps& ops) noexcept {
  const std::uint64_t begin = Ticks::now();
  for (std::uint32_t i = 0; i < kPairs; ++i) {
    ops.lock(&probe);
    ops.unlock(&probe);
  }
  return Ticks::ns_between(begin, Ticks::now());
}

// Returns the sum of the gaps after calls of that kind, in which the thread did nothing.
std::uint64_t ns_of_gaps(const Call* call, std::uint32_t count, What after) noexcept {
  std::uint64_t ns = 0;
  for (std::uint32_t i = 0; i + 1 < count; ++i) {
    const std::uint64_t end = call[i].end();
    if (call[i].what() == after && call[i + 1].at() > end) ns += call[i + 1].at() - end;
  }
  return ns;
}

}  // namespace

bool begin(const char* folder, const Bounds& bounds) noexcept {
  Ticks::calibrate();
  return prepare_book() && open_file(folder, bounds.bytes, bounds.after_ns);
}

// Uses the minimum of several rounds, because whatever else the processor does only adds time.
void calibrate(const MutexOps& recorded, const MutexOps& behind) noexcept {
  static constinit Call call[Chunk::kCalls]{};
  probe = PTHREAD_MUTEX_INITIALIZER;  // in a child, a thread of the parent's may hold it
  std::uint64_t with = ~std::uint64_t{0}, without = with, hold = with, think = with;
  begin_trial();
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    with = std::min(with, ns_of_pairs(recorded));
    const std::uint32_t count = take_trial(call);
    hold = std::min(hold, ns_of_gaps(call, count, What::lock));
    think = std::min(think, ns_of_gaps(call, count, What::unlock));
    without = std::min(without, ns_of_pairs(behind));
  }
  end_trial();
  forget(&probe);
  Record& r = record();
  r.pair_ns_256 = with > without ? (with - without) * 256 / kPairs : 0;
  r.hold_ns_256 = hold * 256 / kPairs;
  r.think_ns_256 = think * 256 / kPairs;
}

void forked() noexcept {
  if (the_world != nullptr) empty_book_of_parent();
}

void end() noexcept {
  if (the_world != nullptr) close_book();
}

}  // namespace lockswap::calls
