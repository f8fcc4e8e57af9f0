#include "stats/stats.h"

#include <cstddef>

#include "platform/atomic.h"
#include "platform/memory.h"
#include "platform/syscall.h"
#include "platform/thread.h"
#include "stats/counts.h"

namespace lockswap {
namespace {

constexpr std::size_t kLocksInBlock = 64;  // in a thread's block
constexpr int kLooks = 8;                  // attempts to read counts that are on the move

using Word = NativeAtomic<std::uint64_t>;

// The counts of one thread. All orders are relaxed except around a hand-off, because a report must
// not see one half done.
struct Block {
  NativeAtomic<std::uint32_t> used;
  Block* next;
  Word begun, ended;  // hand-offs
  Counts counts[kLocksInBlock];
};

Counts* all_locks = nullptr;  // kLocks of them
constinit NativeAtomic<Block*> blocks{};

struct MyBlock {
  Block* block;
};

std::size_t hash(std::uint64_t key) noexcept { return (key * 0x9E3779B97F4A7C15u) >> 40; }

Counts& counts_of(Counts* table, std::uint64_t key) noexcept {
  for (std::size_t n = 0, i = hash(key); n < 64; ++n, ++i) {
    Counts& c = table[i % (kLocks - 1)];
    std::uint64_t seen = c.key.load(relaxed);
    if (seen == key || (seen == 0 && c.key.compare_exchange(seen, key, relaxed)) || seen == key) {
      return c;
    }
  }
  return table[kLocks - 1];
}

// Only the block's own thread calls this, but its signal handlers may interrupt it, so its words
// change by single updates. From now on the place is for lock `next`. A thread that sees a word
// from after that also sees that the hand-off has begun (release here and in on(), acquire in
// add_to).
void hand_off(Block& block, Counts& from, std::uint64_t next) noexcept {
  const std::uint64_t key = from.key.load(relaxed);
  if (key == next) return;
  block.begun.fetch_add(1, relaxed);
  for (std::size_t e = 0; key != 0 && e < kEvents; ++e) {
    if (const std::uint64_t n = from.n[e].exchange(0, acq_rel); n != 0)
      counts_of(all_locks, key).n[e].fetch_add(n, release);
  }
  from.key.store(next, release);
  block.ended.fetch_add(1, release);
}

void on_thread_exit() noexcept {
  MyBlock& mine = per_thread<MyBlock>;
  if (mine.block == nullptr) return;
  for (Counts& c : mine.block->counts)
    hand_off(*mine.block, c, 0);
  mine.block->used.store(0, release);  // pairs with my_block: the next owner finds it empty
  mine.block = nullptr;
}

Block* new_block() noexcept {
  for (Block* b = blocks.load(acquire); b != nullptr; b = b->next) {
    std::uint32_t no = 0;
    if (b->used.load(relaxed) == 0 && b->used.compare_exchange(no, 1, acquire)) return b;
  }
  auto* b = static_cast<Block*>(map_pages(sizeof(Block)));
  if (b == nullptr) return nullptr;
  b->used.store(1, relaxed);
  Block* head = blocks.load(relaxed);
  do {
    b->next = head;
  } while (!blocks.compare_exchange(head, b, release));
  return b;
}

Block* my_block() noexcept {
  MyBlock& mine = per_thread<MyBlock>;
  if (mine.block == nullptr) [[unlikely]] {
    // If a thread will not run its exit hook, it would keep the block for ever.
    if (!ThreadExit::arm()) return nullptr;
    mine.block = new_block();
  }
  return mine.block;
}

void empty(Counts& c) noexcept {
  c.key.store(0, relaxed);
  for (Word& w : c.n)
    w.store(0, relaxed);
}

// --- a copy of all counts

std::uint64_t hand_overs(Word Block::*which, Order order) noexcept {
  std::uint64_t n = 0;
  for (Block* b = blocks.load(acquire); b != nullptr; b = b->next)
    n += (b->*which).load(order);
  return n;
}

void add_to(Counts* table, const Counts& from, std::uint64_t key) noexcept {
  for (std::size_t e = 0; e < kEvents; ++e) {
    const std::uint64_t n = from.n[e].load(acquire);  // before the hand-offs are counted again
    if (n != 0) (key == 0 ? table[kLocks - 1] : counts_of(table, key)).n[e].fetch_add(n, relaxed);
  }
}

// Returns true if there was no hand-off meanwhile, so that every count is in the copy.
bool copy_to(Counts* table) noexcept {
  const std::uint64_t ended = hand_overs(&Block::ended, acquire);
  for (std::size_t i = 0; i < kLocks; ++i) {
    const std::uint64_t key = all_locks[i].key.load(relaxed);
    if (key != 0 || i == kLocks - 1) add_to(table, all_locks[i], key);
  }
  for (Block* b = blocks.load(acquire); b != nullptr; b = b->next) {
    for (const Counts& c : b->counts) {
      if (const std::uint64_t key = c.key.load(acquire); key != 0) add_to(table, c, key);
    }
  }
  return hand_overs(&Block::begun, relaxed) == ended;
}

}  // namespace

void CountInTable::add(const void* lock, Event event, std::uint64_t n) noexcept {
  const auto key = reinterpret_cast<std::uintptr_t>(lock);
  Block* block = my_block();
  if (block == nullptr) {
    counts_of(all_locks, key).add(event, n);
    return;
  }
  Counts& c = block->counts[hash(key) % kLocksInBlock];
  if (c.key.load(relaxed) != key) [[unlikely]] {
    hand_off(*block, c, key);
  }
  // Only this thread adds here, so a load and a store are enough. Release: see hand_off.
  Word& w = c.n[static_cast<std::size_t>(event)];
  w.store(w.load(relaxed) + n, release);
}

bool prepare_stats() noexcept {
  all_locks = static_cast<Counts*>(map_pages(kLocks * sizeof(Counts)));
  CountInTable::is_on_ = all_locks != nullptr && ThreadExit::add(&on_thread_exit);
  return CountInTable::is_on_;
}

void reset_stats() noexcept {
  if (all_locks == nullptr) return;
  const bool emptied = raw_syscall(SYS_madvise, reinterpret_cast<long>(all_locks),
                                   kLocks * sizeof(Counts), MADV_DONTNEED) == 0;
  for (std::size_t i = 0; !emptied && i < kLocks; ++i)
    empty(all_locks[i]);
  // Blocks of threads that don't exist in the child become free. The thread that forked keeps its
  // own.
  for (Block* b = blocks.load(acquire); b != nullptr; b = b->next) {
    b->begun.store(0, relaxed);
    b->ended.store(0, relaxed);
    for (Counts& c : b->counts)
      empty(c);
    if (b != per_thread<MyBlock>.block) b->used.store(0, relaxed);
  }
}

Counts* take_counts() noexcept {
  if (all_locks == nullptr) return nullptr;
  for (int looks = 0;;) {
    auto* table = static_cast<Counts*>(map_pages(kLocks * sizeof(Counts)));
    // If threads hand off all the time, the last attempt must do. It may miss counts on their way
    // from a block to the table, but counts nothing twice, because it reads the table first.
    if (table == nullptr || copy_to(table) || ++looks == kLooks) return table;
    give_back(table);
  }
}

void give_back(Counts* table) noexcept { unmap_pages(table, kLocks * sizeof(Counts)); }

}  // namespace lockswap
