// Which threads read, and since which time of a 64-bit clock: the reader indicator of the RLU
// library.
//
// Paper: Matveev and others, "Read-log-update" (SOSP 2015), section 3.4 and algorithm 1, lines 1 to
//   9 and 52 to 64: run counter and local clock of each thread, RLU_SYNCHRONIZE.
// Idea: each thread has a row, with a word that has the time since when it reads. A thread that has
//   moved the clock waits until no word is older.
// State: a row's word is 0 if the thread reads nothing. Otherwise it is 1 plus a time that the
//   clock had when the thread began, or earlier. Rows are in groups, each twice as large as the one
//   before. Each row has a bit that says whether it has a thread, and each group counts the threads
//   with a row in a later group.
// Invariants: the time in the word is never later than the time that the reader uses. A row has at
//   most one thread. Rows are never unmapped, and a row without a thread is free for others. A
//   row's bit is set while its thread may read, and the thread counts in the earlier groups for at
//   least as long. So a writer reads only the rows whose bit is set, and goes no further than the
//   last group with a thread. A new thread takes the first free row.
// Order: a Dekker pair. The writer's side has a full fence. The reader's side has one, too, or a
//   barrier in all threads puts one there. The caller says which (section_fence.h).
//     a reader     1. stores a time in its word   2. fence()   3. loads the clock, the time it uses
//     a writer     1. moves the clock on          2. fence()   3. loads the words
//   Either the writer sees the word, or the reader uses the new time. A word with the new time or a
//   later one belongs to a reader that saw the clock moved. The bit and the counts change before
//   step 1 of the thread's first section and are read in step 3, so the same holds for them.
// Fork: in a child, a thread that is gone may be between its counts and its bit. So the bit decides
//   whether it still counts. A count may stay too high, which only makes commits slower.
// Deviations: the rows for locks are in rows.h, with 18 bits of a clock for each lock, seven
//   sections and a table of fixed size. Here there is one clock for all, which must not wrap
//   because objects are compared with it, and any number of threads. So there is any number of
//   groups, and each row is the head of the thread's other data. The paper's run counter and local
//   clock are one word, because a thread that waits for a reader waits for its word to change. A
//   waiting thread yields and then sleeps, where the paper's spins. Readers do not wake it, because
//   that would cost each of them a load.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include "platform/atomic.h"
#include "platform/concept.h"

namespace lockswap {

template <Platform P>
struct ClockRowGroup {
  using Clock = typename P::template atomic<std::uint64_t>;
  Clock next{};    // its address
  Clock behind{};  // threads with a row in a later group
  ClockRowGroup* before = nullptr;
  std::size_t words = 0;
  Clock* live = nullptr;
  Clock* slots = nullptr;  // the addresses of rows
};

template <Platform P>
struct alignas(64) ClockRow {
  typename P::template atomic<std::uint64_t> word{};
  // The process of its thread (P::process()), or 0 if it has no thread.
  typename P::template atomic<std::uint64_t> process{};
  // Where its bit is; set before the row is published.
  ClockRowGroup<P>* group = nullptr;
  std::uint32_t in_word = 0;
  std::uint32_t bit = 0;
};

template <Platform P>
class ClockRows {
  static_assert(sizeof(std::uintptr_t) == sizeof(std::uint64_t));

 public:
  using Row = ClockRow<P>;
  using Clock = typename P::template atomic<std::uint64_t>;

  // --- for a reader. Returns the time that it uses.
  template <class F>
  [[gnu::always_inline]] static std::uint64_t begin(Row& me, const Clock& clock,
                                                    const F& fence) noexcept {
    // relaxed: an older time only makes others wait.
    const std::uint64_t before = clock.load(relaxed);
    // release, both: others that wait for the end of the previous section may find this word; pairs
    // with wait_for_older.
    me.word.store(before + 1, release);
    signal_fence();                                 // keeps this order in the compiler, too
    fence();                                        // pairs with that of wait_for_older
    const std::uint64_t now = clock.load(acquire);  // pairs with the store that moved the clock
    if (now != before) [[unlikely]]
      me.word.store(now + 1, release);
    return now;
  }
  [[gnu::always_inline]] static void end(Row& me) noexcept {
    me.word.store(0, release);  // the reads of the section; pairs with wait_for_older
  }

  // Not for reading. Writers with a later time than this one, which has come, wait until end() if
  // they have acquired what this thread has done since.
  static void begin_at(Row& me, std::uint64_t time) noexcept {
    me.word.store(time + 1, relaxed);  // relaxed: what the thread does next publishes it
  }

  // --- for a writer that has moved the clock to `time` and reads nothing itself. Waits until no
  // reader uses an older time. Returns how many checks failed.
  template <class F>
  std::uint64_t wait_for_older(std::uint64_t time, const F& fence) noexcept {
    fence();
    std::uint64_t looks = 0;
    const auto is_over = [time, &looks](std::uint64_t word) {
      const bool over = word == 0 || word > time;
      looks += over ? 0 : 1;
      return over;
    };
    each_with_thread([&is_over](Row& row) {
      // acquire, both: pair with begin and end.
      if (!is_over(row.word.load(acquire))) P::await(Pause::nap, row.word, acquire, is_over);
    });
    return looks;
  }

  // --- all rows. Calls f(row) for those with a thread. May miss threads that begin or end
  // meanwhile.
  template <class F>
  void each_with_thread(const F& f) const noexcept {
    for (const Group* g = at(first_); g != nullptr; g = next_with_thread(*g)) {
      for (std::size_t w = 0; w < g->words; ++w) {
        // acquire: pairs with begin_to_count, for where the row is, and with abandon, for what its
        // thread has read.
        for (std::uint64_t bits = g->live[w].load(acquire); bits != 0; bits &= bits - 1)
          f(*row_in(g->slots[w * kRowsOfWord + static_cast<std::size_t>(std::countr_zero(bits))]));
      }
    }
  }
  // Returns how many words of bits that reads.
  std::size_t words_with_thread() const noexcept {
    std::size_t words = 0;
    for (const Group* g = at(first_); g != nullptr; g = next_with_thread(*g))
      words += g->words;
    return words;
  }
  // The same for all rows.
  template <class F>
  void each(const F& f) const noexcept {
    for (const Group* g = at(first_); g != nullptr; g = at(g->next)) {
      for (std::size_t i = 0; i < g->words * kRowsOfWord; ++i) {
        if (Row* const row = row_in(g->slots[i]); row != nullptr) f(*row);
      }
    }
  }

  // Called by a thread before it first reads. Returns a row whose thread has ended, or a new one
  // made by make(), or nullptr if there is no memory.
  template <class Make>
  Row* claim(const Make& make) noexcept {
    Row* fresh = nullptr;
    Clock* link = &first_;
    Group* before = nullptr;
    for (std::size_t words = 1;; words *= 2) {
      Group* const g = group_at(*link, words, before);
      if (g == nullptr) return nullptr;
      for (std::size_t i = 0; i < words * kRowsOfWord; ++i) {
        bool has_memory = true;
        Row* const row = claim_in(*g, i, fresh, has_memory, make);
        if (!has_memory) return nullptr;
        if (row == nullptr) continue;
        begin_to_count(*row);
        return row;
      }
      before = g;
      link = &g->next;
    }
  }
  // Called by the row's thread when it ends, or no longer needs the row.
  static void abandon(Row& row) noexcept {
    // release, both: what the thread has read; pair with each_with_thread, next_with_thread.
    const std::uint64_t bit = bit_of(row);
    if ((bits_of(row).fetch_and(~bit, release) & bit) != 0) {
      for (Group* g = row.group->before; g != nullptr; g = g->before) {
        [[maybe_unused]] const std::uint64_t behind = g->behind.fetch_sub(1, release);
        P::check([behind] { return behind != 0; });
      }
    }
    row.process.store(0, release);  // what belongs to the row; pairs with claim
  }

 private:
  // Fewer only if a platform has few rows, so that several words are explored, too.
  static constexpr std::size_t kRowsOfWord = P::kRows < 64 ? P::kRows : 64;
  using Group = ClockRowGroup<P>;

  // acquire, both: pair with group_at and claim_in.
  static Group* at(const Clock& link) noexcept {
    return reinterpret_cast<Group*>(link.load(acquire));
  }
  static Row* row_in(const Clock& slot) noexcept {
    return reinterpret_cast<Row*>(slot.load(acquire));
  }
  static const Group* next_with_thread(const Group& g) noexcept {
    // acquire: what threads have read that count no more; pairs with abandon.
    return g.behind.load(acquire) == 0 ? nullptr : at(g.next);
  }
  static Clock& bits_of(const Row& row) noexcept { return row.group->live[row.in_word]; }
  static std::uint64_t bit_of(const Row& row) noexcept { return std::uint64_t{1} << row.bit; }

  static void begin_to_count(Row& row) noexcept {
    // relaxed: the fence of the thread's first section orders it, as it does the bit.
    for (Group* g = row.group->before; g != nullptr; g = g->before)
      g->behind.fetch_add(1, relaxed);
    // release: where the row is; pairs with each_with_thread.
    bits_of(row).fetch_or(bit_of(row), release);
  }

  // Returns the group there, after making it if there is none, or nullptr if there is no memory.
  static Group* group_at(Clock& link, std::size_t words, Group* before) noexcept {
    if (Group* const known = at(link); known != nullptr) return known;
    const std::size_t clocks = words + words * kRowsOfWord;
    const std::size_t bytes = sizeof(Group) + clocks * sizeof(Clock);
    void* const memory = P::map(bytes);
    if (memory == nullptr) return nullptr;
    auto* const g = new (memory) Group{};
    g->before = before;
    g->words = words;
    g->live = reinterpret_cast<Clock*>(g + 1);
    g->slots = g->live + words;
    for (std::size_t i = 0; i < clocks; ++i)
      new (g->live + i) Clock{};
    std::uint64_t none = 0;
    // release: the group; pairs with at.
    if (link.compare_exchange(none, reinterpret_cast<std::uintptr_t>(g), release)) return g;
    P::unmap(memory, bytes);
    return at(link);
  }

  // Returns the row at that place if it is free. If there is none, returns `fresh`, making it first
  // if necessary.
  template <class Make>
  static Row* claim_in(Group& g, std::size_t i, Row*& fresh, bool& has_memory,
                       const Make& make) noexcept {
    const std::uint64_t bits = g.live[i / kRowsOfWord].load(relaxed);  // relaxed: a hint
    if ((bits >> i % kRowsOfWord & 1) != 0) return nullptr;
    const std::uint64_t here = P::process();
    if (Row* const row = row_in(g.slots[i]); row != nullptr) {
      std::uint64_t free = 0;
      // relaxed: a hint. acquire: pairs with abandon. After it has made a row, it must find an
      // empty place for that.
      const bool mine = fresh == nullptr && row->process.load(relaxed) == 0 &&
                        row->process.compare_exchange(free, here, acquire);
      return mine ? row : nullptr;
    }
    if (fresh == nullptr) fresh = make();
    if (fresh == nullptr) {
      has_memory = false;
      return nullptr;
    }
    fresh->group = &g;
    fresh->in_word = static_cast<std::uint32_t>(i / kRowsOfWord);
    fresh->bit = static_cast<std::uint32_t>(i % kRowsOfWord);
    fresh->process.store(here, relaxed);  // relaxed: the exchange publishes it
    std::uint64_t none = 0;
    // release: the row; pairs with row_in.
    const bool put =
        g.slots[i].compare_exchange(none, reinterpret_cast<std::uintptr_t>(fresh), release);
    return put ? fresh : nullptr;
  }

  Clock first_{};  // the first group's address
};

}  // namespace lockswap
