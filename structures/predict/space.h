// Address spaces on the modelled machine: the engine and its designs (src/address_space), with
// threads that do what those of apps/address_space do.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "address_space/program.h"
#include "address_space/space.h"
#include "machine.h"
#include "predict/operated.h"
#include "predict/workload.h"

namespace lockswap::predict {

// An operation is a fault, which counts as a read, or a call that changes mappings.
template <template <class> class Design>
class ModelledSpace final : public Operated {
  using Engine = address_space::Space<StructureMachine, Design>;
  using Hand = typename Engine::Hand;
  using File = address_space::File<StructureMachine>;

 public:
  void begin(const Workload& workload, int threads) override {
    work_ = {.workload = workload.program,
             .memory = workload.memory,
             .threads = threads,
             .pages = kPages,
             .mapping = workload.mapping};
    space_ = new (cost::zeroed(sizeof(Engine))) Engine;
    space_->begin_heap(bench::tables_of(0));
    for (int i = 0; i < threads; ++i)
      threads_.emplace_back(*space_, bench::program_of(work_, i));
    fault_ns_ = workload.inside;
    if (work_.workload == "isolated") return;  // its threads do the same from the beginning
    std::uniform_int_distribution<int> any(kBegun, kBegun + kRound);
    for (Thread& t : threads_) {
      for (int n = any(cost::machine.random()); n > 0; --n)
        operate_as(t);
    }
  }
  Did operate(int thread) override {
    return operate_as(threads_[static_cast<std::size_t>(thread)]);
  }

 private:
  static constexpr std::uint64_t kPages = 1024;
  // Each thread begins anywhere in a round of its program, as if the run had begun long ago. Before
  // that it has mapped its memory and written each page. The longest round is that of wrmem: it
  // writes 1,024 pages, and reads 8 of them at a time with 8 other faults.
  static constexpr int kBegun = 1100, kRound = 3072;
  struct Thread {
    Thread(Engine& space, std::unique_ptr<bench::Program> its)
        : program(std::move(its)),
          hand(*new (cost::zeroed(sizeof(Hand))) Hand(space.sync())),
          file(new (cost::zeroed(sizeof(File))) File(1)) {}
    std::unique_ptr<bench::Program> program;
    Hand& hand;  // never ended, as the space
    File* file;
    bench::Steps steps;
    std::size_t next = 0;
    std::uint64_t page = 0;  // of that step
    double since = 0;        // the last rest
  };

  Did operate_as(Thread& t) {
    for (;;) {
      if (t.next == t.steps.size()) {
        t.steps.clear();
        t.next = 0;
        t.program->next(t.steps);
        continue;
      }
      const bench::Step& s = t.steps[t.next];
      if (s.kind == bench::Step::rest) {
        ++t.next;
        if (!rest(t, s.share)) return Did::over;
        continue;
      }
      if (!is_fault(s)) {
        ++t.next;
        change(t, s);
        return Did::write;
      }
      if (s.start + t.page == s.end) {
        ++t.next;
        t.page = 0;
        continue;
      }
      fault(t, s, s.start + t.page++);
      return Did::read;
    }
  }

  static bool is_fault(const bench::Step& s) {
    return s.kind == bench::Step::write || s.kind == bench::Step::read ||
           s.kind == bench::Step::visit;
  }
  void fault(Thread& t, const bench::Step& s, std::uint64_t page) {
    std::uint64_t value = 0;
    if (s.kind == bench::Step::write) {
      space_->write(t.hand, page, 1);
    } else {
      space_->read(t.hand, page, value);
    }
    if (fault_ns_ > 0) cost::machine.work(fault_ns_);
  }
  void change(Thread& t, const bench::Step& s) {
    switch (s.kind) {
      case bench::Step::map:
        space_->map(t.hand, {.start = s.start,
                             .end = s.end,
                             .protection = s.protection,
                             .file = s.file < 0 ? nullptr : t.file,
                             .base = s.base});
        return;
      case bench::Step::unmap:
        space_->unmap(t.hand, s.start, s.end);
        return;
      case bench::Step::protect:
        space_->protect(t.hand, s.start, s.end, s.protection);
        return;
      case bench::Step::discard:
        space_->discard(t.hand, s.start, s.end);
        return;
      default:
        space_->move_brk(t.hand, s.end);
    }
  }
  // The time since the last rest is `share` of that until this one ends. Returns false if the run
  // is over.
  static bool rest(Thread& t, double share) {
    constexpr double kLong = 500'000;
    const double now = cost::machine.now();
    cost::machine.spend(share <= 0 ? kLong : (now - t.since) * (1 / share - 1));
    t.since = cost::machine.now();
    return cost::machine.goes_on();
  }

  bench::Work work_;
  double fault_ns_ = 0;      // what a fault takes beside its accesses to the space
  Engine* space_ = nullptr;  // it is never ended: its memory goes with the run
  std::deque<Thread> threads_;
};

}  // namespace lockswap::predict
