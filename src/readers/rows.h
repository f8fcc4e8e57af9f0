// Records which thread reads which domain, in a row per thread: the reader indicator of RLU.
//
// Paper: A. Matveev, N. Shavit, P. Felber, P. Marlier, "Read-log-update: a lightweight
//   synchronization mechanism for concurrent programming" (SOSP 2015), sections 3.2 to 3.4: the
//   global array of threads, a run counter and a local clock for each.
// Idea: a thread that reads fills a section of a row of its own, which no other thread fills. A
//   thread that must wait for readers scans all rows.
// State: a row is a number of words: its thread, sections for as many simultaneous reads, and the
//   words that asymmetric.h needs in addition. A section is 0 or
//   bits 19..  the domain that is read (a lock): its address, without the 3 low bits, which are 0
//   bits 1..18 the domain's clock when the reader entered
//   bit 0      kSleepers: a thread sleeps until this reader has left (always 1 in asymmetric.h)
// Invariants: a section is filled by the thread that has its row, and only when it is empty. Any
//   thread may empty it. A row has one thread at most. When a thread exits another one may take its
//   row, with any sections that were left filled.
// Space: 128 bytes per thread, shared by all domains. The first free row is always taken, so a scan
//   visits only as many rows as there were threads at once.
// Deviations: the paper's run counter and local clock are one word with the domain: a thread that
//   waits for a reader waits for its word to change. Domains do not wait for each other's readers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"

namespace lockswap {

template <Platform P>
class Rows {
 public:
  using Section = typename P::template atomic<std::uint64_t>;
  static constexpr std::uint64_t kSleepers = 1;
  static constexpr std::uint32_t kSections = P::kRowSections;

  // --- the word of a section. `domain` is an address, a multiple of 8 below 2^48.
  static constexpr std::uint64_t section_word(std::uint64_t domain, std::uint64_t clock) noexcept {
    return domain << kDomainShift | (clock & kClock) << 1;
  }
  static constexpr bool names(std::uint64_t word, std::uint64_t domain) noexcept {
    return word >> kClockBits >> 1 == domain >> 3;
  }

  // --- places of sections, which are tokens: not 0, and below kTokens. A row's words are its
  // thread, the sections, its number of sleepers, and for each section who is vacating it.
  static constexpr std::uint32_t kRowWords = 2 * (kSections + 1);
  static_assert((kRowWords & (kRowWords - 1)) == 0);
  static constexpr std::uint32_t kFirstToken = kRowWords + 1;  // there is no row 0
  static constexpr std::uint32_t kTokens = (P::kRows + 1) * kRowWords;
  static_assert(kTokens < 1u << 28);
  static constexpr std::uint32_t row_of(std::uint32_t token) noexcept { return token / kRowWords; }

  struct Mine {
    std::uint32_t first;    // place of the row, or 0 for none
    std::uint32_t busy;     // signal handlers must leave it alone
    std::uint32_t pause;    // how many more searches for a row to skip
    std::uint32_t filling;  // the thread is between load and store of filling a section
  };
  static Mine& mine() noexcept { return P::template local<Mine>(); }

  // Returns the first place of the calling thread, or 0 if it has no row yet.
  [[gnu::always_inline]] static std::uint32_t first_place() noexcept { return mine().first; }
  // Returns an empty place of the calling thread, which gets a row if it has none. Returns 0 if its
  // row is full, or if there are no more rows.
  [[gnu::noinline]] static std::uint32_t find_place() noexcept {
    const std::uint32_t first = mine().first != 0 ? mine().first : claim();
    for (std::uint32_t i = 0; first != 0 && i < kSections; ++i) {
      // relaxed: only this thread fills it, so it is not full unless it appears so.
      if (at(first + i).load(relaxed) == 0) return first + i;
    }
    return 0;
  }
  [[gnu::always_inline]] static Section& at(std::uint32_t token) noexcept {
    return all().words[token];
  }
  // For asymmetric.h: `vacating` is the process (P::process_mark) in which the section's thread is
  // vacating it, or 0; `sleepers` counts the threads that sleep on sections of the row.
  [[gnu::always_inline]] static Section& vacating(std::uint32_t token) noexcept {
    return all().words[token + kSections + 1];
  }
  [[gnu::always_inline]] static Section& sleepers(std::uint32_t token) noexcept {
    return all().words[(token & ~(kRowWords - 1)) + kSections + 1];
  }

  // --- for a thread that waits for readers, or searches for them
  // Calls f(place, word) for each section that names the domain, until f returns false. Returns
  // true if f never did. May miss readers that load the domain after this thread has changed it.
  template <class F>
  static bool each_of(std::uint64_t domain, const F& f) noexcept {
    Rows& rows = all();
    // seq_cst, both: see first_free, and ReaderAccess::fill. As an acquire the load of a section
    // pairs with the release of the thread that empties it.
    const auto used = static_cast<std::uint32_t>(rows.used().load(seq_cst));
    for (std::uint32_t row = 1; row <= used; ++row) {
      for (std::uint32_t place = first_of(row); place <= first_of(row) + kSections - 1; ++place) {
        const std::uint64_t word = at(place).load(seq_cst);
        if (names(word, domain) && !f(place, word)) return false;
      }
    }
    return true;
  }

 private:
  static constexpr int kClockBits = 18;
  static constexpr int kDomainShift = kClockBits + 1 - 3;
  static constexpr std::uint64_t kClock = (std::uint64_t{1} << kClockBits) - 1;

  static constexpr std::uint32_t first_of(std::uint32_t row) noexcept {
    return row * kRowWords + 1;
  }

  static Rows& all() noexcept { return P::template global<Rows>(); }

  static constexpr std::uint32_t kPause = 1024;

  static std::uint32_t claim() noexcept {
    Mine& me = mine();
    if (me.busy != 0) return 0;
    if (me.pause != 0) {
      --me.pause;
      return 0;
    }
    if (!P::on_thread_exit(&at_thread_exit)) return 0;
    me.busy = 1;
    signal_fence();
    if (me.first == 0) me.first = first_free();  // unless a signal handler has claimed one
    if (me.first == 0) me.pause = kPause;
    signal_fence();
    me.busy = 0;
    return me.first;
  }

  static std::uint32_t first_free() noexcept {
    Rows& rows = all();
    for (std::uint32_t row = 1; row <= P::kRows; ++row) {
      Section& taken = rows.taken(row);
      std::uint64_t no = 0;
      // relaxed: hints. acquire: makes visible what the row's last thread did to its sections,
      // which asymmetric.h fills by a load and a store; pairs with at_thread_exit.
      if (taken.load(relaxed) != 0 || is_full(row) || !taken.compare_exchange(no, 1, acquire)) {
        continue;
      }
      // seq_cst: a Dekker pair with each_of. Either a thread that scans all rows sees this one, or
      // this thread, when it later loads a domain, sees that thread's change to it. acquire: if
      // another thread has raised the number that far, its RMW does the same for this thread.
      for (std::uint64_t used; (used = rows.used().load(acquire)) < row;)
        rows.used().compare_exchange(used, row, seq_cst);
      return first_of(row);
    }
    return 0;
  }
  // Threads that exit while holding locks leave sections filled. relaxed: a hint.
  static bool is_full(std::uint32_t row) noexcept {
    for (std::uint32_t i = 0; i < kSections; ++i) {
      if (at(first_of(row) + i).load(relaxed) == 0) return false;
    }
    return true;
  }

  static void at_thread_exit() noexcept {
    Mine& me = mine();
    me.busy = 1;
    signal_fence();
    // release: pairs with first_free.
    if (me.first != 0) all().taken(row_of(me.first)).store(0, release);
    me.first = 0;
    signal_fence();
    me.busy = 0;
  }

  // The number of rows that ever had a thread, which are the first ones.
  Section& used() noexcept { return words[0]; }
  Section& taken(std::uint32_t row) noexcept { return words[row * kRowWords]; }

  // A row has two cache lines of its own, since processors fetch lines in pairs.
  alignas(128) Section words[kTokens]{};
};

}  // namespace lockswap
