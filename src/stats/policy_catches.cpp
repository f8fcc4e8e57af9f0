#include "stats/policy_catches.h"

#include <cstring>

#include "platform/memory.h"
#include "platform/syscall.h"

namespace lockswap {
namespace {

constinit Catches* table = nullptr;

constexpr std::size_t kProbes = 64;

// Identifies a place. Several rules may match at the same instruction, because of the objects'
// symbols.
std::uint64_t key_of(ObjectKind kind, int rule, const void* caller) noexcept {
  constexpr int kAddressBits = 56;
  const std::uint64_t which =
      static_cast<std::uint64_t>(rule + 1) * 2 + static_cast<unsigned>(kind);
  return reinterpret_cast<std::uintptr_t>(caller) ^ which << kAddressBits;  // not 0
}

void fill_in(Catch& c, ObjectKind kind, const CallSite& site) noexcept {
  c.kind = kind;
  c.rule = site.rule;
  c.address = site.address;
  const char* file = site.module == nullptr ? "" : site.module;
  const std::size_t n = std::strlen(file);
  const std::size_t kept = n > Catch::kLongestFile ? Catch::kLongestFile : n;
  std::memcpy(c.file, file + n - kept, kept + 1);
}

}  // namespace

bool prepare_catches() noexcept {
  table = static_cast<Catches*>(map_pages(sizeof(Catches)));
  return table != nullptr;
}

void count_catch(ObjectKind kind, const CallSite& site, const void* caller) noexcept {
  const auto k = static_cast<std::size_t>(kind);
  // relaxed, the counts: they publish nothing.
  table->objects[site.rule < 0 ? Policy::kMostRules : site.rule][k].fetch_add(1, relaxed);
  const std::uint64_t key = key_of(kind, site.rule, caller);
  std::size_t i = (key * 0x9E3779B97F4A7C15u) >> 40;
  for (std::size_t n = 0; n < kProbes; ++n, ++i) {
    Catch& c = table->places[i % Catches::kMost];
    std::uint64_t seen = c.key.load(relaxed);
    const bool is_new = seen == 0 && c.key.compare_exchange(seen, key, relaxed);
    if (!is_new && seen != key) continue;
    c.count.fetch_add(1, relaxed);
    if (is_new) {
      fill_in(c, kind, site);
      c.filled.store(1, release);  // pairs with the acquire load of a report: what was filled in
    }
    return;
  }
  table->dropped.fetch_add(1, relaxed);
}

const Catches* catches() noexcept { return table; }

void reset_catches() noexcept {
  if (table == nullptr) return;
  for (auto& row : table->objects) {
    for (auto& n : row)
      n.store(0, relaxed);
  }
  table->dropped.store(0, relaxed);
  for (Catch& c : table->places) {
    c.count.store(0, relaxed);
    c.filled.store(0, relaxed);
    c.key.store(0, relaxed);
  }
}

}  // namespace lockswap
