// The threads of a trace, on the engine with one design: again and again, each time in a new space.
#pragma once

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <deque>
#include <latch>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include "address_space/attempts.h"
#include "address_space/native.h"
#include "address_space/options.h"
#include "address_space/space.h"
#include "address_space/trace.h"
#include "common/report.h"

namespace bench {

// What a thread did in one round, or in all.
struct Traced {
  std::uint64_t reads = 0, writes = 0, refused = 0, unlike = 0;
  std::uint64_t ordered = 0;        // steps that waited for another thread's
  std::uint64_t ordered_ticks = 0;  // how long
  double cpu_seconds = 0;
  std::uint64_t unlike_page = 0, unlike_value = 0;
};

// One replay in one space.
template <class Engine>
class Round {
  using Hand = typename Engine::Hand;
  using File = lockswap::address_space::File<typename Engine::Machine>;

 public:
  explicit Round(const Trace& trace, const SpaceOptions& options = {})
      : trace_(trace), first_(space_.sync()), done_(trace.threads.size()) {
    space_.begin_heap(trace.heap);
    set_up(space_, options);
    for (int i = 0; i < trace.files; ++i)
      files_.push_back(std::make_unique<File>(kFileFirst));
    for (const Step& s : trace.there)
      space_.map(first_, {.start = s.start, .end = s.end, .protection = s.protection});
    for (std::size_t i = 0; i < trace.threads.size(); ++i)
      hands_.emplace_back(space_.sync());
  }
  Engine& space() { return space_; }
  std::vector<Hand*> hands() {
    std::vector<Hand*> all;
    for (Hand& h : hands_)
      all.push_back(&h);
    return all;
  }

  // All of the thread's steps. It waits for others' where the trace says so.
  template <class Watch>
  void replay(std::uint32_t thread, Watch& watch, Traced& traced) {
    Hand& hand = hands_[thread];
    std::atomic<std::uint64_t>& done = done_[thread].steps;
    std::uint64_t count = 0;
    for (const TracedStep& s : trace_.threads[thread]) {
      wait_for(s, traced);
      take(hand, s, watch, traced);
      // release: pairs with wait_for; what a step did comes before what waits for it.
      done.store(++count, std::memory_order_release);
    }
  }

  // When all threads are through. Ends the program if the space is not what the steps make.
  void check(const std::vector<Traced>& threads) {
    for (std::size_t i = 0; i < threads.size(); ++i) {
      const std::string who = "thread " + std::to_string(i);
      if (threads[i].refused != 0)
        wrong_result(who + ": " + std::to_string(threads[i].refused) +
                     " accesses or operations were refused");
      if (threads[i].unlike != 0)
        wrong_result(who + ": page " + std::to_string(threads[i].unlike_page) + " had " +
                     std::to_string(threads[i].unlike_value) + ", which nobody can have written");
    }
    check_regions();
    check_pages();
    if (space_.strays() != 0) wrong_result("there is an entry where no region is");
  }

 private:
  struct alignas(128) Progress {
    std::atomic<std::uint64_t> steps{0};
  };
  static constexpr int kLooks = 100;     // before the processor is given to others
  static constexpr int kYields = 10000;  // before the thread sleeps

  void wait_for(const TracedStep& s, Traced& traced) {
    std::uint64_t since = 0;
    for (const Wait& w : s.waits) {
      // acquire: pairs with replay.
      for (int looks = 0; done_[w.thread].steps.load(std::memory_order_acquire) < w.steps;) {
        if (since == 0) since = ticks();
        ++looks;
        if (looks > kYields) {
          usleep(100);
        } else if (looks > kLooks) {
          sched_yield();
        }
      }
    }
    if (since == 0) return;
    ++traced.ordered;
    traced.ordered_ticks += ticks() - since;
  }
  template <class Watch>
  void take(Hand& hand, const TracedStep& s, Watch& watch, Traced& traced) {
    const std::uint64_t page = s.step.start;
    if (s.step.kind == Step::write) {
      ++traced.reads;
      watch.read([&] { traced.refused += space_.write(hand, page, s.value) ? 0 : 1; });
    } else if (s.step.kind == Step::read) {
      ++traced.reads;
      std::uint64_t value = 0;
      watch.read([&] { traced.refused += space_.read(hand, page, value) ? 0 : 1; });
      if (is_possible(s, value)) return;
      ++traced.unlike;
      traced.unlike_page = page;
      traced.unlike_value = value;
    } else {
      ++traced.writes;
      watch.write([&] { traced.refused += change(hand, s.step) ? 0 : 1; });
    }
  }
  bool is_possible(const TracedStep& s, std::uint64_t value) const {
    const int file = s.step.file;
    if (file >= 0 && trace_.is_shared[static_cast<std::size_t>(file)]) return true;
    if (value == (file < 0 ? 0 : kFileFirst + s.step.start - s.step.base)) return true;
    return s.oldest <= value && value <= s.value && value % kStamp == 0;
  }
  bool change(Hand& hand, const Step& s) {
    switch (s.kind) {
      case Step::map:
        space_.map(hand,
                   {.start = s.start,
                    .end = s.end,
                    .protection = s.protection,
                    .shared = s.shared,
                    .file = s.file < 0 ? nullptr : files_[static_cast<std::size_t>(s.file)].get(),
                    .base = s.base});
        return true;
      case Step::unmap:
        space_.unmap(hand, s.start, s.end);
        return true;
      case Step::protect:
        return space_.protect(hand, s.start, s.end, s.protection);
      case Step::discard:
        space_.discard(hand, s.start, s.end);
        return true;
      case Step::brk:
        return space_.move_brk(hand, s.end);
      default: {  // fork
        Engine child;
        space_.fork_to(hand, child);
        return true;
      }
    }
  }
  int number_of(const File* file) const {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (files_[i].get() == file) return static_cast<int>(i);
    }
    return -1;
  }
  void check_regions() {
    std::map<std::uint64_t, Own::Run> found;
    for (const auto& e : space_.regions())
      found.emplace(e.start, Own::Run{e.end, e.protection, number_of(e.file), e.shared, e.base});
    if (found != trace_.own.runs()) wrong_result("the regions are not what the trace's steps make");
  }
  void check_pages() {
    trace_.own.each_written([&](std::uint64_t page) {
      const Own::Run* run = trace_.own.at(page);
      if (run == nullptr || (run->protection & lockswap::address_space::kRead) == 0) return;
      if (run->file >= 0 && trace_.is_shared[static_cast<std::size_t>(run->file)]) return;
      std::uint64_t value = 0;
      if (!space_.read(first_, page, value) || value != trace_.own.value(page))
        wrong_result("page " + std::to_string(page) + " has " + std::to_string(value) +
                     ", and should have " + std::to_string(trace_.own.value(page)));
    });
  }

  const Trace& trace_;
  std::vector<std::unique_ptr<File>> files_;  // go after the space
  Engine space_;
  Hand first_;
  std::deque<Hand> hands_;
  std::vector<Progress> done_;
};

// Rounds for so many seconds: the shares of all threads, and what they found.
struct Replayed {
  Phase phase;
  std::uint64_t rounds = 0, ordered = 0;
  double ordered_seconds = 0;
  AttemptSums attempts;
};

template <class Engine, bool kTimed>
Replayed replay_for(const Trace& trace, double seconds, const SpaceOptions& options) {
  const std::size_t count = trace.threads.size();
  Replayed all;
  all.phase.resize(count);
  double spent = 0;
  do {
    Round<Engine> round(trace, options);
    std::vector<Traced> traced(count);
    std::latch start(static_cast<std::ptrdiff_t>(count) + 1);
    std::vector<std::thread> threads;
    const auto work = [&](std::size_t i) {
      Share& share = all.phase[i];
      start.arrive_and_wait();
      const double cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID);
      if constexpr (kTimed) {
        Timed watch{share.read_tail, share.write_tail};
        round.replay(static_cast<std::uint32_t>(i), watch, traced[i]);
      } else {
        Untimed watch;
        round.replay(static_cast<std::uint32_t>(i), watch, traced[i]);
      }
      share.cpu_seconds += seconds_of(CLOCK_THREAD_CPUTIME_ID) - cpu;
    };
    for (std::size_t i = 0; i < count; ++i) {
      try {
        threads.emplace_back(work, i);
      } catch (const std::system_error& error) {
        std::fprintf(stderr, "cannot start thread %zu: %s\n", i + 1, error.what());
        std::_Exit(1);  // those that did start wait for the others
      }
    }
    const double began = seconds_of(CLOCK_MONOTONIC);
    start.arrive_and_wait();
    for (std::thread& t : threads)
      t.join();
    const double took = seconds_of(CLOCK_MONOTONIC) - began;
    spent += took;
    ++all.rounds;
    for (std::size_t i = 0; i < count; ++i) {
      all.phase[i].reads += traced[i].reads;
      all.phase[i].writes += traced[i].writes;
      all.phase[i].seconds += took;
      all.ordered += traced[i].ordered;
      all.ordered_seconds += static_cast<double>(traced[i].ordered_ticks) * ns_per_tick() / 1e9 /
                             static_cast<double>(count);
    }
    round.check(traced);
    if constexpr (requires(typename Engine::Hand & h) { h.attempts; }) {
      for (auto* hand : round.hands())
        all.attempts.add(hand->attempts);
    }
  } while (spent < seconds);
  return all;
}

template <template <class> class Design, class M = lockswap::address_space::NativeMachine>
void run_trace(const Plan& plan, const Trace& trace, const SpaceOptions& options) {
  using Engine = lockswap::address_space::Space<M, Design>;
  Replayed all = replay_for<Engine, false>(trace, plan.seconds, options);
  print_rates(all.phase);
  std::printf("rounds %" PRIu64 " replay_threads %zu replay_steps %" PRIu64 " synthesised %d\n",
              all.rounds, trace.threads.size(), trace.faults + trace.changes,
              trace.synthesised ? 1 : 0);
  std::printf("ordered %" PRIu64 " ordered_share %.4f\n", all.ordered / all.rounds,
              all.ordered_seconds / all.phase[0].seconds);
  print_faults_cpu(all.phase);
  if (plan.tail_seconds > 0)
    print_tails(replay_for<Engine, true>(trace, plan.tail_seconds, options).phase, "fault",
                "change");
  if constexpr (requires(typename Engine::Hand & h) { h.attempts; }) {
    all.attempts.check({&trace.own}, all.rounds);
    all.attempts.print();
  }
}

}  // namespace bench
