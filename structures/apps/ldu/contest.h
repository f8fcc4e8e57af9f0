// Reverse maps under load, behind an interface: what ldubench runs in turns.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/crew.h"
#include "common/used.h"
#include "ldu/locks.h"
#include "ldu/process_trace.h"

namespace bench {

enum class Mix : std::uint8_t { aim7, exim, lmbench, exec, shell, trace, pair, batch };

struct MapSetup {
  Plan plan;  // its seconds are those of a round
  Mix mix = Mix::aim7;
  double reads = 0.01;
  int objects = 1000;  // batch: so many inserts before a read
  const ProcessTrace* trace = nullptr;
  bool memory = false;  // each process has an address space
  int users = 8;        // aim7: processes of a thread at the same time, at most
  int work = 0;         // aim7, exim: units of other work at each step
  int spool = 0;        // exim: directories of the spool
};

struct MapRound {
  Phase phase;
  Spent spent;
  std::uint64_t taken = 0;             // pages that walks took from processes
  ByLockClass<double> wait_seconds{};  // in a round that looks at it
};

class MapContestant {
 public:
  MapContestant() = default;
  MapContestant(const MapContestant&) = delete;
  MapContestant& operator=(const MapContestant&) = delete;
  virtual ~MapContestant() = default;
  virtual MapRound run(unsigned number, bool waits) = 0;
  // Ends the program if there is not what the operations made.
  virtual void check() = 0;
  // Updates that took another one back, of all; below 0: it has no such thing.
  virtual double absorbed() = 0;
};

struct MapEntrant {
  std::string name;
  std::unique_ptr<MapContestant> (*make)(const MapSetup& setup);
};
std::vector<MapEntrant> map_contest();
// When all contestants were checked: ends the program if one has not freed a mapping.
void check_all_gone();

}  // namespace bench
