// What belongs to one thread: zero-initialised state, an identity for hashing, the kernel's thread
// id, and a hook at thread exit.
//
// Thread-locals use the initial-exec model: two instructions, no call, no malloc, and the price of
// some 800 bytes of the static TLS block. A thread that exits and locks again in a later key
// destructor finds its state zeroed or emptied, never gone.
#pragma once

#include <cerrno>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/identity.h"  // IWYU pragma: export
#include "platform/process.h"
#include "platform/syscall.h"
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

// The same with a look at the process: 0 if the thread has not asked for its id in this process.
[[gnu::always_inline]] inline std::uint32_t thread_id_if_noted() noexcept {
  return Process::is(per_thread<NotedTid>.process) ? TidWord::read() : 0;
}

// For slow paths, in which locks of an earlier process are met. The survivor is known only after it
// has asked for its id; and a program may give it another one even then.
[[gnu::noinline]] inline void make_survivor_known() noexcept {
  const std::uint32_t id = thread_id();
  if (id != per_thread<NotedTid>.value) note_thread_id();
}

// Returns whether this process has a thread with that id; true where a filter refuses the question.
inline bool has_thread(std::uint32_t tid) noexcept {
  const long pid = raw_syscall(SYS_getpid);
  return raw_syscall(SYS_tgkill, pid, static_cast<long>(tid), 0) != -ESRCH;
}

// Thread exit. Hooks are added once for the process; a thread that keeps something arms them.
//
// No key of thread-specific data does this: a program can name each, delete it, and have its number
// for a key of its own. A thread begins in a frame of the library's instead (thread_frame.h), which
// is left when its function returns, and when it exits or is cancelled. Or libc is asked, which
// needs memory for each thread and the loader's lock: only where the program calls this library by
// name.
//
// The hooks run once. The program's destructors of thread-local and thread-specific data come
// later, and may lock; then, and in a thread that began in no such frame, arm says no, and nothing
// is kept. The main thread ends with the process, or by pthread_exit.
class ThreadExit {
  // kept: the main thread, and those that libc watches.
  enum class Phase : std::uint8_t { unknown, in_frame, kept, foreign, over };
  struct State {
    bool armed;
    Phase phase;
  };

 public:
  using Hook = void (*)();

  // At any time, by any thread. Idempotent. Returns false if there are too many hooks.
  static bool add(Hook hook) noexcept {
    // relaxed, all: a hook looks only at what its own thread has done.
    for (auto& h : hooks_) {
      Hook there = h.load(relaxed);
      if (there == nullptr && h.compare_exchange(there, hook, relaxed)) return true;
      if (there == hook) return true;
    }
    return false;
  }

  // Asks that the hooks run when the calling thread exits. Returns false if they will not, so keep
  // nothing that must be given back.
  static bool arm() noexcept {
    State& s = per_thread<State>;
    if (s.armed) [[likely]]
      return true;
    if (s.phase == Phase::unknown) {
      s.phase = Phase::foreign;  // what follows may come here again
      const bool is_seen = watch_ != nullptr ? watch_() : thread_id() == main_.load(relaxed);
      if (is_seen) s.phase = Phase::kept;
    }
    return s.armed = s.phase == Phase::in_frame || s.phase == Phase::kept;
  }
  static bool is_armed() noexcept { return per_thread<State>.armed; }

  // The calling thread is in a frame of the library's from here on.
  static void begin() noexcept { per_thread<State>.phase = Phase::in_frame; }
  // It leaves the frame.
  static void end() noexcept {
    per_thread<State> = {.armed = false, .phase = Phase::over};
    for (const auto& h : hooks_) {
      if (const Hook hook = h.load(relaxed); hook != nullptr) hook();
    }
  }
  // Before the calling thread unwinds its stack to end. One in a frame leaves that yet.
  static void end_main() noexcept {
    if (per_thread<State>.phase == Phase::kept) end();
  }

  // Called at start-up. Notes which thread is the main one. A filter of system calls may come
  // later, and a fork, after which that thread has another id.
  static void prepare() noexcept {
    main_.store(static_cast<std::uint32_t>(raw_syscall(SYS_getpid)), relaxed);
    if (thread_id() == main_.load(relaxed)) per_thread<State>.phase = Phase::kept;
  }
  // Instead: asks for a call of end in threads that began in no frame (libc_watch.h).
  using Watch = bool (*)() noexcept;
  static void prepare(Watch watch) noexcept { watch_ = watch; }

 private:
  static inline constinit NativeAtomic<std::uint32_t> main_{0};
  static inline constinit Watch watch_ = nullptr;
  static constexpr int kMostHooks = 32;  // 9 in the library, all of a test's templates in the test
  static inline constinit NativeAtomic<Hook> hooks_[kMostHooks] = {};
};

}  // namespace lockswap
