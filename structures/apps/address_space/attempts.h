// How the tries without the whole lock went, beside what a sequential replay counts.
#pragma once

#include <vector>

#include "address_space/change.h"
#include "address_space/own.h"
#include "common/crew.h"

namespace bench {

class AttemptSums {
 public:
  void add(const lockswap::address_space::Attempts& attempts);
  // The steps of `owns`, so many times: ends the program with status 1 if other operations were
  // structural, or spread, than those of a sequential replay.
  void check(const std::vector<const Own*>& owns, std::uint64_t times);
  // The lines of KINDs; after check, also where the structural ones are, of protect.
  void print() const;

 private:
  lockswap::address_space::Attempts sum_;
  Parts parts_{};
};

// faults_cpu, changes_cpu: faults, and operations, a CPU-second of all threads.
void print_faults_cpu(const Phase& phase);

}  // namespace bench
