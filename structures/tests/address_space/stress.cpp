// Threads in one address space. Each has pages of its own, which it maps, writes, protects and
// unmaps beside its neighbours' in the same tables, so what it must find there is known; all read
// and unmap a part that they share, in which a page holds 0 or what was last written there.
//
//   stress SECONDS    for each design
#include <atomic>
#include <chrono>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

#include "address_space/designs.h"
#include "model.h"
#include "modes.h"
#include "seen_ranges.h"

namespace address_space_test {
namespace {

constexpr int kThreads = 3;
constexpr std::uint64_t kCommon = 2553;  // across two leaves

// Pages may be large; the region that was found last is kept.
enum class Extra : std::uint8_t { none, large, kept };

template <template <class> class Design>
bool stress_design(const char* name, double seconds, Extra extra) {
  const bool large = extra == Extra::large;
  using Engine = Space<M, Design>;
  Engine engine;
  if (large) engine.use_large_pages();
  if constexpr (requires { engine.sync().index().keep_last(); }) {
    if (extra == Extra::kept) engine.sync().index().keep_last();
  } else {
    if (extra == Extra::kept) return true;  // faults that take no lock keep none
  }
  // A large page of its own, and one together with a neighbour.
  const std::uint64_t own = large ? 700 : 40;
  std::atomic<std::uint64_t> done{0}, wrong{0};
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::milliseconds(static_cast<long>(1000 * seconds));
  std::vector<Model> models(kThreads, Model(0));
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      typename Engine::Hand hand(engine.sync());
      std::mt19937 random(t + 1);
      Files none;
      Model& model = models[t];
      // Some at least, however busy the machine is.
      for (int i = 0; i < 50 || std::chrono::steady_clock::now() < end; ++i) {
        Step op{};
        const auto kind = random() % 16;
        op.kind = kind < 4    ? Step::read
                  : kind < 9  ? Step::write
                  : kind < 11 ? Step::map
                  : kind < 12 ? Step::unmap
                  : kind < 15 ? Step::protect
                              : Step::discard;
        const std::uint64_t at = random() % own;
        op.start = t * own + at;
        op.end = op.start + 1 + random() % (own - at);
        if (large && random() % 8 == 0) {  // all of it
          op.start = t * own;
          op.end = op.start + own;
        }
        op.protection = random() % 4 == 0 ? kRead : kRead | kWrite;
        op.value = random();
        if (apply<Engine, M>(engine, hand, op, nullptr) != model.apply(op, none)) ++wrong;
        ++done;
        // What all share.
        op.start = kCommon + random() % 16;
        op.end = op.start + 1 + random() % 8;
        op.protection = kRead | kWrite;
        op.value = op.start;
        const Result r = apply<Engine, M>(engine, hand, op, nullptr);
        if (op.kind == Step::read && r.ok && r.value != 0 && r.value != op.start) ++wrong;
      }
    });
  }
  for (auto& t : threads)
    t.join();
  // The regions of the parts that are a thread's own, page by page.
  std::vector<Model::Run> want, got;
  const auto split = [own](const std::vector<Model::Run>& runs, std::vector<Model::Run>& pages) {
    for (const auto& r : runs) {
      for (std::uint64_t p = r.start; p < r.end && p < kThreads * own; ++p)
        pages.push_back({p, p + 1, r.protection, r.file, r.shared});
    }
  };
  for (const Model& m : models)
    split(m.runs(), want);
  split(runs_of<Engine, M>(engine, nullptr, 0), got);
  if (got != want || engine.strays() != 0) ++wrong;
  std::printf("%s%s: %llu operations, %llu wrong\n", name,
              large                  ? ", large pages"
              : extra == Extra::kept ? ", the last region kept"
                                     : "",
              static_cast<unsigned long long>(done.load()),
              static_cast<unsigned long long>(wrong.load()));
  return wrong == 0 && done > 0;
}

bool stress(double seconds, unsigned) {
  bool good = true;
#define DESIGN(name, Class)                                         \
  good = stress_design<Class>(name, seconds, Extra::none) && good;  \
  good = stress_design<Class>(name, seconds, Extra::large) && good; \
  good = stress_design<Class>(name, seconds / 2, Extra::kept) && good;
#include "address_space/designs.def"
#undef DESIGN
  return good;
}
const Mode kStress("stress", stress);

}  // namespace
}  // namespace address_space_test
