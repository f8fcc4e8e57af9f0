#include "fuzz/serial.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <new>

#include "fuzz/disturb.h"
#include "platform/clock.h"
#include "platform/futex.h"
#include "platform/guard.h"
#include "platform/memory.h"
#include "platform/say.h"
#include "platform/syscall.h"
#include "platform/text.h"
#include "platform/thread.h"
#include "recording/modules.h"

namespace lockswap::fuzz::serial {

enum class State : std::uint8_t {
  free,
  can_run,
  waits,
  outside,  // it lost the turn during another call
  ended,
};

struct Thread {
  NativeAtomic<std::uint32_t> turn;  // 1: this thread has the turn
  State state;
  bool has_deadline;
  bool writes;  // it waits for a lock that it wants to write
  bool timed_out;
  bool is_patient;  // it keeps the turn however long it sleeps
  std::uint32_t number;
  std::uint32_t count;    // points passed
  std::uint32_t in_a_go;  // points passed since another thread had the turn
  std::uint32_t polls;    // for how many more points it gives way in a schedule
  std::int64_t priority;
  const void* object;  // what it waits for
  pthread_t self;
  std::uint32_t tid;
};

namespace {

constexpr std::size_t kThreads = 256;
constexpr std::size_t kObjects = 4096;
constexpr std::size_t kTurns = 4096;
constexpr std::uint64_t kLook = 10'000'000;  // ns
constexpr std::uint32_t kMostInAGo = 2000;
// A thread that polls a lock also gives way where it releases others that it then takes again.
constexpr std::uint32_t kPointsOfAPoll = 8;
constexpr unsigned kMostChanges = 4;

struct Turn {
  std::uint32_t thread, count, next;
};

// Read and written under the guard, except for the atomics.
struct World {
  Thread thread[kThreads];
  std::uint32_t threads;  // the number created so far
  Thread* current;        // nullptr if none has the turn
  std::uint64_t turns;    // the number given so far
  std::uint64_t points;
  std::int64_t behind;  // how often a thread got the lowest priority
  std::uint64_t change[kMostChanges];
  // No thread can run any more. relaxed: one that doesn't see it yet checks again after kLook.
  NativeAtomic<bool> is_dead;
  const void* object[kObjects];
  std::uint32_t objects;
  std::uintptr_t base[Log::kModules];
  Turn schedule[kTurns];
  std::uint32_t scheduled;
  bool is_replay;
  std::uint32_t one_in;  // threads draw new priorities at one in this many points; 0: never
};

constinit World* world = nullptr;
constinit Log* log_ = nullptr;
constinit Guard guard;

struct Own {
  Thread* thread;
};

bool writes() noexcept {
  return log_ != nullptr &&
         log_->process.load(relaxed) == static_cast<std::uint64_t>(raw_syscall(SYS_getpid));
}

std::uint32_t module_of(const recording::Loaded& at) noexcept {
  const std::uint64_t n = log_->modules.load(relaxed);
  for (std::uint32_t i = 0; i < n; ++i) {
    if (world->base[i] == at.begin) return i;
  }
  if (n == Log::kModules || at.path == nullptr) return Log::kModules;
  world->base[n] = at.begin;
  if (at.path[0] != 0) {
    std::strncpy(log_->module[n], at.path, sizeof log_->module[n] - 1);
  } else {  // the program, which need not be the one started first
    raw_syscall(SYS_readlinkat, AT_FDCWD, reinterpret_cast<long>("/proc/self/exe"),
                reinterpret_cast<long>(log_->module[n]), sizeof log_->module[n] - 1);
  }
  log_->modules.store(n + 1, relaxed);
  return static_cast<std::uint32_t>(n);
}

std::uint32_t number_of(const void* object) noexcept {
  for (std::uint32_t i = 0; i < world->objects; ++i) {
    if (world->object[i] == object) return i;
  }
  if (world->objects == kObjects) return kObjects;
  world->object[world->objects] = object;
  return world->objects++;
}

void note(const Thread& t, Kind kind, const void* object, const void* caller) noexcept {
  if (!writes()) return;
  const std::uint64_t n = log_->steps.load(relaxed);
  if (n < Log::kSteps) {
    Step& s = log_->step[n];
    s = {t.number, t.count, static_cast<std::uint32_t>(kind), 0, Log::kModules, 0, {}};
    if (kind == Kind::turn) {
      s.object = static_cast<const Thread*>(object)->number;
    } else if (kind != Kind::end) {
      s.object = number_of(object);
      const recording::Loaded code = recording::modules.at(caller);
      if (code.object != nullptr) {
        s.module = module_of(code);
        s.at[0] = reinterpret_cast<std::uintptr_t>(caller) - code.base;
      }
      const recording::Loaded data = recording::modules.at(object);
      if (data.object != nullptr && module_of(data) < Log::kModules) {
        s.is_variable = 1 + module_of(data);
        s.at[1] = reinterpret_cast<std::uintptr_t>(object) - data.base;
      }
    }
  }
  log_->steps.store(n + 1, relaxed);
}

// Returns nullptr if there is no thread in that state.
Thread* first_in(State state) noexcept {
  Thread* const end = std::end(world->thread);
  Thread* const t =
      std::find_if(world->thread, end, [state](const Thread& one) { return one.state == state; });
  return t == end ? nullptr : t;
}

Thread* new_thread() noexcept {
  World& w = *world;
  // Numbers are not reused, because they identify the threads in a schedule.
  Thread* t = first_in(State::free);
  if (t == nullptr) t = first_in(State::ended);
  if (t == nullptr) return nullptr;
  const std::uint32_t number = w.threads++;
  const std::uint64_t h = mix(mix(settings.seed) ^ mix(number));
  t->turn.store(0, relaxed);
  t->state = State::can_run;
  t->has_deadline = t->writes = t->timed_out = t->is_patient = false;
  t->number = number;
  t->count = t->in_a_go = t->polls = 0;
  t->priority = static_cast<std::int64_t>(h >> 2) + kMostChanges + 1;
  t->object = nullptr;
  t->self = 0;
  t->tid = 0;
  return t;
}

// Returns the next thread that a schedule need not name: the current thread if it can run, and
// otherwise the oldest one that can. If the thread gives way, the next younger one that can run
// follows, and after the youngest the oldest, so that all polling threads get their turns.
Thread* usual(Thread* me, bool gives_way) noexcept {
  if (me != nullptr && me->state == State::can_run && !gives_way) return me;
  Thread *oldest = nullptr, *younger = nullptr;
  for (Thread& t : world->thread) {
    if (t.state != State::can_run) continue;
    if (oldest == nullptr || t.number < oldest->number) oldest = &t;
    if (gives_way && t.number > me->number && (younger == nullptr || t.number < younger->number))
      younger = &t;
  }
  return younger != nullptr ? younger : oldest;
}
Thread* greatest() noexcept {
  Thread* found = nullptr;
  for (Thread& t : world->thread) {
    if (t.state == State::can_run && (found == nullptr || t.priority > found->priority)) found = &t;
  }
  return found;
}
bool is_scheduled(const Thread* me, const Thread& next) noexcept {
  if (me == nullptr) return false;
  for (std::uint32_t i = 0; i < world->scheduled; ++i) {
    const Turn& turn = world->schedule[i];
    if (turn.thread == me->number && turn.count == me->count && turn.next == next.number)
      return true;
  }
  return false;
}
Thread* scheduled(const Thread* me) noexcept {
  for (Thread& t : world->thread) {
    if (t.state == State::can_run && is_scheduled(me, t)) return &t;
  }
  return nullptr;
}

void give_turn_to(Thread* t) noexcept {
  World& w = *world;
  if (w.current == t) return;
  if (w.current != nullptr) w.current->in_a_go = 0;
  w.current = t;
  ++w.turns;
  if (t == nullptr) return;
  w.is_dead.store(false, relaxed);
  t->turn.store(1, release);  // pairs with wait_for_turn
  futex_wake(&t->turn, ~0u);
}

// Gives the turn to the next thread, which may be the current one. `me` is the thread that has the
// turn, or nullptr. Called under the guard.
void choose(Thread* me, bool gives_way = false) noexcept {
  World& w = *world;
  Thread* const expected = usual(me, gives_way);
  Thread* next = expected;
  if (w.is_replay) {
    if (Thread* const t = scheduled(me); t != nullptr) next = t;
  } else {
    next = greatest();
  }
  const bool is_stuck = next == nullptr && first_in(State::outside) == nullptr;
  if (is_stuck) {
    // Only deadlines can still happen.
    for (Thread& t : w.thread) {
      if (t.state != State::waits || !t.has_deadline) continue;
      if (next == nullptr || t.number < next->number) next = &t;
    }
    if (next != nullptr) {
      next->timed_out = true;
      next->state = State::can_run;
    }
  }
  if (is_stuck && next == nullptr) {
    w.is_dead.store(true, relaxed);
    if (writes()) log_->is_deadlock.store(1, relaxed);
    for (Thread& t : w.thread)
      futex_wake(&t.turn, ~0u);  // they need not check any more
  }
  if (me != nullptr && next != nullptr && next != expected) note(*me, Kind::turn, next, nullptr);
  give_turn_to(next);
}

// Returns whether the kernel reports that the thread sleeps: its state is not 'R'.
bool sleeps(std::uint32_t tid) noexcept {
  char path[64], text[256];
  Text(path, sizeof path) << "/proc/self/task/" << std::uint64_t{tid} << "/stat";
  const long fd =
      raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const long n = raw_syscall(SYS_read, fd, reinterpret_cast<long>(text), sizeof text - 1);
  raw_syscall(SYS_close, fd);
  for (long i = n - 1; i > 1; --i) {
    if (text[i - 1] == ')' && text[i] == ' ') return i + 1 < n && text[i + 1] != 'R';
  }
  return false;
}

// Takes the turn from a thread that has had it for long without coming to a point.
struct Patience {
  static constexpr unsigned kAsleep = 2, kAwake = 100;  // checks
  std::uint64_t turns = 0, points = 0;
  unsigned asleep = 0, looks = 0;

  void look() noexcept {
    guard.lock();
    World& w = *world;
    Thread* const t = w.current;
    if (t == nullptr || t->tid == 0 || t->is_patient || w.turns != turns || w.points != points) {
      turns = w.turns;
      points = w.points;
      asleep = looks = 0;
    } else {
      ++looks;
      asleep = sleeps(t->tid) ? asleep + 1 : 0;
      if ((asleep >= kAsleep || looks >= kAwake) && others_can_run(t)) {
        t->state = State::outside;
        t->turn.store(0, relaxed);
        if (writes()) log_->by_time.store(log_->by_time.load(relaxed) + 1, relaxed);
        choose(nullptr);
      }
    }
    guard.unlock();
  }

 private:
  static bool others_can_run(const Thread* t) noexcept {
    return std::any_of(std::begin(world->thread), std::end(world->thread),
                       [t](const Thread& one) { return &one != t && one.state == State::can_run; });
  }
};

void wait_for_turn(Thread& me) noexcept {
  Patience patience;
  while (me.turn.load(acquire) == 0) {  // pairs with give_turn_to
    if (world->is_dead.load(relaxed)) {
      futex_wait(&me.turn, 0, ~0u, nullptr);
    } else if (futex_wait_for(&me.turn, 0, kLook) == Parked::timed_out) {
      patience.look();
    }
  }
}

// Called under the guard. The calling thread had the turn, or comes from outside.
void give_up_turn(Thread& me, bool gives_way = false) noexcept {
  me.turn.store(0, relaxed);
  if (world->current == &me) {
    choose(&me, gives_way);
    if (world->current == &me) me.turn.store(1, relaxed);
  } else if (world->current == nullptr) {
    choose(nullptr);
  }
}

void fall_behind(Thread& me) noexcept { me.priority = -(++world->behind); }

// Lets all waiting threads run again for which is(thread) is true. Called under the guard.
template <class Is>
void wake_those(Is is) noexcept {
  for (Thread& t : world->thread) {
    if (t.state == State::waits && is(t)) t.state = State::can_run;
  }
}

Thread* mine() noexcept;

void on_thread_exit() noexcept {
  Thread*& own = per_thread<Own>.thread;
  if (own == nullptr || world == nullptr) return;
  mine();
  guard.lock();
  Thread& me = *own;
  ++me.count;
  note(me, Kind::end, nullptr, nullptr);
  me.state = State::ended;
  me.turn.store(0, relaxed);
  const auto* const joined = reinterpret_cast<const void*>(me.self);
  wake_those([joined](const Thread& t) { return t.object == joined; });
  if (world->current == &me || world->current == nullptr) {
    world->current = nullptr;
    choose(&me);
  }
  own = nullptr;
  guard.unlock();
}

void in_forked_child() noexcept {
  // Only the caller exists here, and it has the turn. The log is the parent's.
  World& w = *world;
  new (&guard) Guard{};
  Thread* const own = per_thread<Own>.thread;
  for (Thread& t : w.thread) {
    if (&t != own) t.state = State::free;
  }
  w.current = own;
  if (own == nullptr) return;
  own->state = State::can_run;
  own->tid = static_cast<std::uint32_t>(raw_syscall(SYS_gettid));
  own->turn.store(1, relaxed);
}

// Returns the calling thread, which has the turn then. On its first call it waits for the turn.
Thread* mine() noexcept {
  Thread*& own = per_thread<Own>.thread;
  if (own == nullptr) {
    guard.lock();
    own = new_thread();
    if (own != nullptr) {
      own->self = pthread_self();
      own->tid = thread_id();
      if (world->current == nullptr) choose(nullptr);
    }
    guard.unlock();
    if (own == nullptr) return nullptr;
    ThreadExit::arm();
    wait_for_turn(*own);
  } else if (own->turn.load(relaxed) == 0) {  // it was outside; wait_for_turn acquires
    guard.lock();
    if (own->state == State::outside) own->state = State::can_run;
    if (world->current == nullptr) choose(nullptr);
    guard.unlock();
    wait_for_turn(*own);
  }
  return own;
}

bool read_schedule(const char* file) noexcept {
  const long fd =
      raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(file), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[4096] = {};
  std::uint64_t number = 0;
  std::uint32_t word[3] = {};
  unsigned words = 0;
  bool is_in = false;
  for (long n; (n = raw_syscall(SYS_read, fd, reinterpret_cast<long>(text), sizeof text)) > 0;) {
    for (long i = 0; i < n; ++i) {
      if (text[i] >= '0' && text[i] <= '9') {
        number = number * 10 + static_cast<unsigned>(text[i] - '0');
        is_in = true;
        continue;
      }
      if (is_in) word[words++] = static_cast<std::uint32_t>(number);
      is_in = false;
      number = 0;
      if (words == 3 && world->scheduled < kTurns)
        world->schedule[world->scheduled++] = {word[0], word[1], word[2]};
      words %= 3;
    }
  }
  raw_syscall(SYS_close, fd);
  world->is_replay = true;
  return true;
}

}  // namespace

bool prepare(const char* log, const char* schedule) noexcept {
  if (world != nullptr) return true;
  world = static_cast<World*>(map_pages(sizeof(World)));
  if (world == nullptr) return false;
  const std::uint64_t h = mix(~settings.seed);
  for (unsigned i = 0; i < kMostChanges; ++i) {
    const std::uint64_t one = mix(h ^ mix(i));
    world->change[i] = i <= h % kMostChanges ? 1 + (one >> 8) % settings.length : 0;
  }
  world->one_in = (h >> 8) % 2 == 0 ? 1u << (h >> 12) % 4 : 0;
  if (log != nullptr) log_ = static_cast<Log*>(map_file(log, sizeof(Log)));
  ThreadExit::prepare();
  ThreadExit::add(&on_thread_exit);
  pthread_atfork(nullptr, nullptr, in_forked_child);
  return schedule == nullptr || read_schedule(schedule);
}

void point(Kind kind, const void* object, const void* caller) noexcept {
  Thread* const me = mine();
  if (me == nullptr) return;
  World& w = *world;
  guard.lock();
  ++me->count;
  ++w.points;
  for (unsigned i = 0; i < kMostChanges; ++i) {
    if (w.points == w.change[i]) me->priority = kMostChanges - static_cast<int>(i);
  }
  const std::uint64_t h = mix(mix(settings.seed) ^ mix(w.points));
  if (w.one_in != 0 && h % w.one_in == 0) {
    for (Thread& t : w.thread)
      t.priority = kMostChanges + 1 + static_cast<std::int64_t>(mix(h ^ mix(t.number)) >> 2);
  }
  if (kind == Kind::attempt || ++me->in_a_go >= kMostInAGo) {
    me->in_a_go = 0;
    me->polls = kPointsOfAPoll;
    fall_behind(*me);
  }
  const bool gives_way = me->polls != 0;
  if (gives_way) --me->polls;
  const bool is_over = kind == Kind::unlock || kind == Kind::create || kind == Kind::attempt;
  if (is_over) note(*me, kind, object, caller);
  give_up_turn(*me, gives_way);
  guard.unlock();
  wait_for_turn(*me);
  if (is_over) return;
  guard.lock();
  note(*me, kind, object, caller);
  guard.unlock();
}

bool wait_for(const void* object, bool has_deadline, bool writes) noexcept {
  Thread* const me = mine();
  if (me == nullptr) return true;
  guard.lock();
  ++me->count;
  me->state = State::waits;
  me->object = object;
  me->has_deadline = has_deadline;
  me->writes = writes;
  me->timed_out = false;
  give_up_turn(*me);
  guard.unlock();
  wait_for_turn(*me);
  return !me->timed_out;
}

bool is_waited_for_to_write(const void* rwlock) noexcept {
  guard.lock();
  const bool is =
      std::any_of(std::begin(world->thread), std::end(world->thread), [rwlock](const Thread& t) {
        return t.state == State::waits && t.writes && t.object == rwlock;
      });
  guard.unlock();
  return is;
}

// A thread has the turn when it wakes others, even if it was outside before. So a thread that has
// just seen that it must wait is in its wait by then.
void wake_all(const void* object) noexcept {
  mine();
  guard.lock();
  wake_those([object](const Thread& t) { return t.object == object; });
  guard.unlock();
}

void wake_one(const void* object) noexcept {
  Thread* const me = mine();
  const World& w = *world;
  guard.lock();
  // In a schedule this is a choice of its own, beside that of the turn that the thread has.
  if (me != nullptr) ++me->count;
  Thread *oldest = nullptr, *found = nullptr;
  for (Thread& t : world->thread) {
    if (t.state != State::waits || t.object != object) continue;
    if (oldest == nullptr || t.number < oldest->number) oldest = &t;
    if (w.is_replay ? is_scheduled(me, t) : found == nullptr || t.priority > found->priority)
      found = &t;
  }
  if (found == nullptr) found = oldest;
  if (found != nullptr) found->state = State::can_run;
  if (me != nullptr && found != oldest) note(*me, Kind::turn, found, nullptr);
  guard.unlock();
}

void wake(pthread_t thread) noexcept {
  mine();
  guard.lock();
  wake_those([thread](const Thread& t) { return t.self == thread; });
  guard.unlock();
}

Thread* create() noexcept {
  if (mine() == nullptr) return nullptr;
  if (log_ != nullptr) {
    std::uint64_t nobody = 0;  // relaxed: from then on only this process writes to the log
    log_->process.compare_exchange(nobody, static_cast<std::uint64_t>(raw_syscall(SYS_getpid)),
                                   relaxed);
  }
  guard.lock();
  Thread* const t = new_thread();
  guard.unlock();
  return t;
}

void created(Thread* t, const pthread_t* thread) noexcept {
  if (t == nullptr) return;
  guard.lock();
  if (thread == nullptr) {
    t->state = State::free;
  } else {
    t->self = *thread;  // it may be joined before it begins
  }
  guard.unlock();
}

void begin(Thread* t) noexcept {
  if (t == nullptr) return;
  per_thread<Own>.thread = t;
  guard.lock();
  t->self = pthread_self();
  t->tid = thread_id();
  guard.unlock();
  ThreadExit::arm();
  wait_for_turn(*t);
}

void be_patient(bool begins) noexcept {
  guard.lock();
  if (Thread* const own = per_thread<Own>.thread; own != nullptr) own->is_patient = begins;
  guard.unlock();
}

bool has_ended(pthread_t thread) noexcept {
  guard.lock();
  const bool has =
      std::none_of(std::begin(world->thread), std::end(world->thread), [thread](const Thread& t) {
        return t.self == thread && t.state != State::ended && t.state != State::free;
      });
  guard.unlock();
  return has;
}

}  // namespace lockswap::fuzz::serial
