// What a program of the cost model reads from stdin: what to run, a word and its values a line. It
// prints a line of JSON for each `run`. `lockswap predict` knows machines, draws and statistics.
//
//   places N   core node ...      hardware threads, in the order in which threads get them
//   transfer N ns ...             from core 0 to each, from core 1 ...
//   cost NAME ns                  as in cost/machine.h
//   arbitration first_come|nearest|random
//   writes SHARE, inside NS, outside NS, varies 0|1, lines N, ring 0|1, locks N, own 0|1
//   writers N NS                  how many threads do nothing but write, and their work outside
//   ranges full|disjoint|random   of a range lock's array
//   set ITEMS BUCKETS             how many items a set has at first, and in how many lists
//   program NAME MEMORY SHARE     of an address space's threads; or NAME: of reverse maps
//   full 0|1                      whether other threads are on the hardware threads that are left
//   seed N
//   run LOCK rwlock|mutex|range|design|set|map|raw poll|sleep THREADS NS
//   list                          the names of the locks
// The words of replays are in replay_session.h.
#pragma once

#include "predict/lock.h"
#include "predict/operated.h"

namespace lockswap::predict {

// Exits with status 2 and a line on stderr if the input is wrong.
void serve(NamedLocks locks, AllOperated operated = {});

}  // namespace lockswap::predict
