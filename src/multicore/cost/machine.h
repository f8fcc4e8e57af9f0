// The modelled machine: hardware threads that run in virtual time, with the costs of accesses to
// cache lines. On the platform of platform.h it runs the library's own locks.
//
// Idea: discrete events. Each hardware thread is a fiber with its own clock, and the fiber whose
//   next step is due runs. A line is in the caches of some cores, one of which may own it. An
//   access to a line that the core has costs a hit. Any other requests the line, which serves one
//   request after another: the transfer takes the time in the machine's matrix for the two cores,
//   and the next request waits until it is done. The owner has the line until the request has
//   reached it, so a failed compare-exchange may succeed if it is repeated at once.
//   Threads that poll a word cost nothing until the word's line changes, as on a real machine. Then
//   each of them requests the line again.
//   Values change when the line has arrived, so executions are sequentially consistent.
//   Threads beyond the number of hardware threads take turns on these (scheduler.h). What a thread
//   does between two accesses isn't interrupted, except for work.
// Left out: store buffers (a store is done when its line is there), frequency, the bandwidth of the
//   interconnect except for the one line, and prefetching other than in a scan.
//
// Related work: H. Schweizer, M. Besta, T. Hoefler, "Evaluating the Cost of Atomic Operations on
//   Modern Architectures" (PACT 2015), measured what an atomic costs by the state of its line.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <unordered_map>
#include <vector>

#include "multicore/cost/scheduler.h"
#include "multicore/fiber.h"

namespace lockswap::cost {

inline constexpr int kMostThreads = 512;

// Which of the waiting requests a line serves next.
enum class Arbitration : std::uint8_t { first_come, nearest, random };

// Where a requested line came from.
enum class Source : std::uint8_t { node, remote, memory };  // another core of the node; elsewhere
inline constexpr int kSources = 3;

enum class Access : std::uint8_t { read, write, update };

struct Place {
  int core = 0;
  int node = 0;
};

// A machine, and the costs on it in nanoseconds.
struct Costs {
  std::vector<Place> place;  // of each hardware thread, in the order in which threads are started
  std::vector<double> transfer;  // of a line from one core to another: [from * cores + to]
  double hit = 1.2;              // an access to a line that the core has
  double update = 6;             // of an atomic update, in addition to the access
  double memory = 80;            // a line that is in no core's cache
  double stream = 9;             // a line of a scan, which the processor prefetches
  double step = 1.5;             // the instructions between two accesses
  double fence = 8;              // a full fence, or a store that is one
  double barrier = 3000;         // a barrier in all processors, by the kernel
  double pause = 12;             // between two polls of a bounded spin
  double clock = 25;             // reading the clock
  double shared_core = 1.35;     // factor for work while the sibling works as well
  double park = 900;             // into the kernel, to sleep
  double unpark = 500;           // into the kernel, to wake
  double wake = 5000;            // from then to the first instruction of the thread that slept
  double serve = 5;              // between two copies of a line that nobody owns
  double queued = 1;             // factor for a transfer while others wait for the line
  double reach = 0.5;            // share of a transfer until the request has reached the owner
  double slice = 3e6;            // for which a thread has a processor, while others wait for one
  double switching = 1500;       // from one thread to the next on a processor
  double preempts = 0;           // the share of woken threads that take a running one's place
  std::uint32_t pauses = 1000;   // of a bounded spin
  bool is_full = false;          // other programs use the remaining processors
  // In each transfer. Without it, threads settle into a rhythm in which one of them never gets a
  // lock.
  double noise = 0.2;
  double jitter = 0.1;  // in work: each piece varies by this share
  Arbitration arbitration = Arbitration::first_come;
  std::uint64_t seed = 1;

  int cores() const;
};

// What the threads did to lines since counting began.
struct Counts {
  std::array<std::uint64_t, kSources> transfers{};
  std::uint64_t hits = 0;
  std::uint64_t sleeps = 0;
};

class Machine {
 public:
  // The next runs end at that time at the latest, even if threads are not done.
  void end_at(double ns) { last_ = ns; }
  // Runs setup() alone, then body(i) in `threads` threads from time 0, each on a hardware thread of
  // its own if there are enough. They call goes_on() before each further round. Nothing is left
  // from an earlier run.
  void run(const Costs& costs, int threads, double ns, const std::function<void()>& setup,
           const std::function<void(int)>& body);

  bool goes_on() const { return now() < end_; }
  int current() const { return current_; }
  double now() const { return threads_[static_cast<std::size_t>(current_)].now; }
  const Costs& costs() const { return costs_; }
  const Place& place() const { return place_of(current_); }
  // The calling thread's processor.
  int processor() const { return scheduler_.processor_of(current_); }
  bool shares_processors() const { return scheduler_.is_shared(); }
  std::uint64_t run_number() const { return run_; }
  const Counts& counts(int thread) const {
    return threads_[static_cast<std::size_t>(thread)].counts;
  }
  // Drops the counts so far, so that warming up doesn't count.
  void begin_counting();
  std::mt19937_64& random() { return random_; }

  // The calling thread works for that time.
  void work(double ns);
  void spend(double ns);
  // Lets another thread have the processor, if one waits for it.
  void yield();
  // Gets the line with that address, to read or change it.
  void access(const void* address, Access how);
  // Reads lines one after another.
  void stream(const void* from, std::size_t bytes);
  // Blocks until the line has changed. Returns false if `until` comes first.
  bool watch(const void* address, double until);
  // Blocks until woken. Returns false if `until` comes first.
  bool sleep(const void* address, std::uint32_t channels, double until);
  // Wakes at most `most`, and returns how many it woke.
  std::uint32_t wake(const void* address, std::uint32_t channels, std::uint32_t most);

 private:
  using CoreSet = std::bitset<kMostThreads>;
  struct Request {
    int thread;
    bool changes;
    double takes;  // how long it keeps the line after the transfer
  };
  struct Line {
    int owner = -1;
    CoreSet sharers;
    bool busy = false;  // with the transfer to `next`
    int arriving = -1;  // the core that owns it, but does not have it yet
    Request next{};
    std::deque<Request> waiting;
    std::vector<int> watchers;
  };
  struct Thread {
    multicore::Fiber fiber;
    double now = 0;
    std::uint64_t turn = 0;  // events of an earlier turn are void
    bool timed_out = false;
    bool finished = false;
    bool is_ready = false;  // it waits for a processor
    bool is_woken = false;  // it still sleeps, but its deadline no longer counts
    bool polls = false;     // it waits for a line to change
    double slice_end = 0;   // after which it gives its processor to a thread that waits for one
    bool shares_core = false;
    Counts counts;
  };
  struct Event {
    double at;
    std::uint64_t number;  // at equal times, the lower one is first
    enum class Kind : std::uint8_t { goes_on, times_out, has_processor, is_taken, is_free } kind;
    int thread;  // for the first three kinds
    std::uint64_t turn;
    Line* line;  // for the others
    bool operator<(const Event& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };
  struct Sleeper {
    int thread;
    std::uint32_t channels;
    const void* address;
  };

  static void thread_main();
  double around_one(double share);
  void go(int threads, const std::function<void(int)>& body);
  Thread& me() { return threads_[static_cast<std::size_t>(current_)]; }
  Line& line_of(const void* address);
  bool has(const Line& line, int core) const {
    return line.owner == core || line.sharers[static_cast<std::size_t>(core)];
  }
  double transfer(int from, int to) const {
    const auto row = static_cast<std::size_t>(from) * static_cast<std::size_t>(cores_);
    return costs_.transfer[row + static_cast<std::size_t>(to)];
  }
  void schedule(int thread, double at, Event::Kind kind = Event::Kind::goes_on);
  void schedule(Line& line, double at, Event::Kind kind);
  const Place& place_of(int thread) const {
    return costs_.place[static_cast<std::size_t>(scheduler_.processor_of(thread))];
  }
  bool gets_processor(const Event& event);
  void preempt(int woken, double at);
  void begin_slice(int thread, double at);
  void leave_processor();
  void end_slice();
  void pass_time(double ns);
  void take(Line& line);
  void block();
  bool is_here(const Line& line, bool changes) const;
  void call_watchers(Line& line);
  void serve(Line& line, double at);
  std::size_t next_request(const Line& line);
  int nearest_copy(const Line& line, int core) const;
  double price(const Line& line, const Request& request, Source& source) const;
  bool block_until(double until);

  Costs costs_;
  int cores_ = 0;
  std::deque<Thread> threads_;
  multicore::Fiber outside_;
  const std::function<void(int)>* body_ = nullptr;
  int current_ = 0;
  double end_ = 0;
  double last_ = std::numeric_limits<double>::infinity();
  std::uint64_t run_ = 0;
  std::uint64_t events_made_ = 0;
  std::vector<Event> events_;  // a heap
  std::unordered_map<std::uintptr_t, Line> lines_;
  std::array<std::pair<std::uintptr_t, Line*>, 1024> found_{};  // lines looked up lately
  std::vector<Sleeper> sleepers_;
  Scheduler scheduler_;
  std::mt19937_64 random_;
};

extern Machine machine;

}  // namespace lockswap::cost
