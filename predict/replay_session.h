// The replay commands of a session (session.h).
//
//   record FILE                   reads the record of a program's lock calls
//   window I OF CALLS             chooses the part I of OF, each of CALLS acquisitions
//   pace FACTOR                   how long work takes, compared with the machine of the record
//   describe                      what the threads do in the window
//   replay RWLOCK MUTEX           replays it with these locks, whose waiters poll, then sleep
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "calls/reading.h"
#include "predict/plan.h"

namespace lockswap::predict {

class ReplaySession {
 public:
  // Returns false if the word is not one of these commands.
  bool reads(const std::string& word, const cost::Costs& costs, const NamedLocks& locks);

 private:
  void read_record();
  void read_window();
  const Plan& plan();
  void describe();
  void replay(const cost::Costs& costs, const NamedLocks& locks);

  std::optional<calls::RecordedCalls> recorded_;
  std::optional<Planner> planner_;
  Window window_;
  double pace_ = 1;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, Plan> plans_;  // by window
};

}  // namespace lockswap::predict
