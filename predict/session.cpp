#include "predict/session.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#include <utility>

#include "predict/input.h"
#include "predict/replay_session.h"
#include "predict/workload.h"

namespace lockswap::predict {

namespace {

class Reader {
 public:
  Reader(NamedLocks locks, AllOperated operated)
      : locks_(std::move(locks)), operated_(std::move(operated)) {}
  void read_all() {
    std::string w;
    while (std::cin >> w)
      read(w);
  }

 private:
  void read(const std::string& w) {
    if (w == "places") {
      read_places();
    } else if (w == "transfer") {
      costs_.transfer.resize(static_cast<std::size_t>(number()));
      for (double& ns : costs_.transfer)
        ns = number();
    } else if (w == "cost") {
      read_cost();
    } else if (w == "arbitration") {
      costs_.arbitration = arbitration(word());
    } else if (w == "full") {
      costs_.is_full = number() != 0;
    } else if (w == "seed") {
      costs_.seed = static_cast<std::uint64_t>(number());
    } else if (w == "run") {
      run_one();
    } else if (w == "list") {
      list();
    } else if (!replay_.reads(w, costs_, locks_)) {
      read_workload(w);
    }
  }
  void list() const {
    for (const NamedLock& l : locks_) {
      if (!l.parks) std::printf("%s %s\n", l.kind.c_str(), l.name.c_str());
    }
    for (const NamedOperated& o : operated_)
      std::printf("%s %s\n", o.kind.c_str(), o.name.c_str());
  }
  void read_places() {
    costs_.place.resize(static_cast<std::size_t>(number()));
    for (cost::Place& p : costs_.place) {
      p.core = static_cast<int>(number());
      p.node = static_cast<int>(number());
    }
  }
  void read_cost() {
    const std::map<std::string, double*> all = {
        {"hit", &costs_.hit},          {"update", &costs_.update},
        {"memory", &costs_.memory},    {"stream", &costs_.stream},
        {"step", &costs_.step},        {"fence", &costs_.fence},
        {"barrier", &costs_.barrier},  {"pause", &costs_.pause},
        {"clock", &costs_.clock},      {"shared_core", &costs_.shared_core},
        {"park", &costs_.park},        {"unpark", &costs_.unpark},
        {"wake", &costs_.wake},        {"serve", &costs_.serve},
        {"reach", &costs_.reach},      {"queued", &costs_.queued},
        {"jitter", &costs_.jitter},    {"noise", &costs_.noise},
        {"slice", &costs_.slice},      {"switch", &costs_.switching},
        {"preempts", &costs_.preempts}};
    const std::string name = word();
    const auto found = all.find(name);
    if (name == "pauses") {
      costs_.pauses = static_cast<std::uint32_t>(number());
    } else if (found == all.end()) {
      fail("there is no cost '" + name + "'");
    } else {
      *found->second = number();
    }
  }
  static cost::Arbitration arbitration(const std::string& name) {
    if (name == "first_come") return cost::Arbitration::first_come;
    if (name == "nearest") return cost::Arbitration::nearest;
    if (name == "random") return cost::Arbitration::random;
    fail("there is no arbitration '" + name + "'");
  }
  static Ranges ranges(const std::string& name) {
    if (name == "full") return Ranges::full;
    if (name == "disjoint") return Ranges::disjoint;
    if (name == "random") return Ranges::random;
    fail("there are no ranges '" + name + "'");
  }
  void read_workload(const std::string& w) {
    if (w == "writes") {
      workload_.write_share = number();
    } else if (w == "inside") {
      workload_.inside = number();
    } else if (w == "outside") {
      workload_.outside = number();
    } else if (w == "varies") {
      workload_.varies = number() != 0;
    } else if (w == "lines") {
      workload_.lines = static_cast<int>(number());
    } else if (w == "ring") {
      workload_.ring = number() != 0;
    } else if (w == "locks") {
      workload_.locks = static_cast<int>(number());
    } else if (w == "own") {
      workload_.own = number() != 0;
    } else if (w == "program") {
      workload_.program = word();
      workload_.memory = word();
      workload_.mapping = number();
    } else if (w == "set") {
      workload_.items = static_cast<int>(number());
      workload_.buckets = static_cast<int>(number());
    } else if (w == "ranges") {
      workload_.ranges = ranges(word());
    } else if (w == "writers") {
      workload_.writers = static_cast<int>(number());
      workload_.outside_of_writers = number();
    } else {
      fail("'" + w + "' is not known here");
    }
  }
  void run_one() {
    const std::string name = word(), kind = word(), how = word();
    const int threads = static_cast<int>(number());
    const double ns = number();
    check_machine(costs_, static_cast<std::size_t>(std::max(threads, 0)));
    for (const NamedLock& l : locks_) {
      if (l.name != name || l.kind != kind || l.parks != (how == "sleep")) continue;
      print(predict::run(costs_, l, workload_, threads, ns));
      return;
    }
    for (const NamedOperated& o : operated_) {
      if (o.name != name || o.kind != kind || how != "poll") continue;
      print(predict::run(costs_, *o.make(), workload_, threads, ns));
      return;
    }
    fail("there is no " + kind + " '" + name + "'");
  }
  static void print(const Outcome& o) {
    std::printf(
        "{\"reads\":%llu,\"writes\":%llu,\"ns\":%.0f,\"least\":%llu,\"most\":%llu,"
        "\"deviation\":%.4g,\"node\":%llu,"
        "\"remote\":%llu,"
        "\"memory\":%llu,\"hits\":%llu,\"sleeps\":%llu}\n",
        n(o.reads), n(o.writes), o.ns, n(o.least), n(o.most), o.deviation, n(o.counts.transfers[0]),
        n(o.counts.transfers[1]), n(o.counts.transfers[2]), n(o.counts.hits), n(o.counts.sleeps));
  }
  static unsigned long long n(std::uint64_t v) { return v; }

  cost::Costs costs_;
  Workload workload_;
  ReplaySession replay_;
  NamedLocks locks_;
  AllOperated operated_;
};

}  // namespace

void serve(NamedLocks locks, AllOperated operated) {
  Reader(std::move(locks), std::move(operated)).read_all();
}

}  // namespace lockswap::predict
