// Which thread reads which domain: a row for each thread, the reader indicator of RLU.
//
// Paper: A. Matveev, N. Shavit, P. Felber, P. Marlier, "Read-log-update: a lightweight
//   synchronization mechanism for concurrent programming" (SOSP 2015), sections 3.2 to 3.4: the
//   global array of threads, a run counter and a local clock for each.
// Idea: a thread that reads fills a section of a row of its own, which no other thread fills. A
//   thread that must wait for readers looks at all rows.
// State: a row is a number of words: its thread, sections for as many reads at once, and what
//   asymmetric.h needs besides. A section is 0 or
//   bits 19..  the domain that is read (a lock): its address, without the 3 bits that are 0
//   bits 1..18 the domain's clock when the reader entered
//   bit 0      kSleepers: a thread sleeps until this reader has left (always 1 in asymmetric.h)
// Invariants: a section is filled by the thread that has its row, and only when it is empty. Any
//   thread may empty it. A row has one thread at most; a thread that ends gives its row to another,
//   with the sections that it leaves filled, if any.
// Space: 128 bytes a thread, shared by all domains. Rows are given out from the first on, so a
//   search looks at as many as there were threads at once.
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

  // --- the word of a section. `domain`: its address, a multiple of 8 below 2^48
  static constexpr std::uint64_t section_word(std::uint64_t domain, std::uint64_t clock) noexcept {
    return domain << kDomainShift | (clock & kClock) << 1;
  }
  static constexpr bool names(std::uint64_t word, std::uint64_t domain) noexcept {
    return word >> kClockBits >> 1 == domain >> 3;
  }

  // --- places of sections, as tokens: not 0, and below kTokens. A row's words are its thread, then
  // the sections, then the number of its sleepers, then for each section whether it is vacated.
  static constexpr std::uint32_t kRowWords = 2 * (kSections + 1);
  static_assert((kRowWords & (kRowWords - 1)) == 0);
  static constexpr std::uint32_t kFirstToken = kRowWords + 1;  // there is no row 0
  static constexpr std::uint32_t kTokens = (P::kRows + 1) * kRowWords;
  static_assert(kTokens < 1u << 28);
  static constexpr std::uint32_t row_of(std::uint32_t token) noexcept { return token / kRowWords; }

  struct Mine {
    std::uint32_t first;    // place of the row; 0: none
    std::uint32_t busy;     // a signal handler leaves it alone
    std::uint32_t pause;    // how often not to look for a row again
    std::uint32_t filling;  // a section, by a load and a store
  };
  static Mine& mine() noexcept { return P::template local<Mine>(); }

  // The first place of the calling thread; 0: it has no row yet.
  [[gnu::always_inline]] static std::uint32_t first_place() noexcept { return mine().first; }
  // A place that is empty, or 0: the thread's row is full, or there are no more rows. Gets a row
  // for a thread that has none.
  [[gnu::noinline]] static std::uint32_t find_place() noexcept {
    const std::uint32_t first = mine().first != 0 ? mine().first : claim();
    for (std::uint32_t i = 0; first != 0 && i < kSections; ++i) {
      // relaxed: only this thread fills it. If it seems to be full, it was until now.
      if (at(first + i).load(relaxed) == 0) return first + i;
    }
    return 0;
  }
  [[gnu::always_inline]] static Section& at(std::uint32_t token) noexcept {
    return all().words[token];
  }
  // For asymmetric.h: in which process (P::process_mark) the section's thread vacates it, or 0; how
  // many threads sleep on sections of the row.
  [[gnu::always_inline]] static Section& vacating(std::uint32_t token) noexcept {
    return all().words[token + kSections + 1];
  }
  [[gnu::always_inline]] static Section& sleepers(std::uint32_t token) noexcept {
    return all().words[(token & ~(kRowWords - 1)) + kSections + 1];
  }

  // --- for a thread that waits for readers, or looks for them
  // Calls f(place, word) for each section that names the domain, until it returns false.
  // Returns true if it never did. It may miss readers that look at the domain after this thread has
  // changed it.
  template <class F>
  static bool each_of(std::uint64_t domain, const F& f) noexcept {
    Rows& rows = all();
    // seq_cst, both: see first_free, and ReaderAccess::fill. As an acquire the look at a section
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
    if (me.first == 0) me.first = first_free();  // else a signal handler was faster
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
      // relaxed: hints. acquire: what the row's last thread did to its sections, since asymmetric.h
      // fills them by a load and a store; pairs with at_thread_exit.
      if (taken.load(relaxed) != 0 || is_full(row) || !taken.compare_exchange(no, 1, acquire)) {
        continue;
      }
      // seq_cst: a Dekker pair with each_of. Either a thread that looks at all rows sees this one,
      // or this thread, when it looks at a domain later, sees how that thread changed it. acquire:
      // if another thread has raised the number so far, the same for that update.
      for (std::uint64_t used; (used = rows.used().load(acquire)) < row;)
        rows.used().compare_exchange(used, row, seq_cst);
      return first_of(row);
    }
    return 0;
  }
  // Sections are left by threads that ended with holds. relaxed: a hint.
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

  // The number of rows that ever had a thread: the first ones.
  Section& used() noexcept { return words[0]; }
  Section& taken(std::uint32_t row) noexcept { return words[row * kRowWords]; }

  // A row has a line of its own, and the next: processors fetch them in pairs.
  alignas(128) Section words[kTokens]{};
};

}  // namespace lockswap
