#include "range_script.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>

#include "nap.h"

namespace lockswap::explore {
namespace {

struct Step {
  enum What : std::uint8_t {
    acquire,
    release,
    downgrade,
    upgrade,
    set,
    wait,
    nap,
    exit,
    fork
  } what;
  enum How : std::uint8_t { waits, only_try, timed, late, far } how = waits;
  bool shared = false;
  bool oldest = false;
  int lock = 0;
  std::uint64_t start = 0, end = 0;
  int must = -1;   // the result; -1: none said
  int number = 0;  // of the event
};
using Steps = std::vector<Step>;

struct Held {
  RangeRequest range;
  void* handle;
  bool had;
  int lock;
};

constexpr int kEvents = 5;

struct World {
  std::array<std::array<Plain, kUnits>, kLocks> data;  // by lock
  std::array<ExploredAtomic<std::uint32_t>, kEvents> events;
  ExploredAtomic<std::uint32_t> nowhere;  // where naps sleep
  RangeUnderTest* lock;                   // both of them
  bool both_used = false;
  // By process, by thread.
  std::vector<std::vector<Steps>> steps;
};

[[noreturn]] void bad(const std::string& word) {
  std::fprintf(stderr, "lockswap-explore: bad word '%s' in the script of a range lock\n",
               word.c_str());
  std::exit(2);
}

bool strip(std::string& word, const char* prefix) {
  if (!word.starts_with(prefix)) return false;
  word.erase(0, std::char_traits<char>::length(prefix));
  return true;
}

Step parse_word(const std::string& word) {
  Step s{};
  std::string w = word;
  if (const auto at = w.find('='); at != std::string::npos) {
    const std::string result = w.substr(at + 1);
    s.must = result == "0"      ? 0
             : result == "dead" ? EDEADLK
             : result == "busy" ? EBUSY
             : result == "late" ? ETIMEDOUT
                                : -1;
    if (s.must < 0) bad(word);
    w.resize(at);
  }
  if (strip(w, "2")) s.lock = 1;
  if (strip(w, "try")) s.how = Step::only_try;
  if (strip(w, "timed")) s.how = Step::timed;
  if (strip(w, "late")) s.how = Step::late;
  if (strip(w, "far")) s.how = Step::far;
  if (w.starts_with('E') || w.starts_with('S')) {
    s.what = Step::acquire;
    s.shared = w[0] == 'S';
    unsigned long start = 0;
    unsigned long end = 0;
    if (std::sscanf(w.c_str() + 1, "%lu-%lu", &start, &end) != 2 || end > kUnits) bad(word);
    s.start = start;
    s.end = end;
  } else if (w == "u" || w == "U") {
    s.what = Step::release;
    s.oldest = w == "U";
  } else if (w == "down") {
    s.what = Step::downgrade;
  } else if (w == "up") {
    s.what = Step::upgrade;
  } else if (w == "nap") {
    s.what = Step::nap;
  } else if (w == "exit") {
    s.what = Step::exit;
  } else if (w == "fork") {
    s.what = Step::fork;
  } else if (w.size() == 2 && (w[0] == '+' || w[0] == '?')) {
    s.what = w[0] == '+' ? Step::set : Step::wait;
    s.number = w[1] - '0';
    if (s.number < 0 || s.number >= kEvents) bad(word);
  } else {
    bad(word);
  }
  return s;
}

void access(World& world, const Held& h) {
  for (std::uint64_t unit = h.range.start; unit < h.range.end; ++unit) {
    Plain& data = world.data[h.lock][unit];
    h.range.shared ? data.read(nullptr) : data.write(nullptr);
  }
}

int acquire(World& world, const Step& s, Held& h) {
  const Deadline* deadline = s.how == Step::timed  ? machine.deadline(Machine::When::some_time)
                             : s.how == Step::late ? machine.deadline(Machine::When::over)
                             : s.how == Step::far  ? machine.deadline(Machine::When::far)
                                                   : nullptr;
  h = {{s.start, s.end, s.shared, s.how == Step::only_try, deadline}, nullptr, false, s.lock};
  const int result = world.lock->acquire(s.lock, h.range, h.handle);
  h.had = result == 0;
  machine.note("%s [%lu, %lu): %d", s.shared ? "shared" : "exclusive", s.start, s.end, result);
  if (!h.had) return result;
  if (!world.lock->can_share()) h.range.shared = false;
  access(world, h);
  return 0;
}

void check(const Step& s, int result) {
  if (s.must >= 0 && result != s.must) {
    machine.fail("[%lu, %lu) gives %d, not %d", s.start, s.end, result, s.must);
  }
  const bool tries = s.how == Step::only_try || s.what == Step::upgrade;
  const bool may_fail = (tries && result == EBUSY) ||
                        ((s.how == Step::timed || s.how == Step::late) && result == ETIMEDOUT);
  if (s.must < 0 && result != 0 && !may_fail) {
    machine.fail("[%lu, %lu) gives %d", s.start, s.end, result);
  }
  if (result == ETIMEDOUT && !machine.deadline_is_over()) {
    machine.fail("ETIMEDOUT before the deadline");
  }
}

void run_steps(World& world, const Steps& steps) {
  std::vector<Held> held;
  for (const Step& s : steps) {
    switch (s.what) {
      case Step::acquire: {
        Held h{};
        check(s, acquire(world, s, h));
        held.push_back(h);
        break;
      }
      case Step::release: {
        const auto which = s.oldest ? held.begin() : held.end() - 1;
        const Held h = *which;
        held.erase(which);
        if (!h.had) break;
        access(world, h);
        machine.note("releases [%lu, %lu)", h.range.start, h.range.end);
        world.lock->release(h.lock, h.handle);
        break;
      }
      case Step::downgrade:
        access(world, held.back());
        machine.note("downgrades");
        world.lock->downgrade(held.back().lock, held.back().handle);
        held.back().range.shared = world.lock->can_share();
        break;
      case Step::upgrade: {
        Held& h = held.back();
        access(world, h);
        const int result = world.lock->try_upgrade(h.lock, h.handle);
        machine.note("upgrades [%lu, %lu): %d", h.range.start, h.range.end, result);
        check(s, result);
        if (result == 0) h.range.shared = false;
        access(world, h);
        break;
      }
      case Step::set:
        world.events[s.number].store(1, release);
        break;
      case Step::wait:
        Explored::await(Pause::spin, world.events[s.number], lockswap::acquire,
                        [](std::uint32_t v) { return v != 0; });
        break;
      case Step::nap:
        nap(world.nowhere);
        break;
      case Step::exit:
        machine.end_and_begin_thread();
        break;
      case Step::fork:
        machine.fork([] {});
        break;
    }
  }
}

}  // namespace

Scenario range_scenario(RangeUnderTest& lock, const std::vector<std::string>& threads,
                        bool gates_open) {
  const auto world = std::make_shared<World>();
  world->lock = &lock;
  bool forks = false;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    std::istringstream parts(threads[i]);
    std::string part;
    for (std::size_t process = 0; std::getline(parts, part, '|'); ++process) {
      if (world->steps.size() <= process) world->steps.resize(process + 1);
      world->steps[process].resize(threads.size());
      std::istringstream words(part);
      for (std::string word; words >> word;) {
        world->steps[process][i].push_back(parse_word(word));
        forks |= word == "fork";
        world->both_used |= word.starts_with('2');
      }
    }
  }
  Scenario s;
  s.threads = static_cast<int>(threads.size());
  s.setup = [world, gates_open] {
    for (auto& units : world->data) {
      for (Plain& p : units)
        p.reset();
    }
    for (std::size_t i = 0; i < Explored::identities.size(); ++i)
      Explored::identities[i] = i + 1;
    Explored::tick = 0;
    Explored::may_begin_systems = false;
    Explored::patience = 0;
    Explored::take_back_after = gates_open ? 1 : 0;
    world->lock->begin();
  };
  s.state = [] { return std::uint64_t{0}; };  // the data is only under the race detector
  s.body = [world](int i) { run_steps(*world, world->steps[0][i]); };
  s.after_fork = [world](int i) {
    const auto process = static_cast<std::size_t>(machine.process());
    if (process < world->steps.size()) run_steps(*world, world->steps[process][i]);
  };
  // In a forked child ranges of threads that are gone stay.
  if (forks) return s;
  s.finish = [world] {
    for (const char* all : {"tryE0-12", "2tryE0-12"}) {
      const Step step = parse_word(all);
      if (world->lock->busy(step.lock)) machine.fail("at the end a range is held");
      Held h{};
      if (acquire(*world, step, h) != 0) machine.fail("at the end a try fails");
      world->lock->release(step.lock, h.handle);
      if (world->lock->busy(step.lock)) machine.fail("at the end the last range is held");
      if (!world->both_used) break;
    }
    if (world->lock->loses_nodes()) machine.fail("at the end a node is lost");
  };
  return s;
}

}  // namespace lockswap::explore
