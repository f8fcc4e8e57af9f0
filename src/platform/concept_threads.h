// What a lock may know about threads, processes and the machine. A part of Platform (concept.h).
#pragma once

#include <concepts>
#include <cstdint>
#include <pthread.h>

namespace lockswap {

template <class P>
concept PlatformThreads = requires(std::uint32_t tid, void (*hook)()) {
  // Returns a number that no two live threads share, as input for hashing.
  { P::self() } -> std::same_as<std::uint64_t>;
  // Returns the kernel's id of the calling thread.
  { P::tid() } -> std::same_as<std::uint32_t>;
  // The same without a call. Returns 0 if the thread has never asked for its id. Between a fork and
  // the thread's next call of tid it may return the thread's id from before the fork.
  { P::tid_if_known() } -> std::same_as<std::uint32_t>;
  // The same, but returns 0 if the thread has not asked for its id in this process.
  { P::tid_if_noted() } -> std::same_as<std::uint32_t>;
  // Returns the priority of the thread with that id under a real-time policy, 1 to 100, or 0 if its
  // policy is another one or the system does not say. A system call.
  { P::priority_of(tid) } -> std::same_as<std::uint32_t>;
  // Notes the real-time priority of a writer that waits for a lock; the last argument says to keep
  // a higher one that is already noted. Readers with such a priority query it, where 0 means that
  // none is known. Neither imposes an order.
  P::note_waiting_priority(&tid, tid, true);
  { P::waiting_priority(&tid) } -> std::same_as<std::uint32_t>;
  // Returns whether the process has one thread, the caller, and will have only that until it makes
  // another one. Returns false if the system does not say. Cheap; must be called for each RMW.
  { P::is_alone() } -> std::same_as<bool>;
  // Runs the hook when the calling thread exits. Returns false if it will not run, so that the
  // thread must not cache anything.
  { P::on_thread_exit(hook) } -> std::same_as<bool>;
  // While one exists, the calling thread runs no signal handler.
  requires std::default_initializable<typename P::NoSignals>;
};

template <class P>
concept PlatformProcesses = requires(std::uint64_t word, std::uint32_t tid, const void* address,
                                     bool written, const pthread_rwlock_t* lock,
                                     pthread_rwlock_t* mutable_lock) {
  // Returns this process's stamp, a fork generation that no ancestor has. It has no bits but those
  // of kStampMask, and always has kStampTop; without kStampTop it is not 0 either.
  { P::process() } -> std::same_as<std::uint64_t>;
  requires std::same_as<decltype(P::kStampMask), const std::uint64_t>;
  requires std::same_as<decltype(P::kStampTop), const std::uint64_t>;
  requires(P::kStampTop & ~P::kStampMask) == 0;
  // Returns another number that no ancestor has, at the cost of a load, or 0 if nobody in this
  // process has asked for the stamp.
  { P::process_mark() } -> std::same_as<std::uint64_t>;
  // Returns whether the word's lower 40 bits are this process's stamp and nothing else, and false
  // if nobody has asked for the stamp. Cheap.
  { P::is_process(word) } -> std::same_as<bool>;
  // Returns the seal, a per-process random tag: the stamp, with random bits in 40 to 63, which no
  // other process has. Objects may lie in memory that another process has written. It is not 0.
  { P::seal() } -> std::same_as<std::uint64_t>;
  // Returns whether the word is that seal and nothing else. Cheap. If nobody has asked for the
  // stamp, only 0 is.
  { P::is_seal(word) } -> std::same_as<bool>;
  // Returns whether one of the last 254 ancestors may have had that stamp, or had that seal.
  // Ignores kStampTop.
  { P::is_ancestor(word) } -> std::same_as<bool>;
  { P::is_ancestor_seal(word) } -> std::same_as<bool>;
  // Translates a `tid` that was recorded in that process, which is this one or an ancestor. If it
  // was the forking thread, returns that thread's id here; otherwise returns `tid` itself.
  { P::survivor(tid, word) } -> std::same_as<std::uint32_t>;
  // Returns whether a lock that is initialised now is to be the system's. Once true, it stays true;
  // threads may see it late.
  { P::begins_systems() } -> std::same_as<bool>;
  // Returns whether the address is in shared memory. Expensive.
  { P::is_shared(address) } -> std::same_as<bool>;
  // Returns whether a thread reads the system's own lock, or waits to read. Only a hint.
  { P::system_is_read(lock) } -> std::same_as<bool>;
  // For a forked child. These return whether a writer holds the system's own lock, and reset that
  // lock, so that nobody waits for it and the writer holds it if `written` (system_rwlock.h).
  { P::system_is_written(lock) } -> std::same_as<bool>;
  P::system_renew(mutable_lock, written);
};

template <class P>
concept PlatformTopology = requires {
  // Called at start-up by a lock that uses one of the next four.
  P::prepare_topology();
  // These return how many processors, or memory nodes, there can be, which does not change.
  { P::cpus() } -> std::same_as<std::uint32_t>;
  { P::node_count() } -> std::same_as<std::uint32_t>;
  // These return where the calling thread runs, as a number below those. It may be elsewhere right
  // afterwards.
  { P::cpu() } -> std::same_as<std::uint32_t>;
  { P::node() } -> std::same_as<std::uint32_t>;
};

// Sizes that the model checker chooses small, so that limits are reached in a few steps.
template <class P>
concept PlatformSizes = requires {
  // How often in a row a lock prefers readers or writers before the other side has its turn.
  requires P::kMostInARow >= 1;
  // How many waiters of a condition variable a broadcast wakes at once; the others form a relay.
  requires P::kMostAwake >= 1;
  // How many threads can have a row, and how many sections a row has, which is the number of
  // simultaneous reads (readers/rows.h).
  requires P::kRows >= 1;
  requires P::kRowSections >= 1;
  // For range locks: the nodes of a thread's pool (reclaim/pools.h), the failed attempts after
  // which an acquisition is impatient (range/queue.h), and the lists of a lock that has several.
  requires P::kRangeNodes >= 1;
  requires P::kRangePatience >= 0;
  requires P::kRangeLists >= 1;
  // For RLU's library: the bytes of a chunk of a write-log, a power of two (rlu/write_log.h), and
  // how many callbacks a thread registers before it processes them (rlu/callbacks.h).
  requires(P::kLogChunk & (P::kLogChunk - 1)) == 0;
  requires P::kManyCallbacks >= 1;
  // BRAVO reads the clock once in this many slow reads, a power of two.
  { P::reads_per_clock() } -> std::same_as<std::uint32_t>;
};

}  // namespace lockswap
