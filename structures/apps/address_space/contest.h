// The threads of `address_space`, on the engine with one design.
#pragma once

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "address_space/attempts.h"
#include "address_space/native.h"
#include "address_space/options.h"
#include "address_space/own.h"
#include "address_space/program.h"
#include "address_space/sightings.h"
#include "address_space/space.h"
#include "common/random.h"
#include "common/report.h"
#include "common/used.h"

namespace bench {

template <class Engine>
class alignas(128) SpaceWorker {
  using Hand = typename Engine::Hand;
  using File = lockswap::address_space::File<typename Engine::Machine>;

 public:
  std::uint64_t reads = 0;   // faults
  std::uint64_t writes = 0;  // operations

  SpaceWorker(Engine& space, Hand& hand, const Work& work, int number)
      : space_(&space),
        hand_(&hand),
        program_(program_of(work, number)),
        file_(std::make_unique<File>(kFileFirst)) {}

  void warm_up() { since_ = 0; }
  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>& stop) {
    if (since_ == 0) since_ = ticks();  // no time of the phase is missing in busy()
    steps_.clear();
    program_->next(steps_);
    ++calls_;
    for (const Step& s : steps_)
      take(watch, stop, s, calls_);
  }
  std::uint64_t refused() const { return refused_; }
  // How many times work() was called: from that the steps follow.
  std::uint64_t calls() const { return calls_; }
  const std::vector<Sighting>& seen() const { return seen_.all(); }
  const Hand& hand() const { return *hand_; }
  Hand& hand() { return *hand_; }
  const File* file() const { return file_.get(); }
  std::uint64_t busy() const { return busy_; }

 private:
  template <class Watch>
  void take(Watch& watch, const std::atomic<bool>& stop, const Step& s, std::uint64_t value) {
    switch (s.kind) {
      case Step::write:
        for (std::uint64_t p = s.start; p < s.end; ++p)
          watch.read([&] { refused_ += space_->write(*hand_, p, value) ? 0 : 1; });
        reads += s.end - s.start;
        return;
      case Step::read:
        look(watch, s, refused_, [](std::uint64_t, std::uint64_t) {});
        return;
      case Step::visit:
        look(watch, s, absent_,
             [this](std::uint64_t page, std::uint64_t v) { seen_.note(page, v); });
        return;
      case Step::rest:
        rest(stop, s.share);
        return;
      default:
        watch.write([&] { change(s); });
        ++writes;
    }
  }
  template <class Watch, class Note>
  void look(Watch& watch, const Step& s, std::uint64_t& refused, Note note) {
    for (std::uint64_t p = s.start; p < s.end; ++p) {
      std::uint64_t value = 0;
      watch.read([&] { refused += space_->read(*hand_, p, value) ? 0 : 1; });
      keep(value);
      note(p, value);
    }
    reads += s.end - s.start;
  }
  void change(const Step& s) {
    switch (s.kind) {
      case Step::map:
        space_->map(*hand_, {.start = s.start,
                             .end = s.end,
                             .protection = s.protection,
                             .file = s.file < 0 ? nullptr : file_.get(),
                             .base = s.base,
                             .stack = s.stack});
        return;
      case Step::unmap:
        space_->unmap(*hand_, s.start, s.end);
        return;
      case Step::protect:
        refused_ += space_->protect(*hand_, s.start, s.end, s.protection) ? 0 : 1;
        return;
      case Step::discard:
        space_->discard(*hand_, s.start, s.end);
        return;
      default:
        refused_ += space_->move_brk(*hand_, s.end) ? 0 : 1;
    }
  }
  // The time since the last rest, however it went by, is `share` of the time until this one ends.
  void rest(const std::atomic<bool>& stop, double share) {
    const std::uint64_t now = ticks();
    if (share <= 0) {
      usleep(500);
      return;
    }
    const std::uint64_t worked = now - since_;
    busy_ += worked;
    const auto pause = static_cast<std::uint64_t>(static_cast<double>(worked) * (1 / share - 1));
    while (ticks() - now < pause && !stop.load(std::memory_order_relaxed))
      asm volatile("" ::: "memory");
    since_ = ticks();
  }

  Engine* space_;
  Hand* hand_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<File> file_;
  Steps steps_;
  std::uint64_t calls_ = 0;
  std::uint64_t refused_ = 0;  // of what is the thread's own
  std::uint64_t absent_ = 0;   // of others' pages: as it happens
  Sightings seen_;             // there
  std::uint64_t since_ = 0, busy_ = 0;
};

// The thread's own regions, and what is in their pages, beside what its steps make of them; and
// what other threads have seen there, which it must have written at some time.
template <class Engine>
Own checked(Engine& space, SpaceWorker<Engine>& worker, const Work& work, int number,
            const std::vector<Sighting>& by_others) {
  const std::string who = "thread " + std::to_string(number);
  if (worker.refused() != 0)
    wrong_result(who + ": " + std::to_string(worker.refused()) +
                 " accesses or operations were refused, in pages of its own");
  Own own(tables_of(0));
  const auto program = program_of(work, number);
  Steps steps;
  Seen seen(by_others);
  for (std::uint64_t call = 1; call <= worker.calls(); ++call) {
    steps.clear();
    program->next(steps);
    if (!seen.is_by(steps, call)) break;
    for (const Step& s : steps)
      own.apply(s, call);
  }
  if (const Sighting* wrong = seen.left(); wrong != nullptr)
    wrong_result(who + ": another thread has read " + std::to_string(wrong->value) + " in page " +
                 std::to_string(wrong->page) + ", which was never written there");
  std::map<std::uint64_t, Own::Run> found;
  for (const auto& e : space.regions()) {
    if (e.start < arena_of(number) || e.start >= arena_of(number + 1)) continue;
    if (e.shared || (e.file != nullptr && e.file != worker.file()))
      wrong_result(who + ": a region is shared, or has another thread's file");
    found.emplace(e.start,
                  Own::Run{e.end, e.protection, e.file == nullptr ? -1 : 0, false, e.base});
  }
  if (found != own.runs()) wrong_result(who + ": its regions are not what its steps make");
  for (const auto& [start, run] : found) {
    for (std::uint64_t p = start; p < run.end && run.protection != 0; ++p) {
      std::uint64_t value = 0;
      if (!space.read(worker.hand(), p, value) || value != own.value(p))
        wrong_result(who + ": page " + std::to_string(p) + " has " + std::to_string(value) +
                     ", and should have " + std::to_string(own.value(p)));
    }
  }
  return own;
}

// Prints the processor time and the time of a fault, over threads that do almost nothing else.
template <class Worker>
void print_faults(const Phase& phase, const std::vector<Worker>& workers) {
  double cpu = 0;
  double seconds = 0;
  double faults = 0;
  for (const Share& s : phase) {
    if (s.reads == 0 || s.writes > s.reads / 1000) continue;
    cpu += s.cpu_seconds;
    seconds += s.seconds;
    faults += static_cast<double>(s.reads);
  }
  print_faults_cpu(phase);
  if (faults > 0)
    std::printf("fault_ns %.1f fault_cpu_ns %.1f\n", seconds * 1e9 / faults, cpu * 1e9 / faults);
  if (workers[0].busy() != 0) {
    std::printf("mapping %.4f\n",
                static_cast<double>(workers[0].busy()) * ns_per_tick() / 1e9 / phase[0].seconds);
  }
}

// A space with its threads.
template <class Engine>
class Contest {
 public:
  Contest(const Work& work, const SpaceOptions& options) : work_(work) {
    space_->begin_heap(tables_of(0));
    set_up(*space_, options);
    for (int i = 0; i < work.threads; ++i)
      workers_.emplace_back(*space_, hands_.emplace_back(space_->sync()), work, i);
  }
  std::vector<SpaceWorker<Engine>>& workers() { return workers_; }
  // When no thread works any more. Ends the program if something is wrong.
  AttemptSums check() {
    // By the thread whose page it was.
    std::vector<std::vector<Sighting>> seen(workers_.size());
    for (const auto& worker : workers_) {
      for (const Sighting& s : worker.seen())
        seen[s.page / kArenaPages - 1].push_back(s);
    }
    std::vector<Own> owns;
    for (int i = 0; i < work_.threads; ++i)
      owns.push_back(checked(*space_, workers_[static_cast<std::size_t>(i)], work_, i,
                             seen[static_cast<std::size_t>(i)]));
    if (space_->strays() != 0) wrong_result("there is an entry where no region is");
    AttemptSums attempts;
    if constexpr (requires { hands_[0].attempts; }) {
      for (const auto& hand : hands_)
        attempts.add(hand.attempts);
      std::vector<const Own*> each;
      for (const Own& own : owns)
        each.push_back(&own);
      attempts.check(each, 1);
    }
    return attempts;
  }

 private:
  const Work& work_;
  std::unique_ptr<Engine> space_ = std::make_unique<Engine>();
  std::deque<typename Engine::Hand> hands_;
  std::vector<SpaceWorker<Engine>> workers_;
};

// It is the engine's time: there is no kernel in it, so "system" is what the machine spends on
// locks that sleep.
inline void print_shares(const Spent& spent, int threads) {
  const Shares of_all = spent.shares(std::min(threads, processors()));
  std::printf("user %.4f system %.4f idle %.4f\n", of_all.user, of_all.system, of_all.idle);
}

template <template <class> class Design, class M = lockswap::address_space::NativeMachine>
void run(const Plan& plan, const Work& work, const SpaceOptions& options) {
  Contest<lockswap::address_space::Space<M, Design>> contest(work, options);
  auto& workers = contest.workers();
  const Used used;
  const Phase rates = run_phase(plan, workers, false, plan.seconds);
  print_shares(used.until_now(), plan.threads);
  print_rates(rates);
  print_live(rates);
  print_faults(rates, workers);
  if (plan.tail_seconds > 0)
    print_tails(run_phase(plan, workers, true, plan.tail_seconds), "fault", "change");
  contest.check().print();
}

}  // namespace bench
