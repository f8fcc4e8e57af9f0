// What the audit knows of this process, in memory that is empty in each child.
#pragma once

#include <cstddef>
#include <cstdint>
#include <pthread.h>

#include "audit/book.h"
#include "audit/conds.h"
#include "audit/guard.h"
#include "audit/joining.h"
#include "audit/orders.h"
#include "audit/stacks.h"
#include "audit/threads.h"
#include "platform/atomic.h"
#include "recording/process.h"

namespace lockswap::audit {

struct World : recording::ProcessState {
  Guard report;  // of the examples
  Threads threads;
  Joins joins;
  Shard shards[kShards];
  Orders orders;
  Conds conds;
  Stacks stacks;
};

World& world() noexcept;

// Called at start-up. Without memory the world lies in the library's own, where only fork's
// handlers can empty it.
void prepare_world() noexcept;

// Some thread was made known in this process. acquire: pairs with ProcessState::begin.
inline bool has_begun() noexcept { return world().state.load(acquire) != 0; }

// The calling thread, made known at its first call in this process. Not while it is busy. site:
// where that call is.
Me& known_me(std::uint64_t site = 0) noexcept;

// Returns whether no other thread can have locked anything: the process has only one thread, or so
// far only its first thread has locked.
bool is_alone(const Me& m) noexcept;

// Locks in a child whose past is the parent's: their bytes may show holds that are not in the book.
inline bool is_forked() noexcept { return world().number > 1; }

// Called by a thread whose policy is known to be a real-time one. `site` is where the thread was
// given that policy, or took its first lock.
void note_real_time(pthread_t thread, std::uint64_t site) noexcept;

// Called in a forked child, on kernels that do not empty the mapping.
void empty_world_of_parent() noexcept;

}  // namespace lockswap::audit
