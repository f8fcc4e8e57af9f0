#include "profile/parent.h"

#include <algorithm>

#include "platform/syscall.h"
#include "profile/file.h"

namespace lockswap::profile {
namespace {

struct HeldAtFork {
  std::uint64_t address, caller, since;
  std::uint64_t self;  // its thread's
  std::uint32_t how, tid, process;
};

constexpr std::uint32_t kMostKept = 64;
constinit HeldAtFork kept[kMostKept] = {};
constinit std::uint32_t kept_count = 0;
constinit std::uint32_t process = 0;  // this process; during a fork, the one that forked

// Returns the first Live of the list that starts at `at`, or nullptr if it is empty.
Live* live_at(std::uint32_t at) noexcept { return at == 0 ? nullptr : at_offset<Live>(at); }
Live* first_live() noexcept { return live_at(record().live.load(acquire)); }  // pairs with new_live

// relaxed, all: the parent goes on meanwhile, so a hold that changes at this moment may be missed.
void keep(const Live& live) noexcept {
  const std::uint32_t tid = live.tid.load(relaxed), of = live.process.load(relaxed);
  const std::uint32_t held = tid == 0 ? 0 : std::min(live.held.load(acquire), kMostHolds);
  for (std::uint32_t i = 0; i < held && kept_count < kMostKept; ++i) {
    const Hold& h = live.hold[i];
    const HeldAtFork hold{h.address.load(relaxed),
                          h.caller.load(relaxed),
                          h.begin(),
                          live.self.load(relaxed),
                          h.how() & (Hold::kModes | Hold::kTimed),
                          tid,
                          of != 0 ? of : process};
    if (hold.address != 0 && live.held.load(relaxed) > i) kept[kept_count++] = hold;
  }
}

}  // namespace

void note_whose_file() noexcept { process = record().head.pid; }

void keep_holds_of_parent() noexcept {
  // If the parent had no file of its own, it has taken no lock, and what it inherited is the
  // child's.
  if (record().head.pid == process) {
    kept_count = 0;
    for (const Live* live = first_live(); live != nullptr; live = live_at(live->next))
      keep(*live);
  }
  process = static_cast<std::uint32_t>(raw_syscall(SYS_getpid));
}

void write_holds_of_parent() noexcept {
  for (std::uint32_t i = 0; i < kept_count;) {
    Live* const live = new_live_in_file();
    if (live == nullptr) return;
    const HeldAtFork& first = kept[i];
    std::uint32_t held = 0;
    // relaxed, all: the thread's id is stored after them.
    for (; i < kept_count && held < kMostHolds; ++i) {
      const HeldAtFork& from = kept[i];
      if (from.tid != first.tid || from.process != first.process) break;
      Hold& h = live->hold[held++];
      h.address.store(from.address, relaxed);
      h.caller.store(from.caller, relaxed);
      h.what.store(Hold::packed(0, from.how), relaxed);
      h.since.store(from.since, relaxed);
    }
    live->held.store(held, relaxed);
    live->self.store(first.self, relaxed);
    live->process.store(first.process, relaxed);
    live->tid.store(first.tid, release);  // pairs with the load in another process
  }
}

void forget_hold_of_parent(const void* lock) noexcept {
  if (kept_count == 0 || record().head.pid != process) return;
  const auto address = reinterpret_cast<std::uint64_t>(lock);
  for (Live* live = first_live(); live != nullptr; live = live_at(live->next)) {
    if (live->process.load(relaxed) == 0) continue;  // relaxed, all: a reader looks twice
    for (Hold& h : live->hold)
      if (h.address.load(relaxed) == address) h.address.store(0, relaxed);
  }
}

}  // namespace lockswap::profile
