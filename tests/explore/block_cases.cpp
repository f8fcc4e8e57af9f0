// The cases of blocks beside locks (side_block.h). They check to which lock a block belongs while
// locks end without notice and others run short of blocks. A lock that needs the third block, or a
// later one, asks all others first.
//
// What threads do, as words:
//   a b c d   acquire and release the lock at that place: a word in its block
//   (a )a     the same in two steps
//   A         the lock at place a ends, as std::mutex does: other data, zeroes, takes its bytes
//   -a        the lock at place a is destroyed
//   +1 ?1     sets event 1; waits for it
#include <memory>
#include <sstream>

#include "cases.h"
#include "locks/common/side_block.h"
#include "multicore/explore/platform.h"

namespace lockswap::explore {
namespace {

struct alignas(64) Head {
  ExploredAtomic<std::uint32_t> link;
  ExploredAtomic<std::uint64_t> owner;
  ExploredAtomic<std::uint32_t> taken;
};
struct Part {
  ExploredAtomic<std::uint32_t> unused;
};

class Lock {
  using State = SideBlock<Explored, Lock, Head, Part>;

 public:
  static bool is_idle(Head& h) { return h.taken.load(relaxed) == 0; }

  Head& acquire() {
    Head& h = state_.head();
    for (std::uint32_t free = 0; !h.taken.compare_exchange(free, 1, acq_rel); free = 0)
      Explored::await(Pause::spin, h.taken, relaxed, [](std::uint32_t v) { return v == 0; });
    check(h);
    return h;
  }
  void release(Head& h) {
    check(h);
    h.taken.store(0, lockswap::release);
  }
  void end() { reinterpret_cast<ExploredAtomic<std::uint64_t>&>(state_).store(0, relaxed); }
  void destroy() { state_.close(is_idle); }

 private:
  void check(Head& h) const {
    constexpr std::uint64_t kAddress = ~std::uint64_t{7};
    if ((h.owner.load(relaxed) & kAddress) != reinterpret_cast<std::uintptr_t>(this))
      machine.fail("a lock's block is another's while it is held");
  }
  State state_;
};

constexpr int kLocks = 4;
struct World {
  Lock* locks;
  Plain data[kLocks];
  ExploredAtomic<std::uint32_t> events[4];
};

void run_words(World& w, const std::vector<std::string>& words) {
  Head* held = nullptr;
  for (const std::string& word : words) {
    const char kind = word[0];
    if (kind == '+') {
      w.events[word[1] - '0'].store(1, release);
    } else if (kind == '?') {
      Explored::await(Pause::spin, w.events[word[1] - '0'], acquire,
                      [](std::uint32_t v) { return v != 0; });
    } else if (kind >= 'A' && kind <= 'D') {
      machine.note("ends the lock at %c", kind - 'A' + 'a');
      w.locks[kind - 'A'].end();
    } else {
      const int place = word.back() - 'a';
      Lock& lock = w.locks[place];
      if (kind == '-') {
        lock.destroy();
        continue;
      }
      if (kind != ')') {
        held = &lock.acquire();
        w.data[place].write();
      }
      if (kind != '(' && held != nullptr) lock.release(*held);
    }
  }
}

Scenario block_scenario(const std::vector<std::string>& threads) {
  const auto words = std::make_shared<std::vector<std::vector<std::string>>>();
  for (const std::string& t : threads) {
    std::istringstream in(t);
    words->emplace_back();
    for (std::string word; in >> word;)
      words->back().push_back(word);
  }
  const auto world = std::make_shared<World>();
  Scenario s;
  s.threads = static_cast<int>(threads.size());
  s.setup = [world] {
    world->locks = static_cast<Lock*>(lock_memory(0));
    for (int i = 0; i < kLocks; ++i) {
      new (&world->locks[i]) Lock{};
      world->data[i].reset();
    }
  };
  s.state = [] { return std::uint64_t{0}; };  // the data is only under the race detector
  s.body = [world, words](int i) { run_words(*world, (*words)[static_cast<std::size_t>(i)]); };
  return s;
}

constexpr Bounds kFull{3, 2, 0, 0};
constexpr Bounds kQuick{2, 1, 0, 0};

struct Script {
  const char* name;
  std::vector<std::string> threads;
  Bounds quick = kQuick;
};
const Script kScripts[] = {
    // More locks than there are blocks.
    {"many", {"a A b B c C d D a A b B c C d D"}},
    {"first", {"a a", "a", "b c"}},
    {"reborn", {"a A a", "b c"}},
    {"reborn-shared", {"a A +1 a", "?1 a", "b c"}},
    {"destroyed", {"a -a a", "b c"}},
    {"destroyed-lost", {"a A a -a a", "b c"}},
    {"two-ask", {"a A b b", "c C d d"}},
    {"two-ask-reborn", {"a A a a", "b B b", "c d"}},
    // Asked about while the same lock, or the next one at its place, gets the block again.
    {"destroyed-held", {"a -a (a ?1 )a", "b c +1"}},
    {"destroyed-again", {"a -a a a", "b c"}, {3, 0, 0, 0}},
    // Two ask about a block that its lock has claimed meanwhile before it ended.
    {"claimed-ended", {"a +1 ?2 a A", "b +2 ?1 c", "?1 ?2 d"}},
    {"held", {"(a A +1 ?2 )a a", "?1 b c d +2"}},
};
}  // namespace

void add_block_cases(Cases& cases) {
  for (const Script& s : kScripts) {
    Case c;
    c.name = std::string("blocks/") + s.name;
    c.threads = s.threads;
    c.bounds = kFull;
    c.quick_bounds = s.quick;
    c.other = [&s] { return block_scenario(s.threads); };
    cases.push_back(std::move(c));
  }
}

}  // namespace lockswap::explore
