#include "profile/start.h"

#include "platform/clock.h"
#include "platform/ticks.h"
#include "profile/file.h"
#include "profile/parent.h"
#include "profile/waits.h"
#include "profile/world.h"

namespace lockswap::profile {
namespace {

// The minimum of several rounds, because whatever else the processor does only adds time.
constexpr int kRounds = 8, kPairsOfRound = 64;

constinit pthread_mutex_t probe = PTHREAD_MUTEX_INITIALIZER;

std::uint64_t pairs_ns_256(const MutexOps& ops) noexcept {
  std::uint64_t least = ~std::uint64_t{0};
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t begin = Ticks::now();
    for (int i = 0; i < kPairsOfRound; ++i) {
      ops.lock(&probe);
      ops.unlock(&probe);
    }
    const std::uint64_t ns = Ticks::ns_between(begin, Ticks::now());
    least = ns < least ? ns : least;
  }
  return least * 256 / kPairsOfRound;
}

constinit std::uint64_t began_ns = 0;  // processor time of the starting thread

}  // namespace

bool begin(const char* folder, const recording::ModuleFunctions& functions) noexcept {
  began_ns = thread_cpu_ns();
  recording::modules = functions;
  Ticks::calibrate();
  if (!prepare_world() || !open_file(folder)) return false;
  record().counter = Ticks::has_counter() ? 1 : 0;
  return true;
}

void calibrate(const MutexOps& profiled, const MutexOps& behind) noexcept {
  probe = PTHREAD_MUTEX_INITIALIZER;  // in a child, a thread of the parent's may hold it
  // As in a long run: among the first ones more are timed.
  for (int round = 0; round < 8; ++round)
    pairs_ns_256(profiled);
  const std::uint64_t with = pairs_ns_256(profiled), without = pairs_ns_256(behind);
  Record& r = record();
  r.pair_ns_256 = with > without ? with - without : 0;
  // The calls above caused one stack to be unwound.
  const std::uint64_t unwound = r.unwound.load(relaxed);
  r.stack_ns = unwound == 0 ? 0 : r.unwind_ns.load(relaxed) / unwound;
  r.unwound.store(0, relaxed);
  r.unwind_ns.store(0, relaxed);
  r.start_ns = thread_cpu_ns() - began_ns;
}

void forked() noexcept {
  if (the_record == nullptr) return;  // also where its file couldn't be made
  keep_holds_of_parent();
  empty_world_of_parent();
}

void end() noexcept {
  // A child that has taken no lock has no file, and its parent's is still mapped.
  if (the_world == nullptr || !is_recording()) return;
  {
    const Entry entry;
    if (Thread* const t = entry.thread(); t != nullptr) charge_pending(*t, true);
  }
  close_file();
}

}  // namespace lockswap::profile
