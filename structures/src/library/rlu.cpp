// The exported functions of rlu.h. They check arguments and leave the rest to rlu/.

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "library/rlu_library.h"
#include "lockswap/rlu_inline.h"
#include "platform/native.h"
#include "platform/say.h"
#include "platform/text.h"

#define LOCKSWAP_EXPORTED __attribute__((visibility("default")))

using lockswap::Native;
using lockswap::RluLibrary;
using lockswap::rlu::Result;
using Context = RluLibrary::Context;
using Section = RluLibrary::Section;

static_assert(sizeof(lockswap_rlu_header) == sizeof(RluLibrary::Header));
static_assert(offsetof(lockswap_rlu_header, copy) == 0);
static_assert(sizeof(lockswap_rlu_domain) >= sizeof(lockswap::NativeAtomic<std::uint32_t>));
static_assert(sizeof(lockswap_rlu_writer_lock) == sizeof(RluLibrary::WriterLock));
static_assert(sizeof(lockswap_rlu_callback) == sizeof(lockswap::rlu::Callback));

// The part of a thread's context that rlu_inline.h uses.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // gcc and clang have it for such classes
static_assert(offsetof(lockswap_rlu_context_1, word) == offsetof(Context, word));
static_assert(offsetof(lockswap_rlu_context_1, clock) == offsetof(Context, clock));
static_assert(offsetof(lockswap_rlu_context_1, state) == offsetof(Context, depth));
static_assert(offsetof(lockswap_rlu_context_1, state) + 4 == offsetof(Context, duties));
static_assert(std::endian::native == std::endian::little);
using Here = lockswap::rlu::Local<Native>;
static_assert(offsetof(struct lockswap_rlu_here_1, context) == offsetof(Here, context));
static_assert(offsetof(struct lockswap_rlu_here_1, mark) == offsetof(Here, mark));
static_assert(sizeof(struct lockswap_rlu_here_1) == sizeof(Here));
#pragma GCC diagnostic pop

namespace {

RluLibrary::WriterLock& lock_of(lockswap_rlu_writer_lock* l) noexcept {
  return *reinterpret_cast<RluLibrary::WriterLock*>(l);
}
using Deferral = lockswap::NativeAtomic<std::uint32_t>;  // a domain's; 0 means 1
const Deferral& deferral_of(const lockswap_rlu_domain& d) noexcept {
  return *reinterpret_cast<const Deferral*>(&d);
}
int error_of(Result result) noexcept {
  switch (result) {
    case Result::done:
      return 0;
    case Result::busy:
      return EBUSY;
    case Result::no_memory:
      return ENOMEM;
    case Result::outside:
      return EPERM;
    case Result::nested:
      break;
  }
  return EDEADLK;
}
void* unlocked(const void* p) noexcept { return const_cast<void*>(p); }

// Calls f(context), or returns that the thread is in a section.
template <class F>
int outside(const F& f) noexcept {
  Context* const c = RluLibrary::outside();
  if (c == nullptr) return EDEADLK;
  f(*c);
  RluLibrary::Threads::end_lease(*c);
  return 0;
}

const char* wrong_with_freed(int what) noexcept {
  switch (what) {
    case LOCKSWAP_RLU_AT_DEREFERENCE:
      return "dereference of an object that is freed";
    case LOCKSWAP_RLU_AT_LOCK:
      return "lock of an object that is freed";
    case LOCKSWAP_RLU_AT_FREE:
    case LOCKSWAP_RLU_AT_DISCARD:
      return "free of an object that is freed already";
    default:
      return nullptr;
  }
}
const char* wrong(int what, void* object) noexcept {
  using Checks = RluLibrary::Checks;
  lockswap::KnownObjects::begin();
  if (object != nullptr && lockswap::KnownObjects::is_freed(object)) {
    if (const char* const why = wrong_with_freed(what)) return why;
  }
  switch (what) {
    case LOCKSWAP_RLU_AT_UNLOCK:
      return Checks::end();
    case LOCKSWAP_RLU_AT_ABORT:
      return Checks::abort();
    case LOCKSWAP_RLU_AT_DEREFERENCE:
      return Checks::dereference(object);
    case LOCKSWAP_RLU_AT_LOCK:
      return Checks::lock(object);
    case LOCKSWAP_RLU_AT_FREE:
      return Checks::free(object);
    case LOCKSWAP_RLU_AT_DISCARD:
      return Checks::discard(object);
    case LOCKSWAP_RLU_AT_BEGIN:
      return Checks::begin();
    case LOCKSWAP_RLU_AT_MADE:
      if (object != nullptr) lockswap::KnownObjects::made(object);
      return Checks::made(object);
    case LOCKSWAP_RLU_AT_UPDATE:
      return Checks::update();
    // NOLINTBEGIN(clang-analyzer-core.NonNullParamChecker): the header passes a lock
    case LOCKSWAP_RLU_AT_WRITER_ACQUIRE:
      return Checks::writer_acquire(*static_cast<RluLibrary::WriterLock*>(object));
    case LOCKSWAP_RLU_AT_WRITER_RELEASE:
      return Checks::writer_release(*static_cast<RluLibrary::WriterLock*>(object));
    // NOLINTEND(clang-analyzer-core.NonNullParamChecker)
    default:
      return Checks::wait();
  }
}

// Called if there was no memory. A separate function, so that the usual path needs no stack frame.
[[gnu::noinline, gnu::cold]] void begin_at_last() noexcept {
  unsigned round = 0;
  do {
    Native::step_aside(round++);
  } while (!Section::begin());
}

}  // namespace

extern "C" {

#if defined(LOCKSWAP_CHECKED) || defined(LOCKSWAP_TSAN)
// The header's declaration exports nothing.
// NOLINTNEXTLINE(readability-redundant-declaration)
LOCKSWAP_EXPORTED extern const char lockswap_structures_checked_is_needed_under_ThreadSanitizer;
const char lockswap_structures_checked_is_needed_under_ThreadSanitizer = 0;
#endif

constinit const struct lockswap_rlu_process_1 lockswap_rlu_process_1 = {
    &lockswap::rlu::shared<Native>().clock.now(), lockswap::Process::mark_word(),
    lockswap::rlu::shared<Native>().clock.fence().word()};

LOCKSWAP_EXPORTED void* lockswap_rlu_made(void* memory, size_t size, void (*give)(void*)) {
  const std::uint16_t number = lockswap::FreeFunctions::number_of(give);
  const bool is_known = number != 0 || give == nullptr;
  if (!is_known || size >= std::uint64_t{1} << 48) return nullptr;
  auto* const h = static_cast<RluLibrary::Header*>(memory);
  h->size = size;
  h->give = number;
  lockswap::KnownObjects::made(h + 1);
  return h + 1;
}

LOCKSWAP_EXPORTED int lockswap_rlu_free(void* object) {
  if (object == nullptr) return 0;
  return error_of(RluLibrary::in_section() ? Section::free(object) : Section::free_alone(object));
}

LOCKSWAP_EXPORTED void lockswap_rlu_discard(void* object) {
  if (object != nullptr) lockswap::ProgramHeap::give(LOCKSWAP_RLU_HEADER(object));
}

LOCKSWAP_EXPORTED int lockswap_rlu_register() {
  return RluLibrary::Threads::attach() == nullptr ? ENOMEM : 0;
}
LOCKSWAP_EXPORTED void lockswap_rlu_reader_lock() {
  if (!Section::begin()) [[unlikely]]
    begin_at_last();
}
LOCKSWAP_EXPORTED void lockswap_rlu_fence() { Section::fence(*RluLibrary::Threads::current()); }
LOCKSWAP_EXPORTED int lockswap_rlu_reader_unlock() {
  return Section::end() == Result::done ? 0 : EPERM;
}
LOCKSWAP_EXPORTED int lockswap_rlu_abort() { return error_of(Section::abort()); }
LOCKSWAP_EXPORTED unsigned lockswap_rlu_depth() { return RluLibrary::depth(); }

LOCKSWAP_EXPORTED void* lockswap_rlu_steal(const void* object) {
  return Section::steal(unlocked(object));
}
LOCKSWAP_EXPORTED void* lockswap_rlu_counted_dereference(const void* object) {
  return Section::dereference(unlocked(object));
}
LOCKSWAP_EXPORTED void* lockswap_rlu_try_lock(void* object) { return Section::try_lock(object); }
LOCKSWAP_EXPORTED void* lockswap_rlu_try_lock_const(void* object) {
  return Section::try_lock_const(object);
}
LOCKSWAP_EXPORTED void* lockswap_rlu_actual_of_copy(const void* copy) {
  return Section::actual(unlocked(copy));
}

LOCKSWAP_EXPORTED int lockswap_rlu_set_deferral(unsigned commits) {
  if (commits == 0) return EINVAL;
  // relaxed: a setting.
  lockswap::rlu::shared<Native>().limit.store(commits, lockswap::relaxed);
  return 0;
}
LOCKSWAP_EXPORTED int lockswap_rlu_domain_set_deferral(lockswap_rlu_domain* domain,
                                                       unsigned commits) {
  if (commits == 0) return EINVAL;
  reinterpret_cast<Deferral*>(domain)->store(commits, lockswap::relaxed);  // relaxed: a setting
  return 0;
}
LOCKSWAP_EXPORTED int lockswap_rlu_join(const lockswap_rlu_domain* domain) {
  // relaxed, both: settings.
  const std::uint32_t commits = domain != nullptr
                                    ? deferral_of(*domain).load(lockswap::relaxed)
                                    : lockswap::rlu::shared<Native>().limit.load(lockswap::relaxed);
  return error_of(Section::defer(commits == 0 ? 1 : commits));
}
LOCKSWAP_EXPORTED int lockswap_rlu_flush() {
  return outside([](Context& c) { Section::flush(c); });
}
LOCKSWAP_EXPORTED int lockswap_rlu_flush_all() {
  return outside([](Context& c) { Section::flush_all(c); });
}

LOCKSWAP_EXPORTED int lockswap_rlu_writer_acquire(lockswap_rlu_writer_lock* lock) {
  Context* const c = RluLibrary::outside();
  if (c == nullptr || lock_of(lock).is_of(*c)) return EDEADLK;
  Section::before_writer_lock(*c);
  lock_of(lock).acquire_by(*c);
  return 0;
}
LOCKSWAP_EXPORTED int lockswap_rlu_writer_release(lockswap_rlu_writer_lock* lock) {
  Context* const c = RluLibrary::outside();
  if (c == nullptr) return EDEADLK;
  if (!lock_of(lock).is_of(*c)) return EPERM;
  lock_of(lock).release_by(*c);
  RluLibrary::Threads::end_lease(*c);
  return 0;
}

LOCKSWAP_EXPORTED int lockswap_rlu_synchronize() {
  return outside([](Context& c) { RluLibrary::Callbacks::run_all(c); });
}
LOCKSWAP_EXPORTED void lockswap_rlu_call(lockswap_rlu_callback* callback,
                                         void (*function)(lockswap_rlu_callback*)) {
  Context& c = RluLibrary::in_section() ? *RluLibrary::Threads::current() : RluLibrary::context();
  callback->function = function;
  RluLibrary::Callbacks::call(c, reinterpret_cast<lockswap::rlu::Callback*>(callback));
  if (c.depth != 0) return;
  RluLibrary::Callbacks::look_after(c);
  RluLibrary::Threads::end_lease(c);
}
LOCKSWAP_EXPORTED int lockswap_rlu_barrier() {
  Context* const c = RluLibrary::outside();
  if (c == nullptr || c->in_callback) return EDEADLK;
  RluLibrary::Callbacks::barrier(*c);
  RluLibrary::Threads::end_lease(*c);
  return 0;
}

LOCKSWAP_EXPORTED int lockswap_rlu_get_counts(lockswap_rlu_counts* counts) {
  lockswap_rlu_counts sum{};
  lockswap::rlu::each_context<Native>([&sum](const Context& c) {
    const auto& t = c.tallies;
    ++sum.threads;
    sum.commits += t.commits.get();
    sum.aborts += t.aborts.get();
    sum.syncs += t.syncs.get();
    sum.helps += t.helps.get();
    sum.synchronizes += t.synchronizes.get();
    sum.wait_loops += t.wait_loops.get();
    sum.locks += t.locks.get();
    sum.sync_requests += t.sync_requests.get();
    sum.reads += t.reads.get();
    sum.steals += t.steals.get();
    sum.write_backs += t.write_backs.get();
    sum.log_bytes += t.log_bytes.get();
  });
  *counts = sum;
  return 0;
}

LOCKSWAP_EXPORTED void* lockswap_rlu_check(int what, const void* object, const char* file,
                                           int line) {
  const char* const why = wrong(what, unlocked(object));
  // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): Checks::free only looks at the object
  if (why == nullptr) return unlocked(object);
  char text[1024];
  lockswap::Text(text, sizeof text) << "lockswap: " << file << ":"
                                    << static_cast<std::uint64_t>(line) << ": rlu: " << why << "\n";
  lockswap::say(text);
  std::abort();
}

}  // extern "C"
