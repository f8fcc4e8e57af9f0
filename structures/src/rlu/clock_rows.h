// Which thread reads since which time of a 64-bit clock: the reader indicator of the RLU library.
//
// Paper: Matveev and others, "Read-log-update" (SOSP 2015), section 3.4 and algorithm 1, lines 1 to
//   9 and 52 to 64: run counter and local clock of each thread, RLU_SYNCHRONIZE.
// Idea: each thread has a row, with one word that says since when it reads. A thread that has moved
//   the clock on waits until no word is older.
// State: a row's word is 0 (the thread reads nothing), or 1 more than a time at which the clock has
//   been when the thread began, or before that.
// Invariants: the time in the word is never later than the one that the reader goes by. A row has
//   one thread at most. Rows are never unmapped; a row without a thread is another's to take.
// Order: a Dekker pair, of which the reader's side has no fence but P::light_fence.
//     a reader     1. stores a time in its word   2. loads the clock, which it then goes by
//     a writer     1. moves the clock on          2. P::heavy_fence   3. loads the words
//   Either the writer sees the word, or the reader goes by the new time. A word that is seen with
//   the new time or a later one is of a reader that saw the clock moved.
// Deviations: rows.h has the rows of locks: 18 bits of a clock that belongs to a lock, seven
//   sections, a table of fixed size. Here the clock is one for all and must not wrap, since objects
//   are compared with it, and there may be any number of threads; so rows are in a list, and each
//   is the head of what else belongs to the thread. The paper's run counter and local clock are one
//   word: a thread that waits for a reader waits for its word to change. A waiting thread yields,
//   then sleeps; the paper's spins. Readers do not wake it, which would cost each of them a load.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"

namespace lockswap {

template <Platform P>
struct alignas(64) ClockRow {
  typename P::template atomic<std::uint64_t> word{};
  // The process of its thread (P::process()); 0: it has no thread.
  typename P::template atomic<std::uint64_t> process{};
  ClockRow* next = nullptr;  // set before it is known to others
};

template <Platform P>
class ClockRows {
  static_assert(sizeof(std::uintptr_t) == sizeof(std::uint64_t));

 public:
  using Row = ClockRow<P>;
  using Clock = typename P::template atomic<std::uint64_t>;

  // --- a reader. The time that it goes by.
  [[gnu::always_inline]] static std::uint64_t begin(Row& me, const Clock& clock) noexcept {
    const std::uint64_t before = clock.load(relaxed);  // relaxed: an older time only makes it wait
    // release, both: others may find this word where they wait for the end of the section before;
    // pairs with wait_for_older.
    me.word.store(before + 1, release);
    P::light_fence();                               // the pair with heavy_fence in wait_for_older
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
  std::uint64_t wait_for_older(std::uint64_t time) noexcept {
    P::heavy_fence();
    std::uint64_t looks = 0;
    const auto is_over = [time, &looks](std::uint64_t word) {
      const bool over = word == 0 || word > time;
      looks += over ? 0 : 1;
      return over;
    };
    for (Row* row = first(); row != nullptr; row = row->next) {
      // acquire, both: pairs with begin and end.
      if (!is_over(row->word.load(acquire))) P::await(Pause::nap, row->word, acquire, is_over);
    }
    return looks;
  }

  // --- all rows
  Row* first() const noexcept {
    return reinterpret_cast<Row*>(first_.load(acquire));  // pairs with add
  }
  // Before its thread first reads. A writer that misses the row has run its heavy fence before, so
  // the row's thread finds the clock moved.
  void add(Row& row) noexcept {
    std::uint64_t head = first_.load(relaxed);
    do {
      row.next = reinterpret_cast<Row*>(head);
      // release: the row, and those behind it; pairs with first.
    } while (!first_.compare_exchange(head, reinterpret_cast<std::uintptr_t>(&row), release));
  }
  // A row whose thread has ended, for the calling thread; nullptr if there is none.
  Row* adopt() noexcept {
    const std::uint64_t here = P::process();
    for (Row* row = first(); row != nullptr; row = row->next) {
      std::uint64_t free = 0;
      // relaxed: a hint. acquire: pairs with abandon.
      if (row->process.load(relaxed) == 0 && row->process.compare_exchange(free, here, acquire))
        return row;
    }
    return nullptr;
  }
  // By its thread, which ends or needs it no more.
  static void abandon(Row& row) noexcept {
    row.process.store(0, release);  // what belongs to the row; pairs with adopt
  }

 private:
  typename P::template atomic<std::uint64_t> first_{};  // of the list of all rows
};

}  // namespace lockswap
