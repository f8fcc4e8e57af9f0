#include "interpose/load_order.h"

#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "config/environment.h"
#include "interpose/objects.h"
#include "platform/say.h"
#include "platform/text.h"
#include "report/parent.h"

namespace lockswap {
namespace {

constexpr const char* kRwlocks[] = {
    "pthread_rwlock_rdlock",      "pthread_rwlock_wrlock",      "pthread_rwlock_unlock",
    "pthread_rwlock_timedrdlock", "pthread_rwlock_timedwrlock",
};
constexpr const char* kMutexes[] = {
    "pthread_mutex_lock",
    "pthread_mutex_unlock",
    "pthread_mutex_trylock",
    "pthread_mutex_timedlock",
};
constexpr const char* kConds[] = {
    "pthread_cond_wait",
    "pthread_cond_timedwait",
    "pthread_cond_signal",
};
constexpr const char* kClocks[] = {"clock_gettime", "gettimeofday", "time"};
// A function of every sanitizer's runtime. Sanitizers replace the clock too, but forward its calls.
constexpr char kSanitizer[] = "__sanitizer_set_report_path";

template <class Names>
const char* first_defined(const link_map& object, const Names& names) noexcept {
  for (const char* name : names) {
    if (find_symbol(object, name, nullptr) != nullptr) return name;
  }
  return nullptr;
}

const char* defined_lock(const link_map& object, Swapped swapped) noexcept {
  const char* name = swapped.rwlocks ? first_defined(object, kRwlocks) : nullptr;
  if (name == nullptr && swapped.mutexes) name = first_defined(object, kMutexes);
  return name == nullptr && swapped.conds ? first_defined(object, kConds) : name;
}

const char* defined_clock(const link_map& object) noexcept {
  if (find_symbol(object, kSanitizer, nullptr) != nullptr) return nullptr;
  return first_defined(object, kClocks);
}

// Returns whether the object may forward calls: it asks the loader for the function behind its own,
// or calls it by its second name.
bool may_pass_on(const link_map& object) noexcept {
  bool yes = false;
  const auto look = [](void* found, const char* name, void*) {
    if (std::strcmp(name, "dlsym") == 0 || std::strcmp(name, "dlvsym") == 0 ||
        std::strncmp(name, "__pthread_", std::strlen("__pthread_")) == 0) {
      *static_cast<bool*>(found) = true;
    }
  };
  visit_references(object, look, &yes);
  return yes;
}

struct Misplaced {
  const link_map* object;
  const char* function;
  const char* what;  // what is wrong, and what to do
  std::uint64_t count;
};

void add(Misplaced& found, const link_map& object, const char* function,
         const char* what) noexcept {
  if (found.count++ == 0) {
    found.object = &object;
    found.function = function;
    found.what = what;
  }
}

void look_before(Misplaced& found, const link_map* own, Swapped swapped) noexcept {
  for (const link_map* m = first_object(); m != own; m = m->l_next) {
    const char* function = is_copy(*m) ? nullptr : defined_lock(*m, swapped);
    if (function == nullptr || may_pass_on(*m)) continue;
    add(found, *m, function,
        m == first_object() ? ", so lockswap never sees those calls; build it without"
                            : " itself, passes no call on and is loaded before lockswap, which "
                              "never sees those calls; put "
                              "lockswap before it in LD_PRELOAD, or drop one of the two");
  }
}

void look_behind(Misplaced& found, const link_map* own, Swapped swapped) noexcept {
  for (const link_map* m = own->l_next; m != nullptr && !is_glibcs(*m); m = m->l_next) {
    if (is_copy(*m)) continue;
    if (const char* function = defined_lock(*m, swapped); function != nullptr) {
      add(found, *m, function,
          " itself and is loaded after lockswap, so its own is never called; put it before "
          "lockswap in LD_PRELOAD");
    } else if (function = defined_clock(*m); function != nullptr) {
      add(found, *m, function,
          " itself and is loaded after lockswap, whose timed waits follow the real clock and may "
          "end at once or never; put it before lockswap in LD_PRELOAD");
    }
  }
}

// Returns whether the shell or script that started this process has the same library preloaded, and
// so has printed the message already.
bool is_said(const link_map& object) noexcept {
  const char* preloaded = environment_value("LD_PRELOAD");
  if (preloaded == nullptr || object.l_name[0] == 0) return false;
  return std::strstr(preloaded, file_name(object)) != nullptr &&
         (parent_began_with("LOCKSWAP_RWLOCK=") || parent_began_with("LOCKSWAP_MUTEX=") ||
          parent_began_with("LOCKSWAP_COND="));
}

}  // namespace

void warn_of_load_order(Swapped swapped) noexcept {
  const link_map* own = own_object();
  if (own == nullptr) return;  // loaded by dlmopen
  if (!swapped.any()) return;
  Misplaced found{};
  look_before(found, own, swapped);
  look_behind(found, own, swapped);
  if (found.count == 0 || is_said(*found.object)) return;
  static constinit char line[1024];
  Text text(line, sizeof line);
  text << "lockswap: warning: "
       << (found.object->l_name[0] != 0 ? found.object->l_name : "the program itself")
       << " replaces " << found.function << found.what;
  if (found.count > 1) text << "; " << found.count - 1 << " more like this";
  text << " (LOCKSWAP_VERBOSE=0: no warnings)\n";
  say(line);
}

}  // namespace lockswap
