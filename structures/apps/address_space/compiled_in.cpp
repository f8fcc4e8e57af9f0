#include "address_space/compiled_in.h"

#include "address_space/designs/rwlock.h"
#include "address_space/time_waits.h"
#include "variants/locks.h"

namespace bench {
namespace {

using lockswap::address_space::NativeMachine;
using lockswap::address_space::OneRwLock;
using variants_bench::Variant;

constexpr std::uint32_t kSlots = 4096;  // of BRAVO's table, as in the library

class CompiledIn {
 public:
  void lock() { must(Variant::calls.wrlock(&lock_), "wrlock"); }
  void unlock() { must(Variant::calls.unlock(&lock_), "unlock"); }
  void lock_shared() { must(Variant::calls.rdlock(&lock_), "rdlock"); }
  void unlock_shared() { must(Variant::calls.unlock(&lock_), "unlock"); }

 private:
  pthread_rwlock_t lock_ = PTHREAD_RWLOCK_INITIALIZER;
};

struct Machine : NativeMachine {
  using RwLock = CompiledIn;
};
struct Watched : TimedMachine {
  using RwLock = TimedRwLock<LockClass::space_read, LockClass::space_write, CompiledIn>;
};

}  // namespace

bool prepare_compiled_in(const std::string& lock) {
  Variant::calls = variants_bench::prepare(lock, kSlots);
  return Variant::calls.rdlock != nullptr;
}

void run_compiled_in(const Plan& plan, const Work& work, const Trace* trace,
                     const SpaceOptions& options) {
  if (trace == nullptr) {
    run<OneRwLock, Machine>(plan, work, options);
  } else {
    run_trace<OneRwLock, Machine>(plan, *trace, options);
  }
}

void run_waits_compiled_in(const Plan& plan, const Work& work, const Trace* trace,
                           const SpaceOptions& options) {
  time_waits<OneRwLock, Watched>(plan, work, trace, options);
}

}  // namespace bench
