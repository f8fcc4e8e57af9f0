// What a lock may ask of the machine. Locks are templates over a Platform P, so one source runs in
// production (Native) and under exploration of interleavings and reorderings.
//
//   P::atomic<T>                 load, store, exchange, compare_exchange, fetch_{add,sub,or,and}
//   P::plain<T>                  get, set: a T whose accesses something else orders
//   P::local<T>()                the calling thread's T, zero at first
//   P::global<T>()               the process's T, zero at first
//   P::self()                    a number that tells live threads apart; input for hashing
//   P::tid()                     the kernel's thread id
//   P::tid_at(stamp)             the same without a call, or 0 if it takes one; stamp: P::process()
//   P::tid_if_known()            the same, or 0 if the thread never asked
//   P::process()                 this process's stamp, which none of its ancestors has: not 0, no
//                                bits but kStampMask, always kStampTop
//   P::process_mark()            another such number, cheap; 0 if nobody has asked for the stamp
//   yet P::is_process(word)          whether the word's lower 40 bits are that and nothing else;
//   cheap;
//                                false also if nobody has asked yet
//   P::survivor(tid, stamp)      who a thread of that process, an ancestor, is here: the id of the
//                                thread that forked, or tid itself
//   P::is_shared(address)        whether other processes see what is stored there; dear
//   P::system_is_written(lock), P::system_renew(lock, written)
//                                of the system's own lock, in a forked child; see system_rwlock.h
//   P::NoSignals                 while one exists, the calling thread runs no signal handler
//   P::on_thread_exit(hook)      runs hook when the calling thread exits; false: it will not
//   P::now()                     nanoseconds that never run backwards
//   P::passed(deadline)          whether the deadline is over
//   P::kReadsPerClock            how many slow reads go by between two looks at the clock
//   P::await(pause, atom, order, pred[, deadline])
//                                spins until pred(atom) holds; false: the deadline passed first
//   P::step_aside(round)         gives the processor away once, later rounds for longer: for loops
//                                that wait for more than one atom
//   P::spin_budget(), P::relax() how long and how to spin before parking
//   P::park(atom, low, channels, deadline), P::unpark(&atom, channels)
//                                a futex on an atom's low 32 bits; wake-ups may be stray
//   P::nodes<T>                  prepare, take, give, at: type-stable nodes with 32-bit handles;
//                                take_kept, keep, give_shared: for hot paths (platform/arena.h)
//   P::blocks<Head, Part>        prepare, parts, take, give, part, is_block: type-stable
//                                memory for what does not fit into an object (platform/blocks.h)
//   P::word_is(address, value)   whether the 8 bytes there, which may be anybody's or nobody's
//                                memory, are that; relaxed; two system calls
//   P::prepare_topology()        at start-up, by who asks for the next four
//   P::cpus(), P::node_count()   how many there can be
//   P::cpu(), P::node()          where the calling thread runs, below those; may be over at once
//   P::kMostInARow               how often a lock prefers one side before the other has its turn
//   P::kRangeNodes               of range locks: nodes of a thread's pool (reclaim/pools.h),
//   P::kRangePatience            attempts before an acquisition is impatient (range/queue.h),
//   P::kRangeLists               lists of one that has several
//   P::prepare_heavy_fence()     at start-up; false: there is none
//   P::heavy_fence(), P::light_fence()
//                                a pair of seq_cst fences of which one costs next to nothing
//   P::barrier_in_all()          the same where the other side has no fence at all; dearer where
//   the
//                                kernel refuses the heavy one
//   P::kRows, P::kRowSections    how many threads can have a row (readers/rows.h), and for how many
//   reads P::map(bytes), P::unmap(p, bytes)
//                                zeroed pages, or nullptr
//   P::forbid(object)            from here on only wakes of its address may follow, until
//   P::permit(object)            makes it the caller's
//   P::scan(table, n, key, on_hit)
//                                a seq_cst fence, then 8-byte loads in any order (platform/scan.h)
#pragma once

#include <concepts>
#include <cstdint>

#include "platform/clock.h"

namespace lockswap {

enum class Pause {
  spin,   // the processor's pause instruction
  yield,  // give the processor to another thread
  // For what another thread is about to do, whatever else happens: a moment's spin, then yield,
  // then sleep for longer and longer (P::step_aside), so that a thread of lower priority gets to
  // it.
  nap,
};

template <class P>
concept Platform = requires(typename P::template atomic<std::uint64_t> a, const Deadline* d) {
  { P::self() } -> std::same_as<std::uint64_t>;
  { P::tid() } -> std::same_as<std::uint32_t>;
  { P::now() } -> std::same_as<std::uint64_t>;
  { P::cpu() } -> std::same_as<std::uint32_t>;
  { P::node() } -> std::same_as<std::uint32_t>;
  { P::spin_budget() } -> std::same_as<std::uint32_t>;
  P::relax();
  P::park(a, 0u, 1u, d);
  P::unpark(&a, 1u);
};

}  // namespace lockswap
