// The cases of the Bonsai tree (include/lockswap/bonsai.hpp) and of its domain, quiescence.hpp.
//
// One thread at a time changes the tree, others read. Each update makes a state; an answer must be
// that of a state which the reader may see: none older than what it knows of, by the declared
// orders, and none older than what it has seen before. Keys and values are plain data, and a node
// is used again as soon as its period is over, so a reader that is still at it is found.
//
// What threads do, as words:
//   i5 e5 a5   insert, erase, assign key 5 (by `a` too the value says which update it was)
//   f5 <5 >5   find, floor, ceiling
//   all        a snapshot, walked through twice
//   ( )        a section around what stands between
//   sync       waits until no garbage is left
//   +1 ?1      sets event 1; waits for it
//   new leave  the thread gets its place as a reader only now; gives it up
#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <utility>

#include "explored_machine.h"
#include "lockswap/bonsai.hpp"
#include "structures_cases.h"

namespace lockswap::explore {
namespace {

using State = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // keys with values, in order
using Answer = State;  // of an exact look: one or none

// The states that a reader may see.
class Versions {
 public:
  void begin(const State& first) {
    states_.assign(1, first);
    done_.clear();
    seen_.fill(0);
  }
  const State& newest() const { return states_.back(); }
  void begin_update(State then) { states_.push_back(std::move(then)); }
  void end_update() {
    done_.push_back({machine.current(), machine.view().clock(machine.current())});
  }
  // Before a look: no older state than this will do.
  std::size_t oldest() const {
    std::size_t known = seen_[machine.current()];
    for (std::size_t i = 0; i < done_.size(); ++i) {
      if (done_[i].second <= machine.view().clock(done_[i].first)) known = std::max(known, i + 1);
    }
    return known;
  }
  template <class AnswerIn>
  void check(std::size_t oldest, const Answer& got, AnswerIn in, const char* what) {
    for (std::size_t i = oldest; i < states_.size(); ++i) {
      if (in(states_[i]) != got) continue;
      seen_[machine.current()] = i;
      return;
    }
    machine.fail("%s: no state since %d of %d gives that answer", what, static_cast<int>(oldest),
                 static_cast<int>(states_.size()));
  }
  std::size_t seen() const { return seen_[machine.current()]; }
  void learn(std::size_t version) {
    seen_[machine.current()] = std::max(seen_[machine.current()], version);
  }

 private:
  std::vector<State> states_;
  std::vector<std::pair<int, std::uint8_t>> done_;  // by whom, and when in that thread's time
  std::array<std::size_t, kMaxThreads> seen_{};
};

Answer find_in(const State& s, std::uint32_t key) {
  for (const auto& e : s) {
    if (e.first == key) return {e};
  }
  return {};
}
Answer floor_in(const State& s, std::uint32_t key) {
  Answer best;
  for (const auto& e : s) {
    if (e.first <= key) best = {e};
  }
  return best;
}
Answer ceiling_in(const State& s, std::uint32_t key) {
  for (const auto& e : s) {
    if (e.first >= key) return {e};
  }
  return {};
}

template <copies kCopies, bool kAsymmetric>
class World {
  using P = ExploredMachine<kAsymmetric>;
  using Domain = quiescence<P>;
  using Map =
      bonsai_map<std::uint32_t, std::uint32_t, Domain, kCopies, std::less<std::uint32_t>, P>;
  using Entry = typename Map::entry;
  static constexpr int kEvents = 4;

 public:
  void setup(const std::vector<std::vector<std::string>>& words,
             const std::vector<std::uint32_t>& keys) {
    domain_ = new (domain_bytes_) Domain;
    map_ = new (map_bytes_) Map(*domain_);
    map_->set_batch(1);
    State first;
    for (const std::uint32_t key : keys) {
      map_->insert(key, 0);
      first.emplace_back(key, 0);
    }
    std::ranges::sort(first);
    map_->synchronize();
    versions_.begin(first);
    known_.fill(0);
    changes_ = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      readers_[i] = nullptr;
      if (std::ranges::find(words[i], "new") == words[i].end()) join(i);
    }
    for (auto& e : events_)
      new (&e) ExploredAtomic<std::uint32_t>{};
  }

  void body(int thread, const std::vector<std::string>& words) {
    const auto me = static_cast<std::size_t>(thread);
    std::optional<typename Domain::section> open;
    for (const std::string& word : words) {
      const char kind = word[0];
      const auto number = word.size() > 1 && word[1] <= '9'
                              ? static_cast<std::uint32_t>(std::stoul(word.substr(1)))
                              : 0;
      if (word == "new") {
        join(me);
      } else if (word == "leave") {
        readers_[me]->~Reader();
      } else if (word == "all") {
        walk(me);
      } else if (word == "sync") {
        map_->synchronize();
        if (map_->counts().waiting != 0) machine.fail("garbage is left");
      } else if (kind == '(') {
        open.emplace(*readers_[me]);
      } else if (kind == ')') {
        open.reset();
      } else if (kind == '+') {
        known_[number] = versions_.seen();
        events_[number].store(1, release);
      } else if (kind == '?') {
        Explored::await(Pause::spin, events_[number], acquire,
                        [](std::uint32_t v) { return v != 0; });
        versions_.learn(known_[number]);
      } else if (kind == 'i' || kind == 'e' || kind == 'a') {
        change(kind, number);
      } else {
        look(me, kind, number);
      }
    }
  }

  void finish() {
    map_->synchronize();
    int height = 0;
    if (!map_->is_whole(height)) machine.fail("the tree is not in order, or not in balance");
    State there;
    for (const auto& e : map_->exclusive())
      there.emplace_back(e.key, e.value);
    if (there != versions_.newest()) machine.fail("the tree is not what the updates made of it");
  }

 private:
  using Reader = typename Domain::reader;

  void join(std::size_t i) { readers_[i] = new (reader_bytes_[i]) Reader(*domain_); }

  void change(char kind, std::uint32_t key) {
    State then = versions_.newest();
    const auto at = std::ranges::lower_bound(then, key, {}, &State::value_type::first);
    const bool there = at != then.end() && at->first == key;
    const auto value = ++changes_;
    if (kind == 'e' && there) then.erase(at);
    if (kind == 'i' && !there) then.insert(at, {key, value});
    if (kind == 'a' && there) at->second = value;
    if (kind == 'a' && !there) then.insert(at, {key, value});
    versions_.begin_update(std::move(then));
    const bool did = kind == 'e'   ? map_->erase(key)
                     : kind == 'i' ? map_->insert(key, value)
                                   : map_->insert_or_assign(key, value);
    if (did != (kind == 'e' ? there : !there)) machine.fail("an update's result is wrong");
    versions_.end_update();
  }
  static Answer answer_of(const std::optional<Entry>& e) {
    if (!e) return {};
    return {{e->key, e->value}};
  }
  void look(std::size_t me, char kind, std::uint32_t key) {
    const std::size_t oldest = versions_.oldest();
    if (kind == 'f') {
      versions_.check(
          oldest, answer_of(map_->find(*readers_[me], key)),
          [key](const State& s) { return find_in(s, key); }, "find");
    } else if constexpr (kCopies == copies::path) {
      if (kind == '<') {
        versions_.check(
            oldest, answer_of(map_->floor(*readers_[me], key)),
            [key](const State& s) { return floor_in(s, key); }, "floor");
      } else {
        versions_.check(
            oldest, answer_of(map_->ceiling(*readers_[me], key)),
            [key](const State& s) { return ceiling_in(s, key); }, "ceiling");
      }
    }
  }
  void walk(std::size_t me) {
    if constexpr (kCopies == copies::path) {
      const std::size_t oldest = versions_.oldest();
      const auto now = map_->snapshot_for(*readers_[me]);
      for (int i = 0; i < 2; ++i) {
        Answer all;
        for (const auto& e : now)
          all.emplace_back(e.key, e.value);
        versions_.check(
            i == 0 ? oldest : versions_.seen(), all, [](const State& s) { return s; }, "snapshot");
        // The same one the second time.
        if (i == 0) {
          first_walk_[me] = all;
        } else if (first_walk_[me] != all) {
          machine.fail("a snapshot changes");
        }
      }
    }
  }

  Domain* domain_ = nullptr;
  Map* map_ = nullptr;
  std::array<Reader*, kMaxThreads> readers_{};
  alignas(Domain) std::byte domain_bytes_[sizeof(Domain)];
  alignas(Map) std::byte map_bytes_[sizeof(Map)];
  alignas(Reader) std::byte reader_bytes_[kMaxThreads][sizeof(Reader)];
  ExploredAtomic<std::uint32_t> events_[kEvents];
  std::array<std::size_t, kEvents> known_{};
  std::array<Answer, kMaxThreads> first_walk_;
  Versions versions_;
  std::uint32_t changes_ = 0;
};

struct Script {
  const char* name;
  std::vector<std::uint32_t> keys;  // in this order, at first
  std::vector<std::string> threads;
};

template <copies kCopies, bool kAsymmetric>
Scenario scenario(const Script& script) {
  const auto words = std::make_shared<std::vector<std::vector<std::string>>>();
  for (const std::string& t : script.threads) {
    std::istringstream in(t);
    words->emplace_back();
    for (std::string word; in >> word;)
      words->back().push_back(word);
  }
  const auto world = std::make_shared<World<kCopies, kAsymmetric>>();
  Scenario s;
  s.threads = static_cast<int>(script.threads.size());
  s.setup = [world, words, &script] { world->setup(*words, script.keys); };
  s.body = [world, words](int i) { world->body(i, (*words)[static_cast<std::size_t>(i)]); };
  s.finish = [world] { world->finish(); };
  return s;
}

constexpr Bounds kFull{3, 2, 0, 0};
constexpr Bounds kQuick{2, 1, 0, 0};

// Exact lookups, of both forms.
const Script kExact[] = {
    {"insert", {5}, {"i3 i7", "f3 f7 f3"}},
    {"erase-leaf", {5, 3, 7}, {"e3", "f3 f5"}},
    {"erase-root", {5, 3, 7, 8}, {"e5", "f5 f7 f3"}},
    // The node that takes the root's place stands deep.
    {"erase-deep", {5, 2, 9, 1, 7, 10, 6}, {"e5", "f6 f5 f6"}},
    {"assign", {5, 3}, {"a3 a5", "f3 f5 f3"}},
    {"single-rotation", {1, 2, 3}, {"i4 e1", "f4 f3 f1"}},
    {"double-rotation", {1, 5, 3}, {"i4 e1", "f4 f3 f5"}},
    {"rotation-by-erase", {3, 2, 5, 7}, {"e2", "f5 f7 f3"}},
    // Nodes that were taken out are used again, while a reader may be at them.
    {"again", {2, 1, 3}, {"i4 e4 i4", "f3 f4"}},
    {"again-in-section", {2, 1, 3}, {"a3 a3 a3", "( f3 f3 )"}},
    {"sync", {2, 1}, {"a2 sync a2", "f2 f2"}},
    {"late-reader", {2}, {"a2 a2 a2", "new f2"}},
    {"two-readers", {2}, {"a2 a2 a2", "f2", "new f2"}},
    {"told", {2}, {"a2 +1 a2", "?1 f2"}},
    // A reader takes the place of one that has left.
    {"place-again", {2}, {"a2 a2", "f2 leave", "new f2"}},
    // A node that this update has made, and readers see, is copied once more by it.
    {"two-rotations", {18, 2, 11, 1, 10, 5, 4}, {"i8", "f5 f8 f10"}},
    {"two-writers", {2}, {"a2 i1 +1", "?1 e1 a2", "f1 f2"}},
};
const Script kOrdered[] = {
    {"floor", {5, 6, 20}, {"e5 e6", "<10 <10"}},
    {"ceiling", {5, 6, 20}, {"e20 e6", ">6 >6"}},
    {"floor-up", {5, 20}, {"i6 i7", "<10 <10"}},
    {"snapshot", {5, 3, 7}, {"e3 i4 i8", "all"}},
    {"snapshot-rotation", {1, 2, 3}, {"i4 e1", "all f4"}},
};

template <copies kCopies, bool kAsymmetric, std::size_t kN>
void add_table(Cases& cases, const char* form, const Script (&table)[kN]) {
  for (const Script& s : table) {
    Case c;
    c.name = std::string("bonsai/") + form + '/' + s.name;
    c.threads = s.threads;
    c.bounds = kFull;
    c.quick_bounds = kQuick;
    c.other = [&s] { return scenario<kCopies, kAsymmetric>(s); };
    cases.push_back(std::move(c));
  }
}

}  // namespace

void add_bonsai_cases(Cases& cases) {
  add_table<copies::path, true>(cases, "path", kExact);
  add_table<copies::path, true>(cases, "path", kOrdered);
  add_table<copies::rotations, true>(cases, "rotations", kExact);
  add_table<copies::path, false>(cases, "path-full-fence", kExact);
}

}  // namespace lockswap::explore
