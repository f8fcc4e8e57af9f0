// What belongs to one thread: zero-initialised state, an identity for hashing, the kernel's thread
// id, and a hook at thread exit.
//
// Thread-locals use the initial-exec model: an access takes two instructions, with no call and no
// malloc, at the price of some 800 bytes of static TLS. If an exiting thread locks again in a later
// key destructor, it finds its state zeroed or emptied, never freed.
#pragma once

#include <cerrno>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/identity.h"  // IWYU pragma: export
#include "platform/process.h"
#include "platform/syscall.h"
#include "platform/system_tid.h"

namespace lockswap {

// One zero-initialised T per thread. alignas stops compilers from padding each to 8 bytes (as on
// aarch64): static TLS has room for a second copy of the library only if the total is small.
template <class T>
alignas(T) __attribute__((tls_model("initial-exec"))) inline constinit thread_local T per_thread{};

// A thread-local that code inlined into programs accesses, by its symbol. The second macro defines
// it, in one source file.
#define LOCKSWAP_SHOWN_PER_THREAD(T, name, symbol) \
  extern __attribute__((visibility("default"),     \
                        tls_model("initial-exec"))) constinit thread_local T name asm(symbol)
#define LOCKSWAP_SHOWN_PER_THREAD_HERE(T, name) \
  constinit thread_local T name {}

// A thread's id, as it was when the thread first asked for it in a given process (system_tid.h).
struct NotedTid {
  std::uint32_t value;
  std::uint64_t process;  // the stamp of the process in which it is valid
};

// The forking thread, which is a child's only thread, and the ids that it had in the ancestors.
class Survivor {
 public:
  // Called in the child, by the thread whose id was `before` in the parent, and is `here` now.
  static void is(NotedTid before, std::uint32_t here) noexcept {
    if (here_.load(relaxed) != before.value) {
      // The parent itself was forked by another thread, whose ids mean nothing here.
      for (auto& id : ids_)
        id.store(0, relaxed);
    }
    ids_[Process::number_of(before.process)].store(before.value, relaxed);
    here_.store(here, relaxed);
  }
  // Translates a tid that was recorded in the ancestor with that stamp. Returns the forking
  // thread's id in this process if `tid` was that thread, otherwise `tid` itself.
  static std::uint32_t id_of(std::uint32_t tid, std::uint64_t process) noexcept {
    const bool survived = ids_[Process::number_of(process)].load(relaxed) == tid;
    return survived ? here_.load(relaxed) : tid;
  }

 private:
  // All relaxed: the forking thread writes them, usually before it creates threads. Otherwise a
  // lock that it holds for writing may still appear to be held by its old id.
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

// The same, without checking which process the id belongs to. Returns 0, or the id from before a
// fork, if the thread has not asked for its id in this process.
[[gnu::always_inline]] inline std::uint32_t thread_id_if_known() noexcept {
  return TidWord::read();
}

// The same, with that check. Returns 0 if the thread has not asked for its id in this process.
[[gnu::always_inline]] inline std::uint32_t thread_id_if_noted() noexcept {
  return Process::is(per_thread<NotedTid>.process) ? TidWord::read() : 0;
}

// For slow paths, which may see locks from before a fork. The forking thread is known only once it
// has asked for its id, and a child made by a raw clone may change that id later (system_tid.h).
[[gnu::noinline]] inline void make_survivor_known() noexcept {
  const std::uint32_t id = thread_id();
  if (id != per_thread<NotedTid>.value) note_thread_id();
}

// Returns whether this process has a thread with that id; true if seccomp blocks the call.
inline bool has_thread(std::uint32_t tid) noexcept {
  const long pid = raw_syscall(SYS_getpid);
  return raw_syscall(SYS_tgkill, pid, static_cast<long>(tid), 0) != -ESRCH;
}

// Thread exit. Hooks are added once per process; a thread that caches something arms them.
//
// A thread-specific data key would not do: a program can delete any key by number, and then get the
// same number from pthread_key_create. Instead, threads start in a frame of the library
// (thread_frame.h), which they leave when their function returns, or when they exit or are
// cancelled. Libraries that programs link with have no such frame, and use libc_watch.h, which
// allocates per thread and takes the loader lock.
//
// The hooks run once per thread. The program's own destructors run later, and may lock: there, and
// in threads without a frame, arm() returns false and nothing may be cached. The main thread ends
// with the process, or by pthread_exit.
class ThreadExit {
  // kept: the main thread, and threads at whose exit libc calls end().
  enum class Phase : std::uint8_t { unknown, in_frame, kept, foreign, over };
  struct State {
    bool armed;
    Phase phase;
  };

 public:
  using Hook = void (*)();

  // May be called at any time by any thread. Idempotent. Returns false if there are too many hooks.
  static bool add(Hook hook) noexcept {
    // All relaxed: a hook only reads what its own thread has written.
    for (auto& h : hooks_) {
      Hook there = h.load(relaxed);
      if (there == nullptr && h.compare_exchange(there, hook, relaxed)) return true;
      if (there == hook) return true;
    }
    return false;
  }

  // Makes the hooks run when the calling thread exits. Returns false if they will not run, so that
  // the thread must not cache anything that has to be given back.
  static bool arm() noexcept {
    State& s = per_thread<State>;
    if (s.armed) [[likely]]
      return true;
    if (s.phase == Phase::unknown) {
      s.phase = Phase::foreign;  // what follows may lock, and so call arm() recursively
      const bool is_seen = watch_ != nullptr ? watch_() : thread_id() == main_.load(relaxed);
      if (is_seen) s.phase = Phase::kept;
    }
    return s.armed = s.phase == Phase::in_frame || s.phase == Phase::kept;
  }
  static bool is_armed() noexcept { return per_thread<State>.armed; }

  // Called when the calling thread enters a frame of the library.
  static void begin() noexcept { per_thread<State>.phase = Phase::in_frame; }
  // Called when it leaves the frame.
  static void end() noexcept {
    per_thread<State> = {.armed = false, .phase = Phase::over};
    for (const auto& h : hooks_) {
      if (const Hook hook = h.load(relaxed); hook != nullptr) hook();
    }
  }
  // Call before pthread_exit unwinds the main thread. Threads in a frame call end() on leaving it.
  static void end_main() noexcept {
    if (per_thread<State>.phase == Phase::kept) end();
  }

  // Called at start-up. Notes which thread is the main one. This can't wait: a seccomp filter may
  // be installed later, and after a fork the thread has another id.
  static void prepare() noexcept {
    main_.store(static_cast<std::uint32_t>(raw_syscall(SYS_getpid)), relaxed);
    if (thread_id() == main_.load(relaxed)) per_thread<State>.phase = Phase::kept;
  }
  // The alternative: has libc call end() in threads that started in no frame (libc_watch.h).
  using Watch = bool (*)() noexcept;
  static void prepare(Watch watch) noexcept { watch_ = watch; }

 private:
  static inline constinit NativeAtomic<std::uint32_t> main_{0};
  static inline constinit Watch watch_ = nullptr;
  static constexpr int kMostHooks = 32;  // the library has 9; tests instantiate more templates
  static inline constinit NativeAtomic<Hook> hooks_[kMostHooks] = {};
};

}  // namespace lockswap
