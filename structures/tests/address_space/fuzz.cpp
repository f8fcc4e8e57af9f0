// Random operations of one thread: the engine, with each design, beside the sequential model; forks
// of it, too. After each operation the answers agree; after each of the others, the regions.
//
//   fuzz OPERATIONS [SEED]    for each design
#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>

#include "address_space/designs.h"
#include "model.h"
#include "modes.h"
#include "seen_ranges.h"

namespace address_space_test {
namespace {

constexpr std::uint64_t kHeap = 60;
constexpr std::uint64_t kStack = 24, kGap = 3;
constexpr std::uint64_t kFar = 1 << 20;  // in tables of its own
constexpr std::uint64_t kLarge = PageTable<M>::kLargePages;
constexpr std::uint64_t kNear = kLarge;  // behind the heap

template <template <class> class Design>
class Family {
  using Engine = Space<M, Design>;
  struct Member {
    std::unique_ptr<Engine> engine = std::make_unique<Engine>();
    Model model{kHeap};
    std::unique_ptr<typename Engine::Hand> hand =
        std::make_unique<typename Engine::Hand>(engine->sync());
  };

 public:
  bool run(const char* name, int operations, unsigned seed, bool large, bool kept = false) {
    std::mt19937 random(seed);
    large_ = large;
    kept_ = kept;
    members_.emplace_back();
    members_[0].engine->begin_heap(kHeap);
    if (large) members_[0].engine->use_large_pages();
    keep(*members_[0].engine);
    members_[0].engine->use_stacks(kStack, kGap);
    members_[0].model.use_stacks(kStack, kGap);
    members_[0].engine->use_reverse_maps();
    for (int i = 0; i < operations; ++i) {
      Member& m = members_[random() % members_.size()];
      if (random() % 64 == 0) {
        fork(m, random);
        continue;
      }
      const Step op = draw(random);
      most_large_ = std::max(most_large_, i % 16 == 0 ? m.engine->large_pages() : 0);
      const Result got = apply<Engine, M>(*m.engine, *m.hand, op, files_);
      const Result want = m.model.apply(op, contents_);
      const bool same =
          op.kind <= Step::write || runs_of<Engine, M>(*m.engine, files_, 2) == m.model.runs();
      if (i % 16 == 0 && m.engine->strays() != 0) {
        std::printf("%s: seed %u, operation %d: an entry where no region is\n", name, seed, i);
        return false;
      }
      if (i % 16 == 0 && m.engine->unprepared() != 0) {
        std::printf("%s: seed %u, operation %d: reverse maps lack a page\n", name, seed, i);
        return false;
      }
      if (got == want && same) continue;
      std::printf(
          "%s: seed %u, operation %d (kind %d, %llu-%llu): ok %d, %d; value %llu, %llu; "
          "regions %s\n",
          name, seed, i, op.kind, static_cast<unsigned long long>(op.start),
          static_cast<unsigned long long>(op.end), got.ok, want.ok,
          static_cast<unsigned long long>(got.value), static_cast<unsigned long long>(want.value),
          same ? "agree" : "differ");
      print("engine", runs_of<Engine, M>(*m.engine, files_, 2));
      print("model", m.model.runs());
      return false;
    }
    if (!std::ranges::any_of(members_, [](const Member& m) { return m.model.grown() != 0; })) {
      std::printf("%s: seed %u: no stack grew\n", name, seed);
      return false;
    }
    if (large == (most_large_ != 0)) return true;
    std::printf("%s: seed %u: %llu large pages\n", name, seed,
                static_cast<unsigned long long>(most_large_));
    return false;
  }

 private:
  static void print(const char* whose, const std::vector<Model::Run>& runs) {
    std::printf("  %s:", whose);
    for (const auto& r : runs) {
      std::printf(" %llu-%llu protection %u file %d%s;", static_cast<unsigned long long>(r.start),
                  static_cast<unsigned long long>(r.end), r.protection, r.file,
                  r.shared ? " shared" : "");
    }
    std::printf("\n");
  }
  Step draw(std::mt19937& random) const {
    Step op{};
    const auto kind = random() % 20;
    op.kind = kind < 6    ? Step::read
              : kind < 12 ? Step::write
              : kind < 14 ? Step::map
              : kind < 16 ? Step::unmap
              : kind < 18 ? Step::protect
              : kind < 19 ? Step::discard
                          : Step::brk;
    op.start = random() % 64 + (random() % 4 == 0 ? kFar : 0);
    if (op.kind == Step::brk) op.start = kHeap - 1 + random() % 12;
    op.end = op.start + 1 + random() % 12;
    if (large_ && op.kind >= Step::map && op.kind != Step::brk && random() % 2 == 0) {
      // Most of one large page, one or two.
      op.start = op.start < kFar ? kNear : kFar;
      op.end = op.start + kLarge - random() % 3 + random() % 2 * kLarge;
      op.start += random() % 3;
    }
    if (large_ && op.kind <= Step::write && random() % 2 == 0)
      op.start = (op.start < kFar ? kNear : kFar) + random() % (2 * kLarge);
    op.protection = random() % 4;
    if (random() % 2 == 0) op.protection = kRead | kWrite;
    op.value = random();
    op.file = static_cast<int>(random() % 4) - 2;
    if (op.file < 0) op.file = -1;
    op.shared = op.file >= 0 && random() % 2 == 0;
    op.stack = op.file < 0 && random() % 2 == 0;
    return op;
  }
  void keep(Engine& engine) {
    if constexpr (requires { engine.sync().index().keep_last(); }) {
      if (kept_) engine.sync().index().keep_last();
    }
  }
  void fork(Member& parent, std::mt19937& random) {
    Member child;
    keep(*child.engine);
    parent.engine->fork_to(*parent.hand, *child.engine);
    child.model = parent.model;
    if (members_.size() < 4) {
      members_.push_back(std::move(child));
    } else {
      auto& place = members_[random() % members_.size()];
      if (&place == &parent) return;
      place.hand.reset();
      place = std::move(child);
    }
  }

  File<M> one_{first_of(0)}, two_{first_of(1)};
  File<M>* files_[2] = {&one_, &two_};
  Files contents_;
  bool large_ = false;
  bool kept_ = false;  // the region that was found last; of designs that keep it
  std::uint64_t most_large_ = 0;
  std::vector<Member> members_;
};

bool fuzz(double times, unsigned seed) {
  const int operations = static_cast<int>(times);
  bool good = true;
#define DESIGN(name, Class)                                              \
  good = Family<Class>().run(name, operations, seed, false) && good;     \
  good = Family<Class>().run(name, operations / 10, seed, true) && good; \
  good = Family<Class>().run(name, operations / 4, seed + 1, false, true) && good;
#include "address_space/designs.def"
#undef DESIGN
  return good;
}
const Mode kFuzz("fuzz", fuzz);

}  // namespace
}  // namespace address_space_test
