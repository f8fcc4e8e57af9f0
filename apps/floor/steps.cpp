#include "steps.h"

#include <cstdlib>

#include "platform/native.h"
#include "posix/holds.h"

namespace floor_steps {
namespace {

using Records = lockswap::Holds<lockswap::Native>;

constexpr std::uint64_t kWriter = std::uint64_t{1} << 63;  // never set

// As in a lock, a fast stage makes no call and needs no stack frame.
#define INLINED [[gnu::always_inline]] inline

// The branch with which a lock goes on to its slow stage. It is never taken here.
INLINED int expect(bool is_so) noexcept {
  if (!is_so) [[unlikely]]
    std::abort();
  return 0;
}

INLINED Records& records() noexcept { return lockswap::Native::local<Records>(); }
INLINED std::uint64_t key_of(const Lock* l) noexcept { return reinterpret_cast<std::uint64_t>(l); }

// As in posix/rw_contract.h: fast_read, and has_only_hold with fast_read_unlock.
INLINED int record(Lock* l) noexcept {
  Records& mine = records();
  const std::uint64_t stamp = l->contract.load(std::memory_order_acquire);
  expect(mine.none());
  mine.set_first<false>(key_of(l), stamp, 0);
  return 0;
}
INLINED int forget(Lock* l) noexcept {
  std::uint32_t token;
  const std::uint64_t stamp = l->contract.load(std::memory_order_relaxed);
  expect(records().only_first<false>(key_of(l), stamp, token));
  records().clear_first();
  return 0;
}

// Like a lock, they look at the value that they replaced.
INLINED int enter(std::atomic<std::uint64_t>& state) noexcept {
  return expect((state.fetch_add(1, std::memory_order_acquire) & kWriter) == 0);
}
INLINED int leave(std::atomic<std::uint64_t>& state) noexcept {
  return expect((state.fetch_sub(1, std::memory_order_release) & kWriter) == 0);
}

int nothing(Lock*) noexcept { return 0; }

// The record exists only while the hold does, as in a lock: a signal handler must not find one of a
// hold that the thread doesn't have.
INLINED int begin_reading(Lock* l) noexcept {
  enter(l->state);
  return record(l);
}
INLINED int end_reading(Lock* l) noexcept {
  forget(l);
  return leave(l->state);
}

}  // namespace

// Not a constant, and visible outside this file, or the compiler would see through it.
struct Table {
  Call *empty_acquire, *empty_release, *reader_acquire, *reader_release;
};
[[gnu::visibility("hidden")]] extern Table active;
constinit Table active{nothing, nothing, begin_reading, end_reading};

int empty_acquire(Lock*) { return 0; }
int empty_release(Lock*) { return 0; }

int table_acquire(Lock* l) { return active.empty_acquire(l); }
int table_release(Lock* l) { return active.empty_release(l); }

// The attribute needs the name that the linker knows.
extern "C" Call* floor_steps_chosen() { return nothing; }
[[gnu::ifunc("floor_steps_chosen")]] int bound_acquire(Lock*);
[[gnu::ifunc("floor_steps_chosen")]] int bound_release(Lock*);

int thread_local_acquire(Lock*) { return expect(records().none()); }
int thread_local_release(Lock*) { return expect(records().none()); }

int record_acquire(Lock* l) { return record(l); }
int record_release(Lock* l) { return forget(l); }

int one_update_acquire(Lock* l) { return enter(l->state); }
int one_update_release(Lock*) { return 0; }

int two_updates_acquire(Lock* l) { return enter(l->state); }
int two_updates_release(Lock* l) { return leave(l->state); }

int four_updates_acquire(Lock* l) { return enter(l->state) | enter(l->second_state); }
int four_updates_release(Lock* l) { return leave(l->second_state) | leave(l->state); }

int reader_acquire(Lock* l) { return begin_reading(l); }
int reader_release(Lock* l) { return end_reading(l); }

int table_reader_acquire(Lock* l) { return active.reader_acquire(l); }
int table_reader_release(Lock* l) { return active.reader_release(l); }

}  // namespace floor_steps
