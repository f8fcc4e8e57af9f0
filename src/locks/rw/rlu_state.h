// How the rows of an RLU lock (rlu.h) are opened to readers, and closed. The state is four bits in
// the word of its PF-T lock.
//
//   kOpen      readers may use rows
//   kSectionsInUse  sections may name the lock
//   kStarting  a thread empties sections that name it for an earlier lock at this address
//   kEnded     closed for good
//
//   state      bits                    readers            writers     read_unlock_any
//   unused     0                       the first: open,   -           close -> ended
//                                      -> starting
//   starting   kStarting               use PF-T; the      -           close -> ended, when
//                                      first, -> open                 open has ended
//   open       kOpen, kSectionsInUse   fill a section     drain rows  close -> ending
//   ending     kEnded, kSectionsInUse  use PF-T           drain rows  empties a section; if there
//                                                                     is none, -> ended
//   ended      kEnded                  use PF-T           -           a hold of PF-T
//
// Invariant: the lock is opened once.
#pragma once

#include <cstdint>

#include "locks/rw/pf-t.h"
#include "platform/atomic.h"
#include "platform/concept.h"
#include "readers/quiescence.h"
#include "wait/concept.h"

namespace lockswap {

// What this lock requires of its PF-T lock.
struct RluBits {
  static constexpr std::uint64_t kOpen = 0x10;
  static constexpr std::uint64_t kSectionsInUse = 0x20;
  static constexpr std::uint64_t kStarting = 0x40;
  static constexpr std::uint64_t kEnded = 0x80;
  static constexpr std::uint64_t kUserBits = kOpen | kSectionsInUse | kStarting | kEnded;
  // seq_cst: the writer then checks for readers elsewhere, in their rows. Pairs with fill_and_look.
  static constexpr Order kAnnounce = seq_cst;
};

template <Platform P, WaitPolicy<P> W>
struct RluState {
  using Line = PfTOver<P, W, RluBits>;

  auto& word() noexcept { return line.word(); }
  const auto& word() const noexcept { return line.word(); }
  std::uint64_t domain() const noexcept { return reinterpret_cast<std::uintptr_t>(this); }

  // relaxed: the program or a fence already makes it visible where it matters.
  bool is_closed() const noexcept { return (word().load(relaxed) & RluBits::kEnded) != 0; }
  static bool is_open(std::uint64_t v) noexcept {
    return (v & (RluBits::kOpen | PfTWord::kPresent | PfTWord::kTrying)) == RluBits::kOpen;
  }

  // Called before the first reader uses a row. Empties sections that name this address, since they
  // belong to a lock that was destroyed. Other readers use PF-T meanwhile.
  void open(std::uint64_t v) noexcept {
    // relaxed: it only keeps others off; what readers need is released below.
    if (!word().compare_exchange(v, v | RluBits::kStarting, relaxed)) return;
    Readers<P>::drop(domain());
    v = word().load(relaxed);
    P::check([this] { return (word().load(relaxed) & RluBits::kSectionsInUse) == 0; });
    // release: those sections are empty; pairs with is_named. (What writers release to readers is
    // in the same word, which is only updated.)
    while (!word().compare_exchange(v, opened(v), release)) {}
  }
  static std::uint64_t opened(std::uint64_t v) noexcept {
    return (v & ~RluBits::kStarting) |
           ((v & RluBits::kEnded) != 0 ? 0 : RluBits::kOpen | RluBits::kSectionsInUse);
  }

  // Closes the rows for good. Returns false if no section names the lock.
  bool close() noexcept {
    for (;;) {
      // acquire: a thread that emptied a section of the caller's may have left another hold in its
      // place, which must be visible. Pairs with kEnded's releases.
      std::uint64_t v = word().load(acquire);
      if ((v & RluBits::kEnded) != 0) return (v & RluBits::kSectionsInUse) != 0;
      // seq_cst: as PF-T's enter_phase, so that no reader fills a section unseen after the search.
      if (word().compare_exchange(v, (v & ~RluBits::kOpen) | RluBits::kEnded, seq_cst))
        return (v & RluBits::kSectionsInUse) != 0;
    }
  }

  // A writer with the turn cannot miss kSectionsInUse: if it is set after the writer appeared,
  // readers see that. acquire: pairs with open; without kSectionsInUse, with read_unlock_any.
  bool is_named() const noexcept { return (word().load(acquire) & RluBits::kSectionsInUse) != 0; }
  bool is_read_in_rows() const noexcept { return is_named() && Readers<P>::is_any(domain()); }

  Line line;  // PF-T, whose word this is
};

}  // namespace lockswap
