#include "fuzz/live.h"

#include "platform/clock.h"
#include "platform/memory.h"
#include "platform/syscall.h"
#include "platform/thread.h"
#include "recording/unwind.h"

namespace lockswap::fuzz {
namespace {

constexpr std::size_t kSlots = 512;
constinit Slot* slots = nullptr;  // nullptr if there is no observer

// Zero in a new thread.
struct Own {
  Slot* slot;
};

std::uint64_t process() noexcept {
  return static_cast<std::uint64_t>(raw_syscall(SYS_getpid)) << 32;
}

// A thread that has ended may still hold what others wait for, or be the one that signalled. So its
// slot is not reused while others are free.
void on_thread_exit() noexcept {
  Slot*& own = per_thread<Own>.slot;
  if (own == nullptr) return;
  own->waits.store(0, relaxed);
  own->self.store(0, relaxed);
  own = nullptr;
}

void in_forked_child() noexcept { per_thread<Own>.slot = nullptr; }

// Takes a free slot for the thread with this id, and returns its number. If none is free it is the
// last one, which many threads may share.
std::size_t free_slot(std::uint64_t id, bool of_ended) noexcept {
  for (std::size_t i = 0; i < kSlots - 1; ++i) {
    Slot& s = slots[i];
    std::uint64_t before = s.thread.load(relaxed);
    const bool is_free =
        before == 0 || (of_ended && s.self.load(relaxed) == 0 && s.holds.load(relaxed) == 0);
    // relaxed: it only decides who gets the slot, and no other thread reads that.
    if (is_free && s.thread.compare_exchange(before, id, relaxed)) return i;
  }
  return kSlots - 1;
}

[[gnu::noinline]] Slot* take_slot() noexcept {
  const std::uint64_t id = process() | thread_id();
  std::size_t i = free_slot(id, false);
  if (i == kSlots - 1) i = free_slot(id, true);
  Slot& s = slots[i];
  s.waits.store(0, relaxed);
  s.holds.store(0, relaxed);
  s.signals.store(0, relaxed);
  s.self.store(pthread_self(), relaxed);
  per_thread<Own>.slot = &s;
  ThreadExit::arm();
  return &s;
}

Slot* mine() noexcept {
  if (slots == nullptr) return nullptr;
  Slot* const own = per_thread<Own>.slot;
  return own != nullptr ? own : take_slot();
}

}  // namespace

void prepare_slots(const char* file) noexcept {
  if (slots != nullptr) return;  // in a child that was forked during the start
  slots = static_cast<Slot*>(map_file(file, kSlots * sizeof(Slot)));
  if (slots == nullptr) return;
  ThreadExit::prepare();
  ThreadExit::add(&on_thread_exit);
  pthread_atfork(nullptr, nullptr, in_forked_child);
}

void count_point() noexcept {
  if (Slot* const own = mine(); own != nullptr)
    own->points.store(own->points.load(relaxed) + 1, relaxed);
}

void note_hold(const void* object, const void* caller, Waits mode) noexcept {
  Slot* const own = mine();
  if (own == nullptr) return;
  const std::uint64_t n = own->holds.load(relaxed);
  if (n < Slot::kHeld) {
    Held& h = own->held[n];
    h.object.store(reinterpret_cast<std::uint64_t>(object), relaxed);
    h.caller.store(reinterpret_cast<std::uint64_t>(caller), relaxed);
    h.mode.store(static_cast<std::uint64_t>(mode), relaxed);
  }
  own->holds.store(n + 1, relaxed);
}

const void* forget_hold(const void* object) noexcept {
  Slot* const own = mine();
  if (own == nullptr) return nullptr;
  const std::uint64_t n = own->holds.load(relaxed);
  const std::uint64_t there = n < Slot::kHeld ? n : Slot::kHeld;
  for (std::uint64_t i = there; i-- > 0;) {
    if (own->held[i].object.load(relaxed) != reinterpret_cast<std::uint64_t>(object)) continue;
    const std::uint64_t caller = own->held[i].caller.load(relaxed);
    for (std::uint64_t next = i + 1; next < there; ++next) {
      own->held[next - 1].object.store(own->held[next].object.load(relaxed), relaxed);
      own->held[next - 1].caller.store(own->held[next].caller.load(relaxed), relaxed);
      own->held[next - 1].mode.store(own->held[next].mode.load(relaxed), relaxed);
    }
    own->holds.store(there - 1, relaxed);
    return reinterpret_cast<const void*>(caller);
  }
  return nullptr;
}

void note_signal(const void* object, const void* caller, bool reaches_all) noexcept {
  Slot* const own = mine();
  if (own == nullptr) return;
  const std::uint64_t n = own->signals.load(relaxed);
  Signalled& s = own->signalled[n % Slot::kSignalled];
  s.object.store(reinterpret_cast<std::uint64_t>(object), relaxed);
  s.caller.store(reinterpret_cast<std::uint64_t>(caller), relaxed);
  s.at_ns.store(monotonic_ns(), relaxed);
  s.reaches_all.store(reaches_all ? 1 : 0, relaxed);
  own->signals.store(n + 1, relaxed);
}

Waiting::Waiting(Waits how, const void* object, const void* mutex, bool has_deadline,
                 const void* caller, bool with_stack) noexcept
    : slot_(mine()) {
  if (slot_ == nullptr) return;
  waits_ = slot_->waits.load(relaxed);
  object_ = slot_->object.load(relaxed);
  slot_->waits.store(0, relaxed);
  slot_->object.store(reinterpret_cast<std::uint64_t>(object), relaxed);
  slot_->mutex.store(reinterpret_cast<std::uint64_t>(mutex), relaxed);
  slot_->has_deadline.store(has_deadline ? 1 : 0, relaxed);
  slot_->since_ns.store(monotonic_ns(), relaxed);
  recording::Unwound u;
  if (with_stack) recording::unwind(u, Slot::kFrames);
  if (u.count == 0) {
    u.pc[0] = reinterpret_cast<std::uint64_t>(caller);
    u.count = 1;
  }
  for (std::uint32_t i = 0; i < u.count; ++i)
    slot_->frame[i].store(u.pc[i], relaxed);
  slot_->frames.store(u.count, relaxed);
  slot_->waits.store(static_cast<std::uint64_t>(how), relaxed);
}

Waiting::~Waiting() {
  if (slot_ == nullptr) return;
  slot_->object.store(object_, relaxed);
  slot_->waits.store(waits_, relaxed);
}

}  // namespace lockswap::fuzz
