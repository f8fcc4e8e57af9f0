// The audit's knowledge of this process, in memory that is empty in each child.
#pragma once

#include <cstddef>
#include <cstdint>
#include <pthread.h>

#include "audit/book.h"
#include "audit/conds.h"
#include "audit/guard.h"
#include "audit/joining.h"
#include "audit/orders.h"
#include "audit/shared.h"
#include "audit/stacks.h"
#include "audit/threads.h"
#include "platform/atomic.h"
#include "recording/process.h"

namespace lockswap::audit {

struct World : recording::ProcessState {
  Guard report;  // for the examples
  Threads threads;
  Joins joins;
  Shard shards[kShards];
  Orders orders;
  Conds conds;
  Stacks stacks;
  SharedSeen shared;
};

World& world() noexcept;

// Called at start-up. If there is no memory, the world is in the library's data, where only fork's
// handlers can clear it.
void prepare_world() noexcept;

// Returns whether any thread has become known in this process. acquire: pairs with
// ProcessState::begin.
inline bool has_begun() noexcept { return world().state.load(acquire) != 0; }

// Returns the calling thread's data. The thread becomes known on its first call in this process,
// which is at `site`. Must not be called while it is busy.
Me& known_me(std::uint64_t site = 0) noexcept;

// Returns whether no other thread can have locked anything, because the process has only one
// thread, or because none but the main thread, which calls this, has locked anything yet.
bool is_alone(const Me& m) noexcept;

// Locks in a child may have been used in the parent, so their bytes may show holds that are not in
// the book.
inline bool is_forked() noexcept { return world().number > 1; }

// Called by a thread whose policy is known to be a real-time one. `site` is where it got that
// policy, or took its first lock.
void note_real_time(pthread_t thread, std::uint64_t site) noexcept;

// Called in a forked child on kernels that do not clear the mapping.
void empty_world_of_parent() noexcept;

}  // namespace lockswap::audit
