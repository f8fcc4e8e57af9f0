// One set under load, behind an interface: what rlubench runs in turns.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/crew.h"

namespace bench {

struct Setup {
  Plan plan;  // its seconds are those of a round
  double updates = 0.2;
  int items = 1000;  // at first; there are twice as many keys
  int buckets = 1;
  bool both_ways = true;  // half of the searches go backwards, in a set that can
  int resized = 0;        // a thread resizes the table to so many buckets and back; 0: none does
};

struct Round {
  Phase phase;
  double cpu_seconds = 0;  // of the whole process, until all was done that was put off
  double seconds = 0;
  std::uint64_t resizes = 0;
};

// The time of a round: of phase(), and the processor time also of put_off(), which does what it has
// put off.
template <class F, class G>
Round timed_round(F phase, G put_off) {
  Round r;
  const double began = seconds_of(CLOCK_MONOTONIC);
  const double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  phase(r);
  r.seconds = seconds_of(CLOCK_MONOTONIC) - began;
  put_off();
  r.cpu_seconds = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  return r;
}

// What is compared. Each call of run has another number, for its random numbers.
class Contestant {
 public:
  Contestant() = default;
  Contestant(const Contestant&) = delete;
  Contestant& operator=(const Contestant&) = delete;
  virtual ~Contestant() = default;
  virtual Round run(unsigned number) = 0;
  // Ends the program if there is not what the operations made.
  virtual void check() = 0;
};

struct Entrant {
  std::string name;
  std::unique_ptr<Contestant> (*make)(const Setup& setup);
  bool is_deferred = false;  // under Read-Log-Update, with deferral
};
using Contest = std::vector<Entrant>;

Contest list_contest();
Contest hash_contest();
Contest double_list_contest();
Contest resizable_contest();
Contest citrus_contest();

}  // namespace bench
