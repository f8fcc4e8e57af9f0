// What a lock algorithm, a "core", must have. A core knows neither POSIX's rules about owners,
// recursion and errors (src/posix does) nor names and statistics (src/registry does).
//
// Every core:
//   - is a class template over a Platform and a WaitPolicy, and all its members are noexcept;
//   - lies inside the program's object: all zero bytes are a free lock, so static initialisers and
//     zeroed memory need no call. It has 24 bytes there, a mutex has 8 (asserted in the registry:
//     the explorer's atoms are larger). A lock that needs more keeps a pointer there to a block
//     beside the object (common/side_block.h);
//   - waits by W::until (wait/concept.h), never in an open loop;
//   - does not touch the object after the update that releases it, since the object may be gone; a
//     wake by its address is allowed;
//   - defines what it can do and nothing else: a capability that not every core has is a concept of
//     its own, which its users ask for by `if constexpr`.
//
// Orders: what a thread did before it released is seen by every thread that acquires after it,
// whether it does so by a wait, a try or a timed form. A racy snapshot orders nothing unless its
// comment says so.
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
  // What the lock promises about the order of its threads. Exploration checks that.
  requires std::same_as<decltype(Core::kClaims), const Claims>;
  // Called at start-up, by one thread, any number of times: makes queue nodes and blocks possible.
  // Returns false if there is no address space for them.
  { Core::prepare() } -> std::same_as<bool>;
  // Called in a forked child before its first acquisition. Returns whether the lock has no trace of
  // threads that do not exist here. `held` says that a hold (of an rwlock, a writer's) is to stay.
  // Changes nothing. If another thread uses the lock already, the answer is ignored.
  { glimpse.needs_no_repair(held) } -> std::same_as<bool>;
  // Called at the same moment, by one thread. Drops all threads that waited, and the holder unless
  // it is to stay. Read holds stay. Holds may end meanwhile, and the process may fork again at each
  // step. So a word that a release changes is repaired by an update, because a store of what was
  // loaded before the release would bring the hold back.
  core.repair_after_fork(held);
};

// Optional, for tests and for a lock that is made of this one. Called when nobody else uses the
// lock; returns whether nobody holds it or waits for it.
template <class Core>
concept IdleCore = requires(const Core& core) {
  { core.idle() } -> std::same_as<bool>;
};

// Optional: called at the end of the object. Threads may still release what they hold of an rwlock,
// until its memory is used for something else; a mutex is idle.
template <class Core>
concept EndingCore = requires(Core& core) {
  core.destroy();
};

// Optional: a core with a block beside the object.
template <class Core>
concept BlockCore = EndingCore<Core> && requires(Core& core) {
  // Returns the size of the block on this machine, in bytes.
  { Core::block_bytes() } -> std::same_as<std::size_t>;
  // Gets the block now instead of at the lock's first use.
  core.use();
  // Called when the object is about to be initialised. Its bytes may be anything, even those of a
  // lock that was not destroyed.
  core.before_init();
  // Called when its bytes may have been written by another process. Drops a pointer to a block that
  // is not this process's.
  core.forget_strange();
};

// Optional: the state is that of the system's own lock, so it goes on with what that one left.
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

// A hold is in one of several places, and its token says in which. Tokens are below kMustWait
// (common/read_tokens.h); 0 stands for a hold that is somewhere, so that only read_unlock_any can
// end it.
template <class Core>
concept TokenHolds = requires(Core& core, std::uint32_t token, std::uint32_t& out) {
  requires Core::kHasTokens;
  // Never waits. If it returns true, `out` is the hold's token.
  { core.try_read_lock(out) } -> std::same_as<bool>;
  // May be called by any thread. Returns false if the hold is not there, because another thread
  // that released a hold without a token has taken this one for it. What that thread left behind is
  // seen.
  { core.read_unlock(token) } -> std::same_as<bool>;
  // Called by a thread that knows no token. Ends any hold. Returns false if there is none.
  { core.read_unlock_any() } -> std::same_as<bool>;
};

// Either of them. (Not a disjunction: the compiler would not say which member is missing.)
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

// read_arrive returns a number, the attempt. If it is 0 (with tokens: below kMustWait, a token),
// the read lock is held. Otherwise it says what to wait for, and is never ~0.
template <class Core>
concept RwCore = LockCore<Core> &&
    requires(Core& core, const Core& glimpse, std::uint32_t attempt, const Deadline* deadline) {
  // Arrives. Fairness counts from here, unless read_wait arrives anew. Never waits.
  { core.read_arrive() } -> std::same_as<std::uint32_t>;
  // Goes on with an attempt that did not get the lock. A null deadline means none, but by default
  // untimed readers have one, too: their patience (posix/guests.h). Returns true if the read lock
  // is held; with tokens, `attempt` is then its token. Returns false if the deadline has passed.
  // The attempt, which may be another number now, then still stands in its place, and the caller
  // waits again or withdraws it.
  { core.read_wait(attempt, deadline) } -> std::same_as<bool>;
  // Takes such an attempt back, whether or not its thread has waited, and whoever has arrived
  // since. Returns false if it is too late: the read lock is held and, with tokens, `attempt` is
  // now its token.
  { core.read_withdraw(attempt) } -> std::same_as<bool>;

  core.write_lock();
  // The deadline is never nullptr. Returns false if it has passed and nothing is held.
  { core.write_lock_until(deadline) } -> std::same_as<bool>;
  // Never waits, except perhaps for a thread that is about to leave.
  { core.try_write_lock() } -> std::same_as<bool>;
  // May be called by any thread.
  core.write_unlock();

  // Racy snapshots for any thread, which may be stale at once. has_readers() may be true when
  // nobody reads, but is never false while a hold stays. has_writer() is true while a writer holds
  // the lock, and may be true while one has its turn and waits for readers.
  { glimpse.has_readers() } -> std::same_as<bool>;
  { glimpse.has_writer() } -> std::same_as<bool>;
  // Returns whether a counter is about to overflow, so that readers must be refused (POSIX's
  // EAGAIN).
  { glimpse.too_many_readers() } -> std::same_as<bool>;
} && ReadHolds<Core>;

template <class Core>
concept TokenCore = RwCore<Core> && TokenHolds<Core>;

// Optional: acquiring and releasing have a fast stage, which makes no call and needs no stack
// frame, and a slow stage, which continues it.
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

// Optional: a writer that finds the lock free acquires and releases it by one update each.
template <class Core>
concept FastWriteCore = RwCore<Core> && requires(Core& core) {
  // Returns true if the write lock is held, as after write_lock. Otherwise nothing was done.
  { core.fast_write_lock() } -> std::same_as<bool>;
  // Returns true if the lock is released. Otherwise go on with write_unlock.
  { core.fast_write_unlock() } -> std::same_as<bool>;
};

// The two stages above are found by the names of their members. So a lock that has one of these
// names, but not all that belongs to it, would lose the stage without an error.
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

// Optional, for a core without tokens whose read_arrive is one update, so that a lock above it can
// have that inline.
template <class Core>
concept OneUpdateReadCore = RwCore<Core> && AlikeHolds<Core> && requires {
  requires Core::kReadArrivesByOneUpdate;
};

// Optional, for other cores without tokens: a reader that finds the lock free has it inline, too.
// It is declared, and not found by the member's name, so that a new name is an error.
template <class Core>
concept ReadIfFreeCore = RwCore<Core> && AlikeHolds<Core> && requires {
  // bool read_if_free(): returns true if the read lock is held, as after a read_arrive that need
  // not wait. Otherwise nothing was done, and no other thread can see that this was called.
  requires Core::kReadsIfFree;
};

// How far a lock over such cores has come by a fast stage of theirs: nothing was done; a reader has
// arrived there, with the core's attempt, or a writer has the core; or the lock is held.
enum class Below : std::uint8_t { nothing, arrived, in };

// Optional: an attempt that the core never makes, for a lock that is made of it.
template <class Core>
concept NamesNoAttempt = RwCore<Core> && requires {
  requires std::same_as<decltype(Core::kNoAttempt), const std::uint32_t>;
};

// What a writer calls when it has to wait for readers.
template <class L>
concept DrainListener = requires(const L& listener) {
  // The writer has its turn among writers, readers that come from now on wait behind it, and it is
  // about to wait for readers that are in. This may happen several times in an acquisition. What
  // earlier writers did is seen.
  listener.begin();
  // The writer is about to give its turn back, since its deadline has passed. It still has the
  // turn; begin may have been called or not.
  listener.gave_up();
};
struct NobodyListens {
  void begin() const noexcept {}
  void gave_up() const noexcept {}
};

// Optional: a writer that has to wait for readers says so. BRAVO hands the bias back then; the
// contract lets readers in that have waited for too long (src/posix/guests.h).
template <class Core>
concept TellsOfDrains = RwCore<Core> &&
    requires(Core& core, const Deadline* deadline, const NobodyListens& listener) {
  core.write_lock(listener);
  { core.write_lock_until(deadline, listener) } -> std::same_as<bool>;
};

// Optional, for a core whose read_arrive leaves everything to read_wait and whose has_readers says
// yes to be on the safe side. This is a better guess.
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

// Optional: lock and unlock have a fast stage, which makes no call and needs no stack frame, and a
// slow stage, which continues it. If the fast stage returns 0, nothing is left to do.
template <class Core>
concept FastMutexCore = MutexCore<Core> &&
    requires(Core& core, std::uint64_t arrival, std::uint32_t rest) {
  // Returns 0 if the lock is held, or kNotBegun if nothing was done: go on with lock. Otherwise
  // go on with slow_lock.
  { core.fast_lock() } -> std::same_as<std::uint64_t>;
  requires std::same_as<decltype(Core::kNotBegun), const std::uint64_t>;
  core.slow_lock(arrival);
  // May be called by any thread, as unlock. If it doesn't return 0, go on with slow_unlock, though
  // the lock may be gone.
  { core.fast_unlock() } -> std::same_as<std::uint32_t>;
  core.slow_unlock(rest);
};

}  // namespace lockswap
