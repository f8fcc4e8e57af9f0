#include "metrics/series.h"

#include <cstring>

#include "metrics/file.h"
#include "recording/modules.h"
#include "recording/places.h"
#include "recording/unwind.h"

namespace lockswap::metrics {
namespace {

constexpr unsigned kAligned = 3;  // low bits of an address that are 0
constexpr unsigned kSeriesBits = 8;
constexpr std::size_t kMostProbes = 64;

std::uint64_t number_of(const void* address) noexcept {
  return reinterpret_cast<std::uint64_t>(address);
}

constexpr std::uint64_t word_of(std::uint64_t address, std::uint32_t series) noexcept {
  return address >> kAligned << kSeriesBits | series;
}

// Where a lock comes from.
struct Origin {
  Kind kind;
  std::uint32_t frames = 0;
  Place object = 0;
  Place frame[kFrames];
};

[[gnu::noinline]] void find_stack(Origin& o, const void* caller) noexcept {
  recording::Unwound u;
  recording::unwind(u, kFrames);
  if (u.count == 0) u.pc[u.count++] = number_of(caller);
  o.frames = u.count;
  for (std::uint32_t i = 0; i < u.count; ++i)
    o.frame[i] = recording::place_of_code(record().head, world().guard, u.pc[i]);
}

bool is_of(const Series& s, const Origin& o) noexcept {
  return s.kind == o.kind && s.object == o.object && s.frames == o.frames &&
         std::memcmp(s.frame, o.frame, o.frames * sizeof *o.frame) == 0;
}

std::uint32_t find_series(const Origin& o, std::uint32_t from, std::uint32_t to) noexcept {
  for (std::uint32_t i = from; i < to; ++i) {
    if (is_of(record().series[i], o)) return i;
  }
  return 0;
}

std::uint32_t series_of(const Origin& o) noexcept {
  Record& r = record();
  const std::uint32_t known = r.count.load(acquire);  // pairs with the store below
  if (const std::uint32_t i = find_series(o, 1, known); i != 0) return i;
  world().guard.lock();
  const std::uint32_t count = r.count.load(relaxed);  // relaxed: under the guard
  std::uint32_t i = find_series(o, known, count);
  if (i == 0 && count < kMostSeries) {
    Series& s = r.series[count];
    s.kind = o.kind;
    s.frames = o.frames;
    s.object = o.object;
    std::memcpy(s.frame, o.frame, o.frames * sizeof *o.frame);
    r.count.store(count + 1, release);  // release: also for a reader of the file
    i = count;
  }
  world().guard.unlock();
  return i;
}

}  // namespace

Object* find_object(const void* lock, bool make) noexcept {
  const std::uint64_t address = number_of(lock);
  if (address % (1u << kAligned) != 0) return nullptr;  // no compiler places a lock there
  constexpr unsigned kBits = 16;
  static_assert(kObjects == std::size_t{1} << kBits);
  const std::size_t first = (address >> kAligned) * 0x9e3779b97f4a7c15u >> (64 - kBits);
  const std::uint64_t fresh = word_of(address, kUndecided);
  for (std::size_t i = 0; i < kMostProbes; ++i) {
    Object& o = world().objects[(first + i) % kObjects];
    std::uint64_t there = o.load(relaxed);
    if (there == 0 && (!make || o.compare_exchange(there, fresh, relaxed)))
      return make ? &o : nullptr;
    if (there >> kSeriesBits == fresh >> kSeriesBits) return &o;
  }
  return nullptr;
}

std::uint32_t decide(Object& object, const void* lock, Kind kind, const void* caller) noexcept {
  Origin origin{.kind = kind};
  if (recording::modules.at(lock).object != nullptr) {
    origin.object = recording::place_of_data(record().head, world().guard, number_of(lock));
  } else {
    find_stack(origin, caller);
  }
  const std::uint32_t series = series_of(origin);
  // relaxed: another thread's result is as good.
  object.store(word_of(number_of(lock), series), relaxed);
  return series;
}

void forget(const void* lock) noexcept {
  Object* const object = find_object(lock, false);
  if (object != nullptr) object->store(word_of(number_of(lock), kUndecided), relaxed);
}

}  // namespace lockswap::metrics
