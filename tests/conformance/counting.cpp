// An observer is a file like this one. It counts the program's calls by what they do, and at the
// end of the process appends its counts to the file that COUNTED_CALLS names.

#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "interpose/first_call.h"
#include "interpose/real_symbols.h"
#include "interpose/start.h"

namespace lockswap {

constexpr const char* kActs[] = {"init",   "destroy", "lock",   "lock_shared",
                                 "unlock", "wait",    "signal", "broadcast"};
constexpr const char* kForms[] = {"plain", "attempt", "timed", "clock"};

template <class Table>
struct Counting {
  static inline constinit NativeAtomic<unsigned long> calls[std::size(kActs)][std::size(kForms)]{};

  template <class C>
  static int on(C call, auto... args) {
    calls[static_cast<int>(C::kAct)][static_cast<int>(C::kForm)].fetch_add(1, relaxed);
    return call.next(args...);
  }
  static void print(const char* name, std::FILE* to) {
    for (std::size_t a = 0; a < std::size(kActs); ++a)
      for (std::size_t f = 0; f < std::size(kForms); ++f)
        if (const unsigned long n = calls[a][f].load(relaxed); n != 0)
          std::fprintf(to, "%s %s %s: %lu\n", name, kActs[a], kForms[f], n);
  }
};

static void start() noexcept {
  if (resolve_real_symbols() != nullptr) std::abort();
  active_rwlock = around<Counting<RwOps>, system_rwlock>;
  active_mutex = around<Counting<MutexOps>, system_mutex>;
  active_cond = around<Counting<CondOps>, system_cond>;
  active_old_cond = around<Counting<CondOps>, system_old_cond>;
}
__attribute__((constructor)) static void on_load() { started<start>(); }
__attribute__((destructor)) static void on_exit() {
  const char* name = std::getenv("COUNTED_CALLS");
  std::FILE* to = name == nullptr ? nullptr : std::fopen(name, "a");
  if (to == nullptr) return;
  Counting<RwOps>::print("rwlock", to);
  Counting<MutexOps>::print("mutex", to);
  Counting<CondOps>::print("cond", to);
  std::fclose(to);
}
void resolve_thread_functions() noexcept {}

constinit RwOps active_rwlock = around<FirstCall<start, system_rwlock>, active_rwlock>;
constinit MutexOps active_mutex = around<FirstCall<start, system_mutex>, active_mutex>;
constinit CondOps active_cond = around<FirstCall<start, system_cond>, active_cond>;
constinit CondOps active_old_cond = around<FirstCall<start, system_old_cond>, active_old_cond>;

}  // namespace lockswap
