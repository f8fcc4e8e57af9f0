#include "address_space/attempts.h"

#include <cinttypes>
#include <cstdio>
#include <string>

#include "common/report.h"

namespace bench {
namespace {

using lockswap::address_space::Attempts;
using lockswap::address_space::Change;

constexpr struct {
  Change change;
  Step::Kind step;
  const char* name;
} kKinds[] = {{Change::map, Step::map, "maps"},
              {Change::unmap, Step::unmap, "unmaps"},
              {Change::protect, Step::protect, "protects"},
              {Change::discard, Step::discard, "discards"},
              {Change::brk, Step::brk, "brks"}};

void print_counts(const char* name, const Attempts::Count& c) {
  const std::uint64_t all = c.speculated + c.structural + c.spread;
  if (all == 0) return;  // never tried, or none
  std::printf("%s %" PRIu64 " %s_speculated %" PRIu64 " %s_structural %" PRIu64
              " %s_spread %" PRIu64 " %s_restarts %" PRIu64 " %s_share %.5f\n",
              name, all, name, c.speculated, name, c.structural, name, c.spread, name, c.restarts,
              name, static_cast<double>(c.speculated) / static_cast<double>(all));
}

}  // namespace

void AttemptSums::add(const Attempts& attempts) {
  for (std::size_t i = 0; i < sum_.counts.size(); ++i) {
    sum_.counts[i].speculated += attempts.counts[i].speculated;
    sum_.counts[i].structural += attempts.counts[i].structural;
    sum_.counts[i].spread += attempts.counts[i].spread;
    sum_.counts[i].restarts += attempts.counts[i].restarts;
  }
}

void AttemptSums::check(const std::vector<const Own*>& owns, std::uint64_t times) {
  for (const auto& kind : kKinds) {
    const Attempts::Count& sum = sum_[kind.change];
    Own::Kinds want;
    for (const Own* own : owns) {
      const Own::Kinds& k = own->kinds(kind.step);
      want.all += k.all * times;
      want.structural += k.structural * times;
      want.spread += k.spread * times;
      want.split += k.split * times;
      for (std::size_t i = 0; i < kParts; ++i)
        want.parts[i] += k.parts[i] * times;
    }
    if (sum.speculated + sum.structural + sum.spread == 0) continue;  // never tried, or none
    const std::uint64_t structural = sum.spread == 0 ? want.structural : want.split;
    if (sum.speculated + sum.structural + sum.spread != want.all || sum.structural != structural ||
        (sum.spread != 0 && sum.spread != want.spread))
      wrong_result(std::string(kind.name) + ": " + std::to_string(sum.structural) +
                   " were structural, and should be " + std::to_string(structural));
    if (kind.change == Change::protect) parts_ = want.parts;
    // The design has counted them as spread: it did not look further.
    if (sum.spread != 0) parts_[static_cast<std::size_t>(Part::several)] = 0;
  }
}

void AttemptSums::print() const {
  for (const auto& kind : kKinds)
    print_counts(kind.name, sum_[kind.change]);
  if (sum_[Change::protect].structural == 0) return;
  static constexpr const char* kNames[kParts] = {"loaded", "top",   "bottom",
                                                 "joined", "other", "several"};
  for (std::size_t i = 0; i < kParts; ++i)
    std::printf("%sprotects_structural_%s %" PRIu64, i == 0 ? "" : " ", kNames[i], parts_[i]);
  std::printf("\n");
}

void print_faults_cpu(const Phase& phase) {
  double cpu = 0;
  double faults = 0;
  double changes = 0;
  for (const Share& s : phase) {
    cpu += s.cpu_seconds;
    faults += static_cast<double>(s.reads);
    changes += static_cast<double>(s.writes);
  }
  std::printf("faults_cpu %.0f changes_cpu %.0f\n", faults / cpu, changes / cpu);
}

}  // namespace bench
