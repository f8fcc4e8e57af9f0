// Which thread reads since which time of a 64-bit clock: the reader indicator of the RLU library.
//
// Paper: Matveev and others, "Read-log-update" (SOSP 2015), section 3.4 and algorithm 1, lines 1 to
//   9 and 52 to 64: run counter and local clock of each thread, RLU_SYNCHRONIZE.
// Idea: each thread has a row, with one word that says since when it reads. A thread that has moved
//   the clock on waits until no word is older.
// State: a row's word is 0 (the thread reads nothing), or 1 more than a time at which the clock has
//   been when the thread began, or before that. Rows stand in groups, each twice as large as the
//   one before; a bit for each row says whether it has a thread.
// Invariants: the time in the word is never later than the one that the reader goes by. A row has
//   one thread at most. Rows are never unmapped; a row without a thread is another's to take. While
//   a thread may read, its row's bit is set: so a writer looks at the rows with a bit, and not at
//   those of threads that have ended. A new thread takes the first row that is free.
// Order: a Dekker pair, of which one side has a full fence, and the other one has such a fence, or
//   a barrier in all threads puts one there; the caller says which (section_fence.h).
//     a reader     1. stores a time in its word   2. fence()    3. loads the clock, to go by it
//     a writer     1. moves the clock on          2. fence()    3. loads the words
//   Either the writer sees the word, or the reader goes by the new time. A word that is seen with
//   the new time or a later one is of a reader that saw the clock moved. The bit is set before 1.
//   of the thread's first section and read in 3., so the same holds for it.
// Deviations: rows.h has the rows of locks: 18 bits of a clock that belongs to a lock, seven
//   sections, a table of fixed size. Here the clock is one for all and must not wrap, since objects
//   are compared with it, and there may be any number of threads; so there is any number of groups,
//   and each row is the head of what else belongs to the thread. The paper's run counter and local
//   clock are one word: a thread that waits for a reader waits for its word to change. A waiting
//   thread yields, then sleeps; the paper's spins. Readers do not wake it, which would cost each of
//   them a load.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include "platform/atomic.h"
#include "platform/concept.h"

namespace lockswap {

template <Platform P>
struct alignas(64) ClockRow {
  typename P::template atomic<std::uint64_t> word{};
  // The process of its thread (P::process()); 0: it has no thread.
  typename P::template atomic<std::uint64_t> process{};
  // Where its bit is, and which one; set before it is known to others.
  typename P::template atomic<std::uint64_t>* bits = nullptr;
  std::uint64_t bit = 0;
};

template <Platform P>
class ClockRows {
  static_assert(sizeof(std::uintptr_t) == sizeof(std::uint64_t));

 public:
  using Row = ClockRow<P>;
  using Clock = typename P::template atomic<std::uint64_t>;

  // --- a reader. The time that it goes by.
  template <class F>
  [[gnu::always_inline]] static std::uint64_t begin(Row& me, const Clock& clock,
                                                    const F& fence) noexcept {
    const std::uint64_t before = clock.load(relaxed);  // relaxed: an older time only makes it wait
    // release, both: others may find this word where they wait for the end of the section before;
    // pairs with wait_for_older.
    me.word.store(before + 1, release);
    P::light_fence();                               // in this order for the compiler, too
    fence();                                        // the pair with that of wait_for_older
    const std::uint64_t now = clock.load(acquire);  // pairs with the store that moved the clock
    if (now != before) [[unlikely]]
      me.word.store(now + 1, release);
    return now;
  }
  [[gnu::always_inline]] static void end(Row& me) noexcept {
    me.word.store(0, release);  // the reads of the section; pairs with wait_for_older
  }

  // Not to read: writers of a later time than this one, which has come, wait until end() if they
  // have acquired what this thread has done since.
  static void begin_at(Row& me, std::uint64_t time) noexcept {
    me.word.store(time + 1, relaxed);  // relaxed: what the thread does then hands it on
  }

  // --- a writer that has moved the clock on to `time`, and reads nothing itself. Waits until no
  // reader goes by an older time. How often it looked in vain.
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
      // acquire, both: pairs with begin and end.
      if (!is_over(row.word.load(acquire))) P::await(Pause::nap, row.word, acquire, is_over);
    });
    return looks;
  }

  // --- all rows. f(row) for those that have a thread; of threads that come or end meanwhile some
  // may be left out.
  template <class F>
  void each_with_thread(const F& f) const noexcept {
    for (const Group* g = at(first_); g != nullptr; g = at(g->next)) {
      for (std::size_t w = 0; w < g->words; ++w) {
        // acquire: pairs with claim, where the row is; and with abandon, what its thread has read.
        for (std::uint64_t bits = g->live[w].load(acquire); bits != 0; bits &= bits - 1)
          f(*row_in(g->slots[w * kRowsOfWord + static_cast<std::size_t>(std::countr_zero(bits))]));
      }
    }
  }
  // The same for all that there are.
  template <class F>
  void each(const F& f) const noexcept {
    for (const Group* g = at(first_); g != nullptr; g = at(g->next)) {
      for (std::size_t i = 0; i < g->words * kRowsOfWord; ++i) {
        if (Row* const row = row_in(g->slots[i]); row != nullptr) f(*row);
      }
    }
  }

  // For the calling thread, before it first reads: a row whose thread has ended, or a new one,
  // which make() gives. Returns nullptr if there is no memory.
  template <class Make>
  Row* claim(const Make& make) noexcept {
    Row* fresh = nullptr;
    Clock* link = &first_;
    for (std::size_t words = 1;; words *= 2) {
      Group* const g = group_at(*link, words);
      if (g == nullptr) return nullptr;
      for (std::size_t i = 0; i < words * kRowsOfWord; ++i) {
        bool has_memory = true;
        Row* const row = claim_in(*g, i, fresh, has_memory, make);
        if (!has_memory) return nullptr;
        if (row == nullptr) continue;
        // release: where the row is; pairs with each_with_thread.
        row->bits->fetch_or(row->bit, release);
        return row;
      }
      link = &g->next;
    }
  }
  // By its thread, which ends or needs it no more.
  static void abandon(Row& row) noexcept {
    // release: what the thread has read; pairs with each_with_thread.
    row.bits->fetch_and(~row.bit, release);
    row.process.store(0, release);  // what belongs to the row; pairs with claim
  }

 private:
  // Fewer only where a platform has few rows: so several words are explored, too.
  static constexpr std::size_t kRowsOfWord = P::kRows < 64 ? P::kRows : 64;
  struct Group {
    Clock next{};  // its address
    std::size_t words = 0;
    Clock* live = nullptr;
    Clock* slots = nullptr;  // the addresses of rows
  };

  // acquire, both: pairs with group_at and claim_in.
  static Group* at(const Clock& link) noexcept {
    return reinterpret_cast<Group*>(link.load(acquire));
  }
  static Row* row_in(const Clock& slot) noexcept {
    return reinterpret_cast<Row*>(slot.load(acquire));
  }

  // The group there, which is made if there is none; nullptr if there is no memory.
  static Group* group_at(Clock& link, std::size_t words) noexcept {
    if (Group* const known = at(link); known != nullptr) return known;
    const std::size_t clocks = words + words * kRowsOfWord;
    const std::size_t bytes = sizeof(Group) + clocks * sizeof(Clock);
    void* const memory = P::map(bytes);
    if (memory == nullptr) return nullptr;
    auto* const g = new (memory) Group{};
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

  // The row of that place, if it is free; `fresh`, which is made if need be, if there is none.
  template <class Make>
  static Row* claim_in(Group& g, std::size_t i, Row*& fresh, bool& has_memory,
                       const Make& make) noexcept {
    Clock* const bits = &g.live[i / kRowsOfWord];
    const std::uint64_t bit = std::uint64_t{1} << i % kRowsOfWord;
    if ((bits->load(relaxed) & bit) != 0) return nullptr;  // relaxed: a hint
    const std::uint64_t here = P::process();
    if (Row* const row = row_in(g.slots[i]); row != nullptr) {
      std::uint64_t free = 0;
      // relaxed: a hint. acquire: pairs with abandon. Once it has made a row, it goes on to a place
      // for that.
      const bool mine = fresh == nullptr && row->process.load(relaxed) == 0 &&
                        row->process.compare_exchange(free, here, acquire);
      return mine ? row : nullptr;
    }
    if (fresh == nullptr) fresh = make();
    if (fresh == nullptr) {
      has_memory = false;
      return nullptr;
    }
    fresh->bits = bits;
    fresh->bit = bit;
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
