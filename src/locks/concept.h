// What a lock algorithm, a "core", must provide. A core knows neither POSIX's rules about owners,
// recursion and errors, which src/posix adds, nor names and statistics, which src/registry adds.
//
// Every core:
//   - is a class template over a Platform and a WaitPolicy, and all its members are noexcept;
//   - lies inside the program's object, where it has 24 bytes, and a mutex 8 (the registry asserts
//     that, since the model checker's atoms are larger). All zero bytes are a free lock, so static
//     initialisers and zeroed memory need no call. A lock that needs more has a pointer there to a
//     block next to the object (common/side_block.h);
//   - waits by W::until (wait/concept.h), never in an open loop;
//   - does not touch the object after the RMW that releases it, since the object may be destroyed;
//     a wake by its address is allowed;
//   - has only members for what it can do: a capability that not every core has is a concept of its
//     own, which users test by `if constexpr`.
//
// Orders: a release synchronises with every later acquisition, whether that waits, tries or is
// timed. A racy snapshot orders nothing unless its comment says so.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "locks/common/claims.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

// --- every core

template <class Core>
concept LockCore = requires(Core& core, const Core& glimpse, bool held) {
  // What the lock promises about the order of its threads. The model checker checks that.
  requires std::same_as<decltype(Core::kClaims), const Claims>;
  // Called at start-up by one thread, any number of times. Prepares queue nodes and blocks, and
  // returns false if there is no address space for them.
  { Core::prepare() } -> std::same_as<bool>;
  // Called in a forked child before its first acquisition. Returns whether nothing in the lock is
  // left of threads that do not exist here. `held` says that a hold (for an rwlock, a writer's)
  // must stay. Changes nothing. If another thread of the child uses the lock already, the answer is
  // ignored.
  { glimpse.needs_no_repair(held) } -> std::same_as<bool>;
  // Called by one thread if needs_no_repair returned false. Drops all threads that waited, and the
  // holder unless `held` is set; read holds stay. Holds may end meanwhile, and the process may fork
  // again at each step. So a word that a release changes must be repaired by an RMW, since a store
  // of an older value would bring an ended hold back.
  core.repair_after_fork(held);
};

// Optional, for tests and for locks that are built on this one. Called when nobody else uses the
// lock. Returns whether no thread holds it or waits for it.
template <class Core>
concept IdleCore = requires(const Core& core) {
  { core.idle() } -> std::same_as<bool>;
};

// Optional: called when the object is destroyed. Threads may still release their holds of an
// rwlock, until its memory is used for something else. A mutex is idle then.
template <class Core>
concept EndingCore = requires(Core& core) {
  core.destroy();
};

// Optional: a core with a block next to the object.
template <class Core>
concept BlockCore = EndingCore<Core> && requires(Core& core) {
  // Returns the size of the block on this machine, in bytes.
  { Core::block_bytes() } -> std::same_as<std::size_t>;
  // Gets the block now instead of at the lock's first use.
  core.use();
  // Called when the object is about to be initialised. Its bytes may be anything, even those of a
  // lock that was not destroyed.
  core.before_init();
  // Called when another process may have written the object's bytes. Drops a pointer to a block
  // that is not this process's.
  core.forget_strange();
};

// Optional: the core's state is the system's own lock, and it goes on with whatever state that lock
// is in.
template <class Core>
concept SystemsCore = requires {
  requires Core::kIsSystems;
};

// --- reader-writer locks

// The core's read holds are all alike, so that any release ends any of them.
template <class Core>
concept AlikeHolds = requires(Core& core) {
  // Never waits.
  { core.try_read_lock() } -> std::same_as<bool>;
  // May be called by any thread.
  core.read_unlock();
};

// A hold is counted in one of several places, which its token names. Tokens are below kMustWait
// (common/read_tokens.h). The token 0 means that the place isn't known, so only read_unlock_any can
// end that hold.
template <class Core>
concept TokenHolds = requires(Core& core, std::uint32_t token, std::uint32_t& out) {
  requires Core::kHasTokens;
  // Never waits. If it returns true, `out` is the hold's token.
  { core.try_read_lock(out) } -> std::same_as<bool>;
  // May be called by any thread. Returns false if the hold is no longer there, because a thread
  // that released a hold without a token has taken this one in its place. What that thread left
  // behind is visible to the caller.
  { core.read_unlock(token) } -> std::same_as<bool>;
  // Ends any one hold, for a thread that knows no token. Returns false if there is none.
  { core.read_unlock_any() } -> std::same_as<bool>;
};

// One of the two. (A disjunction would hide from the compiler's message which member is missing.)
namespace probe {
struct Alike {
  bool try_read_lock();
  void read_unlock();
};
struct Token {
  static constexpr bool kHasTokens = true;
  bool try_read_lock(std::uint32_t&);
  bool read_unlock(std::uint32_t);
  bool read_unlock_any();
};
template <class Core>
inline constexpr bool has_tokens = requires {
  Core::kHasTokens;
};
}  // namespace probe
template <class Core>
concept ReadHolds = AlikeHolds<std::conditional_t<probe::has_tokens<Core>, probe::Alike, Core>> &&
    TokenHolds<std::conditional_t<probe::has_tokens<Core>, Core, probe::Token>>;

// read_arrive returns a number, the attempt (acquisition state). If it is 0, or with tokens below
// kMustWait (a token), the read lock is held. Otherwise it says what to wait for, and is never ~0.
template <class Core>
concept RwCore = LockCore<Core> &&
    requires(Core& core, const Core& glimpse, std::uint32_t attempt, const Deadline* deadline) {
  // Arrives. Fairness counts from here, unless read_wait arrives anew. Never waits.
  { core.read_arrive() } -> std::same_as<std::uint32_t>;
  // Continues an attempt that did not get the lock. A null deadline means none, but by default
  // untimed readers have one too, which is their patience (posix/guests.h). Returns true if the
  // read lock is held; with tokens, `attempt` is then its token. Returns false if the deadline has
  // passed. Then the reader still has its place, `attempt` (which may have changed) still stands
  // for it, and the caller must wait again or withdraw it.
  { core.read_wait(attempt, deadline) } -> std::same_as<bool>;
  // Takes such an attempt back, even if its thread has not waited yet, or others have arrived
  // since. Returns false if it is too late: the read lock is held and, with tokens, `attempt` is
  // its token.
  { core.read_withdraw(attempt) } -> std::same_as<bool>;

  core.write_lock();
  // The deadline is never nullptr. Returns false if it has passed and nothing is held.
  { core.write_lock_until(deadline) } -> std::same_as<bool>;
  // Never waits, except perhaps for a thread that is in the middle of a release.
  { core.try_write_lock() } -> std::same_as<bool>;
  // May be called by any thread.
  core.write_unlock();

  // Racy snapshots, for any thread; they may be stale at once. has_readers() may be true when
  // nobody reads, but is never false while a read hold lasts. has_writer() is true while a writer
  // holds the lock, and may be true while one has its turn and waits for readers. It loads with
  // acquire, because a thread that destroys the lock may wait by it until the writer has left.
  { glimpse.has_readers() } -> std::same_as<bool>;
  { glimpse.has_writer() } -> std::same_as<bool>;
  // Returns whether a counter is about to overflow, so that readers must be refused (POSIX's
  // EAGAIN).
  { glimpse.too_many_readers() } -> std::same_as<bool>;
} && ReadHolds<Core>;

template <class Core>
concept TokenCore = RwCore<Core> && TokenHolds<Core>;

// Optional: acquiring and releasing each have a fast path, which makes no call and needs no stack
// frame, and a slow path, which continues where it stopped.
template <class Core>
concept FastReadCore = TokenCore<Core> &&
    requires(Core& core, std::uint32_t attempt, std::uint32_t token) {
  // Returns a token, or else an attempt for slow_read_arrive, which no other function takes.
  { core.fast_read_arrive() } -> std::same_as<std::uint32_t>;
  // Returns an attempt, as read_arrive does.
  { core.slow_read_arrive(attempt) } -> std::same_as<std::uint32_t>;
  // Returns true if the hold is released. Otherwise go on with read_unlock.
  { core.fast_read_unlock(token) } -> std::same_as<bool>;
};

// Optional: a writer that finds the lock free acquires it by one RMW, and releases it by another.
template <class Core>
concept FastWriteCore = RwCore<Core> && requires(Core& core) {
  // Returns true if the write lock is held, as after write_lock. Otherwise nothing was done.
  { core.fast_write_lock() } -> std::same_as<bool>;
  // Returns true if the lock is released. Otherwise go on with write_unlock.
  { core.fast_write_unlock() } -> std::same_as<bool>;
};

// The fast paths above are found by their members' names. A lock that has some of these members but
// not all of them would silently lose the fast path, so this is checked.
template <class Core>
concept HasFastReadArrive = requires(Core& core) {
  core.fast_read_arrive();
};
template <class Core>
concept HasFastReadUnlock = requires(Core& core) {
  core.fast_read_unlock(0u);
};
template <class Core>
concept HasFastWriteLock = requires(Core& core) {
  core.fast_write_lock();
};
template <class Core>
concept HasFastWriteUnlock = requires(Core& core) {
  core.fast_write_unlock();
};
template <class Core>
concept StagesAreWhole = requires {
  requires(HasFastReadArrive<Core> == FastReadCore<Core>);
  requires(HasFastReadUnlock<Core> == FastReadCore<Core>);
  requires(HasFastWriteLock<Core> == FastWriteCore<Core>);
  requires(HasFastWriteUnlock<Core> == FastWriteCore<Core>);
};

// Optional, for a core without tokens whose read_arrive is a single RMW, which a lock above it may
// then inline.
template <class Core>
concept OneUpdateReadCore = RwCore<Core> && AlikeHolds<Core> && requires {
  requires Core::kReadArrivesByOneUpdate;
};

// Optional, for other cores without tokens: a reader that finds the lock free can be inlined too.
// The constant declares it, so that a misspelt member is an error instead of a lost fast path.
template <class Core>
concept ReadIfFreeCore = RwCore<Core> && AlikeHolds<Core> && requires {
  // bool read_if_free(): returns true if the read lock is held, as after a read_arrive that need
  // not wait. Otherwise nothing was done, and no other thread can see that this was called.
  requires Core::kReadsIfFree;
};

// The result of such a fast path of the core: nothing was done; a reader has arrived, with the
// core's attempt, or a writer has the core; or the lock is held.
enum class Below : std::uint8_t { nothing, arrived, in };

// Optional: a number that the core never uses as an attempt, so that a lock which is built on it
// may.
template <class Core>
concept NamesNoAttempt = RwCore<Core> && requires {
  requires std::same_as<decltype(Core::kNoAttempt), const std::uint32_t>;
};

// What a writer calls when it has to wait for readers.
template <class L>
concept DrainListener = requires(const L& listener) {
  // The writer has its turn among writers, new readers wait behind it, and it is about to wait for
  // the readers that hold the lock. This may happen several times in an acquisition. What earlier
  // writers did is visible.
  listener.begin();
  // The writer is about to give its turn back, because its deadline has passed. It still has the
  // turn. begin need not have been called.
  listener.gave_up();
};
struct NobodyListens {
  void begin() const noexcept {}
  void gave_up() const noexcept {}
};

// Optional: a writer that has to wait for readers reports that. BRAVO then suspends the bias, and
// the contract lets in readers that have waited for too long (src/posix/guests.h).
template <class Core>
concept TellsOfDrains = RwCore<Core> &&
    requires(Core& core, const Deadline* deadline, const NobodyListens& listener) {
  core.write_lock(listener);
  { core.write_lock_until(deadline, listener) } -> std::same_as<bool>;
};

// Optional, for a core that does everything in read_wait, and whose has_readers always returns true
// to be on the safe side. seems_read is a better guess.
template <class Core>
concept GuessesReaders = RwCore<Core> && requires(const Core& glimpse) {
  { glimpse.seems_read() } -> std::same_as<bool>;
};

// --- mutexes

template <class Core>
concept MutexCore = LockCore<Core> && IdleCore<Core> &&
    requires(Core& core, const Deadline* deadline) {
  core.lock();
  // The deadline is never nullptr. Returns false if it has passed and nothing is held.
  { core.lock_until(deadline) } -> std::same_as<bool>;
  // Never waits.
  { core.try_lock() } -> std::same_as<bool>;
  // May be called by any thread. Does nothing if nobody holds the lock, as in glibc.
  core.unlock();
};

// Optional: lock and unlock each have a fast path, which makes no call and needs no stack frame,
// and a slow path, which continues where it stopped. A fast path that returns 0 has done
// everything.
template <class Core>
concept FastMutexCore = MutexCore<Core> &&
    requires(Core& core, std::uint64_t arrival, std::uint32_t rest) {
  // Returns 0 if the lock is held, and kNotBegun if nothing was done, in which case lock must be
  // called. Otherwise slow_lock continues.
  { core.fast_lock() } -> std::same_as<std::uint64_t>;
  requires std::same_as<decltype(Core::kNotBegun), const std::uint64_t>;
  core.slow_lock(arrival);
  // May be called by any thread, as unlock. If it doesn't return 0, slow_unlock continues, though
  // the lock's memory may be gone.
  { core.fast_unlock() } -> std::same_as<std::uint32_t>;
  core.slow_unlock(rest);
};

}  // namespace lockswap
