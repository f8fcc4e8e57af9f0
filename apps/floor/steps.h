// The steps that a lock behind a preload can't do without, one pair of functions each, in a shared
// library of their own: programs call them through the PLT, as they call those of a preload.
#pragma once

#include <atomic>
#include <cstdint>

#pragma GCC visibility push(default)
namespace floor_steps {

// As large as a pthread_rwlock_t, so that it shares no cache line with anything that matters.
struct alignas(64) Lock {
  std::atomic<std::uint64_t> state{0};
  std::atomic<std::uint64_t> second_state{0};
  std::atomic<std::uint64_t> contract{0};  // as in the objects of the library
};

// Both functions of a step have this type, and return 0.
using Call = int(Lock*);

// Nothing: two calls, and the loop.
Call empty_acquire, empty_release;
// The same behind an indirect jump through a table, as the library's exported functions have it.
Call table_acquire, table_release;
// The same as GNU_IFUNC: the loader asks a function which one to bind.
Call bound_acquire, bound_release;
// A look at the thread's own records, which are initial-exec thread-local.
Call thread_local_acquire, thread_local_release;
// The record of a read hold: written, and checked and cleared.
Call record_acquire, record_release;
// An atomic update (read-modify-write) of the state in one of the functions.
Call one_update_acquire, one_update_release;
// One in each of them.
Call two_updates_acquire, two_updates_release;
// Two in each of them, of different words.
Call four_updates_acquire, four_updates_release;
// All that a reader of ours must do: the record, and an update in each function.
Call reader_acquire, reader_release;
// The same through the table.
Call table_reader_acquire, table_reader_release;

}  // namespace floor_steps
#pragma GCC visibility pop
