// BRAVO's bias word: the paper's RBias and InhibitUntil in one. bravo.h is the lock.
//
//   bit 0      kOn: readers may use slots
//   bit 1      kSlotsInUse: slots may name the lock
//   bit 2      kEnded: the bias has ended for good
//   bits 3..5  inhibit shift: how many times in a row the bias did not pay, at most 7
//   bit 6      kTrying: a writer in a trylock scans the slots for readers
//   bits 7..56 a time, P::now in steps of 128 ns: with kOn or kRevoked, since when it is on, or was
//              (0: since the lock was first read); else InhibitUntil
//   bits 57..62 if the bias is revoked or inhibited, its last visitor (visited): 57..58 two bits
//              of the thread's number, 59..60 which two, 61..62 how many visitors in turn
//   bit 63     kRevoked: by a writer that met no reader and did not read the clock
//
//   state      bits                 fast_read  consider_bias  suspend      revoke       end_bias
//   unused     0                    core       -> starting,   -            -            -> ended
//                                              then -> on
//   starting   kStarting            core       -              -            -            -> ended
//   on         kOn, kSlotsInUse     a slot     -              -> suspended -> suspended -> ending
//                                                                          and goes on;
//                                                                          a trylock: -> trying
//   trying     kTrying, kSlotsInUse core; with -              -            -> inhibited -> ending
//                                   a slot already, -> on                  or on
//   suspended  kSlotsInUse          core       -> on          -            scans, and   -> ending
//                                                                          -> inhibited
//                                                                          or revoked
//   revoked    kRevoked             core       -> inhibited   -            -            -> ending
//   inhibited  a time               core       if it is over, -            -            -> ending
//                                              -> on
//   ending     kEnded, kSlotsInUse  core       -              -            scans, and   scans, and
//                                                                          -> ended     -> ended
//   ended      kEnded               core       -              -            -            -
//
// Invariants: the word is always in one of these states. A reader that stays although a writer is
//   in a trylock clears kTrying when it sets kOn.
//
//   consider_bias  a reader that got the underlying lock, unless a writer waits for it; if the bias
//                  is revoked or inhibited, only a reader that met another thread there, or that
//                  finds that threads take turns (is_shared)
//   suspend        a writer that waits for readers of the underlying lock
//   revoke         a writer that has the underlying lock; if it times out: suspended -> on. Try:
//                  the writer or a reader with a slot gets it, whichever changes "trying" first
//   end_bias       a release without a token (release_any_slot)
#pragma once

#include <algorithm>
#include <cstdint>

namespace lockswap {

struct BiasWord {
  static constexpr std::uint64_t kOn = 1;
  static constexpr std::uint64_t kSlotsInUse = 2;
  static constexpr std::uint64_t kEnded = 4;
  static constexpr std::uint64_t kTrying = 64;
  static constexpr std::uint64_t kInhibitShift = 7u << 3;
  static constexpr std::uint64_t kRevoked = std::uint64_t{1} << 63;
  // Times overflow after four and a half years of uptime, and from then on the bias is never
  // inhibited.
  static constexpr std::uint64_t kTime = (std::uint64_t{1} << 57) - 128;
  static constexpr std::uint64_t kStarting = kTime;  // inhibited for ever, until start() returns

  // If the bias has never been on, any slots that name this address belong to an earlier lock.
  static bool has_been_on(std::uint64_t bias) noexcept { return bias != 0 && bias != kStarting; }
  static bool may_start(std::uint64_t bias, std::uint64_t now) noexcept {
    return now >= (bias & kTime);
  }
  static std::uint64_t on_since(std::uint64_t now, std::uint64_t bias) noexcept {
    return (now & kTime) | (bias & kInhibitShift) | kSlotsInUse | kOn;
  }

  // The cost of a revocation, in ns of P::now.
  struct Revocation {
    std::uint64_t start;
    std::uint64_t fenced;  // when the heavy fence was done
    std::uint64_t end;

    std::uint64_t cost() const noexcept { return end - start; }
    // The part of the cost that counts when deciding whether the bias paid.
    std::uint64_t counted() const noexcept {
      return fenced - start + std::min(end - fenced, kMostWaitCounted);
    }
  };
  // The word after that revocation of `bias`. guard: the paper's N.
  //
  // A bias that was on for less than N times the counted cost did not pay. Each time in a row that
  // this happens doubles the inhibited time, up to 128-fold. By the paper's rule alone a lock that
  // is often written would lose 1/(N+1) of its time, or more.
  static std::uint64_t inhibited(std::uint64_t bias, const Revocation& r,
                                 std::uint64_t guard) noexcept {
    const bool paid = r.start - (bias & kTime) >= r.counted() * guard;
    const std::uint64_t shift =
        paid ? 0 : std::min(((bias & kInhibitShift) >> kInhibitShiftAt) + 1, kMostInhibitShift);
    const std::uint64_t inhibit_until = r.end + (r.cost() * guard << shift);
    return (std::min(inhibit_until, kTime - 128) & kTime) | shift << kInhibitShiftAt;
  }

  // Whether it is one of the states above; for P::check.
  static bool is_a_state(std::uint64_t bias) noexcept {
    const std::uint64_t flags = bias & (kOn | kSlotsInUse | kEnded | kTrying);
    if ((bias & kEnded) != 0) return (bias & ~kSlotsInUse) == kEnded;
    if ((bias & kRevoked) != 0) return flags == 0;
    return flags == 0 || flags == kSlotsInUse || flags == (kSlotsInUse | kOn) ||
           flags == (kSlotsInUse | kTrying);
  }

  static bool is_revoked(std::uint64_t bias) noexcept { return (bias & kRevoked) != 0; }
  // The word after a revocation of `bias` that met nobody.
  static std::uint64_t revoked(std::uint64_t bias) noexcept {
    return (bias & (kTime | kInhibitShift)) | kRevoked;
  }
  // Returns the inhibited word for the first thread that reads the clock after a revocation that
  // did not, as if the revocation had ended now. Keeps the visitors.
  static std::uint64_t inhibited(std::uint64_t bias, std::uint64_t now, std::uint64_t cost,
                                 std::uint64_t guard) noexcept {
    return inhibited(bias, {now - cost, now - cost, now}, guard) | (bias & kVisitors);
  }

  // Threads that take turns with a lock never meet inside it. So while the bias is revoked or
  // inhibited, the word says who was here last, and how often that changed. The lock counts as
  // shared once the third visitor in turn differs from the previous one. The second visitor is not
  // enough, because it may have inherited the lock from the first, as after a fork. It then uses
  // the lock alone, and must not read the clock.
  //
  // The word has room for only two bits of the visitor's thread number. A thread that finds its own
  // two bits there stores its next two, so threads that differ in the lowest eight bits are told
  // apart by the fourth visit. A thread that is alone always finds its own bits.
  static bool is_shared(std::uint64_t bias) noexcept {
    return (bias >> kVisitsAt & 3) == kManyVisits;
  }
  // The word after a visit of thread `tid`.
  static std::uint64_t visited(std::uint64_t bias, std::uint32_t tid) noexcept {
    std::uint64_t visits = bias >> kVisitsAt & 3;  // 0: nobody has been here
    std::uint64_t which = bias >> kWhichAt & 3;
    const auto bits = [tid, &which] { return std::uint64_t{tid} >> 2 * which & 3; };
    if (visits == kManyVisits) return bias;
    if (visits != 0 && bits() == (bias >> kVisitorAt & 3)) {
      which = (which + 1) & 3;
    } else {
      ++visits;
    }
    return (bias & ~kVisitors) | visits << kVisitsAt | which << kWhichAt | bits() << kVisitorAt;
  }

 private:
  static constexpr int kVisitorAt = 57;  // two bits of its number
  static constexpr int kWhichAt = 59;    // the place of those bits, in pairs
  static constexpr int kVisitsAt = 61;
  static constexpr std::uint64_t kManyVisits = 3;
  static constexpr std::uint64_t kVisitors = std::uint64_t{63} << kVisitorAt;
  static constexpr int kInhibitShiftAt = 3;
  static constexpr std::uint64_t kMostInhibitShift = 7;
  // The maximum that counts of the time spent waiting for readers. The rest is due to readers that
  // were preempted, for which a writer would have waited without a bias too. The heavy fence counts
  // in full.
  static constexpr std::uint64_t kMostWaitCounted = 8192;  // ns
};

}  // namespace lockswap
