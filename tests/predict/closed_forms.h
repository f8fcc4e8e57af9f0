// Throughput of three mutexes on a machine where each transfer of a line takes the same, as others
// have worked it out. Times in nanoseconds, results in acquisitions a nanosecond.
//
// The first is as printed. Of the other two their assumptions and cases are taken, and the counts
// of accesses are those of the textbook locks here (peers/textbook.h).
//
// Ticket: S. Boyd-Wickizer, M. F. Kaashoek, R. Morris, N. Zeldovich, "Non-scalable locks are
//   dangerous" (OLS 2012), section 3. A Markov chain over the number k of cores that hold the lock
//   or wait. They arrive at the rate (n - k) / a, and with k others waiting the lock is passed on
//   at the rate 1 / (s + c k / 2), since the line of the ticket serves one waiter after another, in
//   any order, and the next holder is on average in the middle.
// CLH: V. Aksenov, D. Alistarh, P. Kuznetsov, "Performance prediction for coarse-grained locking"
//   (PODC 2018). MCS: V. Aksenov, D. Bolotov, P. Kuznetsov, the same, "MCS case" (2021). Each core
//   does a step in each unit of time, work takes no more and no less than it should, and an access
//   to a line costs what its MESI state says. So the lock is either always held, and what counts is
//   the time from one entry to the next, or nobody ever waits, and each core has its own cycle.
#pragma once

#include <algorithm>
#include <vector>

namespace lockswap::predict::closed {

// What an access costs.
struct Accesses {
  double here;      // the core has the line
  double transfer;  // another core has it
  double update;    // of an atomic update, beside the access
  double serve;     // between two copies of the same line
};

struct Work {
  double inside, outside;  // of a core, in each round
};

inline double ticket(int n, const Accesses& cost, const Work& work) {
  // The release takes the line from its readers, the first of them from the releaser, and all
  // others from that one.
  const double s = work.inside + 3 * cost.transfer;
  const double a = work.outside + cost.transfer + cost.update + cost.here;
  std::vector<double> p{1};
  const auto pace = [&](int others) { return 1 / (s + cost.serve * others / 2); };
  for (int k = 0; k < n; ++k)
    p.push_back(p.back() * (n - k) / a / pace(k));
  double sum = 0, done = 0;
  for (int k = 0; k <= n; ++k) {
    sum += p[static_cast<std::size_t>(k)];
    if (k > 0) done += p[static_cast<std::size_t>(k)] * pace(k - 1);
  }
  return done / sum;
}

// A release writes the node that the next holder polls, and that one reads it. A core that finds
// the lock free writes its node, which it has from another core, swaps, and reads the node before.
inline double clh(int n, const Accesses& cost, const Work& work) {
  const double held = work.inside + 2 * cost.transfer;
  const double alone = work.outside + work.inside + 3 * cost.transfer + cost.update + cost.here;
  return std::min(1 / held, n / alone);
}

// A release reads its own node, to which the next holder has linked itself, writes that one's, and
// that one reads it. A core that finds the lock free has its node, swaps, looks for a next one, and
// takes its node out.
inline double mcs(int n, const Accesses& cost, const Work& work) {
  const double held = work.inside + cost.here + 2 * cost.transfer;
  const double alone = work.outside + work.inside + cost.transfer + 3 * cost.here + 2 * cost.update;
  return std::min(1 / held, n / alone);
}

}  // namespace lockswap::predict::closed
