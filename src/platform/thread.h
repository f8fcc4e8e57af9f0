// What belongs to one thread: zero-initialised state, an identity for hashing, the kernel's thread
// id, and a hook at thread exit.
//
// Thread-locals use the initial-exec model: two instructions, no call, no malloc, and the price of
// some 800 bytes of the static TLS block. A thread that exits and locks again in a later key
// destructor finds its state zeroed or emptied, never gone.
#pragma once

#include <climits>  // PTHREAD_DESTRUCTOR_ITERATIONS
#include <cstdint>
#include <ctime>
#include <pthread.h>

#include "platform/atomic.h"
#include "platform/identity.h"  // IWYU pragma: export
#include "platform/process.h"
#include "platform/sanitizer.h"
#include "platform/step_aside.h"
#include "platform/system_tid.h"

namespace lockswap {

// One zero-initialised T for each thread. alignas keeps compilers from padding each to eight bytes,
// as for aarch64: a second copy of the library finds room only if all of them together are small.
template <class T>
alignas(T) __attribute__((tls_model("initial-exec"))) inline constinit thread_local T per_thread{};

// One of each thread's that code knows which is inlined in programs: by its symbol. Defined in one
// source, with the second.
#define LOCKSWAP_SHOWN_PER_THREAD(T, name, symbol) \
  extern __attribute__((visibility("default"),     \
                        tls_model("initial-exec"))) constinit thread_local T name asm(symbol)
#define LOCKSWAP_SHOWN_PER_THREAD_HERE(T, name) \
  constinit thread_local T name {}

// A thread's id, as it was when the thread first asked for it in a process (system_tid.h).
struct NotedTid {
  std::uint32_t value;
  std::uint64_t process;  // the stamp of the process that it is of
};

// The one thread of a forked child, and the ids that it had in the processes before.
class Survivor {
 public:
  // Runs in the child: the thread's id was `before` in the parent, and is `here` now.
  static void is(NotedTid before, std::uint32_t here) noexcept {
    if (here_.load(relaxed) != before.value) {
      // The parent's survivor was another thread, so the ids of that one mean nothing here.
      for (auto& id : ids_)
        id.store(0, relaxed);
    }
    ids_[Process::number_of(before.process)].store(before.value, relaxed);
    here_.store(here, relaxed);
  }
  // The id here of thread `tid` of the ancestor with that stamp: that of the thread that
  // survived, if it is that one; else `tid` itself.
  static std::uint32_t id_of(std::uint32_t tid, std::uint64_t process) noexcept {
    const bool survived = ids_[Process::number_of(process)].load(relaxed) == tid;
    return survived ? here_.load(relaxed) : tid;
  }

 private:
  // relaxed, all: written by the survivor, as a rule before it creates threads. If not, a lock that
  // it holds for writing may go on showing its old id.
  static inline constinit NativeAtomic<std::uint32_t> ids_[Process::kNumbers]{};  // by ancestor
  static inline constinit NativeAtomic<std::uint32_t> here_{0};
};

[[gnu::noinline]] inline std::uint32_t note_thread_id() noexcept {
  NotedTid& noted = per_thread<NotedTid>;
  TidWord::is_here(&noted.value);
  const std::uint32_t id = TidWord::is_this(&noted.value) ? system_thread_id() : TidWord::read();
  if (noted.value != 0) Survivor::is(noted, id);
  noted = {id, Process::stamp()};
  return id;
}

[[gnu::always_inline]] inline std::uint32_t thread_id() noexcept {
  return Process::is(per_thread<NotedTid>.process) ? TidWord::read() : note_thread_id();
}

// The same without a look at the process: 0, or an older id, if the thread has not asked for its id
// in this process.
[[gnu::always_inline]] inline std::uint32_t thread_id_if_known() noexcept {
  return TidWord::read();
}

// For slow paths, in which locks of an earlier process are met. The survivor is known only after it
// has asked for its id; and a program may give it another one even then.
[[gnu::noinline]] inline void make_survivor_known() noexcept {
  const std::uint32_t id = thread_id();
  if (id != per_thread<NotedTid>.value) note_thread_id();
}

// Thread exit. Hooks are added once for the process; a thread that keeps something arms them.
//
// The destructors of thread-specific data run in rounds, and the application's may lock after ours.
// So the hooks run in every round, and after the last one nothing is kept any more. (A thread that
// arms them for the first time in such a destructor counts too few rounds: what it takes in the
// very last one is lost.)
//
// A process has 1024 keys of thread-specific data, and one of them is taken here, until the program
// needs it (give_up_key). From then on no thread is armed any more, so none keeps anything that
// must be given back. A thread that was armed before keeps what it had, which is a few nodes, a row
// and a table of records; that is lost when it ends, and cannot grow.
class ThreadExit {
  struct State {
    bool armed;
    std::uint8_t rounds;  // that have begun
    std::uint8_t inside;  // how many uses of the key have begun: a signal handler's, too
  };

 public:
  using Hook = void (*)();

  // At start-up, by one thread. Idempotent.
  static void prepare() noexcept {
    if (state_.load(relaxed) != kNone || pthread_key_create(&key_, &run) != 0) return;
    if (key_ < kKeysWithoutMalloc) {
      state_.store(kUsable, relaxed);
    } else {
      pthread_key_delete(key_);
    }
  }

  // Deletes the key, so that the program can create one more. False: there is none to be given up.
  // A thread that uses the key at this moment is waited for, but not for ever: a signal handler may
  // have stopped it there.
  [[gnu::noinline]] static bool give_up_key() noexcept {
    // seq_cst, here and in Use: a Dekker pair. Either the thread that is about to use the key sees
    // that it may not, or it is seen here.
    KeyState usable = kUsable;
    if (!state_.compare_exchange(usable, kGivenUp, seq_cst)) return false;
    for (int i = 0; users_.load(seq_cst) != 0; ++i) {
      if (i == kMostNaps) {
        state_.store(kUsable, relaxed);
        return false;
      }
      nap(1'000'000);
    }
    return pthread_key_delete(key_) == 0;
  }
  // In a forked child: the other threads that used the key do not exist here.
  static void forked() noexcept { users_.store(per_thread<State>.inside, relaxed); }

  // At any time, by any thread. Idempotent. False: there are too many hooks.
  static bool add(Hook hook) noexcept {
    // relaxed, all: a hook looks only at what its own thread has done.
    for (auto& h : hooks_) {
      Hook there = h.load(relaxed);
      if (there == nullptr && h.compare_exchange(there, hook, relaxed)) return true;
      if (there == hook) return true;
    }
    return false;
  }

  // Asks that the hooks run when the calling thread exits. False: they will not (their last round
  // has come, or no key was free, or the program has it now), so keep nothing that must be given
  // back.
  static bool arm() noexcept {
    State& s = per_thread<State>;
    if (is_armed()) [[likely]]
      return true;
    // relaxed: Use looks again.
    if (state_.load(relaxed) != kUsable || s.rounds == kRounds) return false;
    s.armed = Use(s).set(&s);
    return s.armed;
  }

  static bool is_armed() noexcept { return per_thread<State>.armed; }

 private:
  enum KeyState : std::uint8_t { kNone, kUsable, kGivenUp };
#if defined(LOCKSWAP_TSAN)
  // ThreadSanitizer forgets the thread in the last round; gcc 14's crashes on accesses after that.
  static constexpr int kRounds = PTHREAD_DESTRUCTOR_ITERATIONS - 1;
#else
  static constexpr int kRounds = PTHREAD_DESTRUCTOR_ITERATIONS;
#endif
  // glibc keeps the values of the first 32 keys inside the thread; later ones need a calloc.
  static constexpr pthread_key_t kKeysWithoutMalloc = 32;
  static constexpr int kMostNaps = 20;  // of a millisecond

  // While one exists, the key is not deleted.
  class Use {
   public:
    explicit Use(State& s) noexcept : s_(s) {
      ++s_.inside;
      users_.fetch_add(1, seq_cst);  // the Dekker pair with give_up_key
    }
    ~Use() {
      users_.fetch_sub(1, release);  // pairs with give_up_key: the key's use is over
      --s_.inside;
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    // False: the number is the program's by now, or may be soon.
    bool set(const void* value) const noexcept {
      return state_.load(seq_cst) == kUsable && pthread_setspecific(key_, value) == 0;
    }

   private:
    State& s_;
  };

  static void run(void* p) {
    auto* s = static_cast<State*>(p);
    s->armed = ++s->rounds < kRounds && Use(*s).set(s);
    for (const auto& h : hooks_) {
      if (const Hook hook = h.load(relaxed); hook != nullptr) hook();
    }
  }

  static inline constinit pthread_key_t key_ = 0;
  static inline constinit NativeAtomic<KeyState> state_{kNone};
  static inline constinit NativeAtomic<std::uint32_t> users_{0};  // that are inside a Use
  static constexpr int kMostHooks = 32;  // 9 in the library, all of a test's templates in the test
  static inline constinit NativeAtomic<Hook> hooks_[kMostHooks] = {};
};

}  // namespace lockswap
