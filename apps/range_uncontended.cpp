// What one thread pays for acquiring and releasing a range when there is no other thread.
//
// usage: range_uncontended exclusive|shared|beside [PAIRS [ROUNDS]]
//   beside  exclusive, while the thread holds another range of the lock
//   PAIRS, ROUNDS and the output are those of `uncontended`. LOCKSWAP_RANGE chooses the lock.

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common/clock.h"
#include "lockswap/range_lock.h"

namespace {

lockswap_range_lock lock = LOCKSWAP_RANGE_LOCK_INITIALIZER;

__attribute__((noinline)) void pairs_of(long n, int mode) {
  for (; n > 0; --n) {
    lockswap_range r;
    lockswap_range_acquire(&lock, &r, 100, 200, mode);
    lockswap_range_release(&r);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  const bool shared = std::strcmp(what, "shared") == 0;
  const bool holds_another = std::strcmp(what, "beside") == 0;
  const long pairs = argc > 2 ? std::atol(argv[2]) : 1'000'000;
  const long rounds = argc > 3 ? std::atol(argv[3]) : 7;
  if (argc > 4 || (!shared && !holds_another && std::strcmp(what, "exclusive") != 0) ||
      pairs <= 0 || rounds <= 0) {
    std::fprintf(stderr, "usage: range_uncontended exclusive|shared|beside [PAIRS [ROUNDS]]\n");
    return 2;
  }
  const int mode = shared ? LOCKSWAP_RANGE_SHARED : LOCKSWAP_RANGE_EXCLUSIVE;
  lockswap_range other;
  if (holds_another) lockswap_range_acquire(&lock, &other, 0, 100, LOCKSWAP_RANGE_EXCLUSIVE);
  pairs_of(pairs / 10 + 1, mode);  // warm: the thread's nodes
  for (long i = 0; i < rounds; ++i) {
    const double start = bench::cpu_ns();
    pairs_of(pairs, mode);
    std::printf("%.3f ns/pair\n", (bench::cpu_ns() - start) / static_cast<double>(pairs));
  }
  return 0;
}
