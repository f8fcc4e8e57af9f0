// A sequential address space, page by page: what the engine's state and answers must be.
#pragma once

#include <map>
#include <vector>

#include "address_space/region.h"

namespace address_space_test {

using namespace lockswap::address_space;

struct Step {
  enum Kind : std::uint8_t { read, write, map, unmap, protect, discard, brk } kind;
  std::uint64_t start = 0, end = 0;
  std::uint32_t protection = 0;
  std::uint64_t value = 0;
  int file = -1;  // its number
  bool shared = false;
  bool stack = false;
};
struct Result {
  bool ok = true;
  std::uint64_t value = 0;
  bool operator==(const Result&) const = default;
};

// The first word of page p of file n; 0: as anonymous memory.
constexpr std::uint64_t first_of(int file) { return 1000 * (static_cast<std::uint64_t>(file) + 1); }

struct Files {
  std::map<std::pair<int, std::uint64_t>, std::uint64_t> pages;
  std::uint64_t& at(int file, std::uint64_t page) {
    return pages.try_emplace({file, page}, first_of(file) + page).first->second;
  }
};

class Model {
 public:
  struct Page {
    std::uint32_t protection;
    int file;
    bool shared;
    bool own;  // has a value of its own
    std::uint64_t value;
    bool stack = false;
  };
  struct Run {
    std::uint64_t start, end;
    std::uint32_t protection;
    int file;
    bool shared;
    bool stack = false;
    bool operator==(const Run&) const = default;
  };

  explicit Model(std::uint64_t heap) : heap_(heap), brk_(heap) {}
  void use_stacks(std::uint64_t most, std::uint64_t gap) {
    stack_most_ = most;
    stack_gap_ = gap;
  }

  Result apply(const Step& op, Files& files) {
    switch (op.kind) {
      case Step::read:
      case Step::write: {
        grow_to(op.start);
        const auto at = pages_.find(op.start);
        const bool writes = op.kind == Step::write;
        if (at == pages_.end() || (at->second.protection & (writes ? kWrite : kRead)) == 0)
          return {false, 0};
        Page& p = at->second;
        // Page p of the space shows page p of a file.
        std::uint64_t& place =
            p.file >= 0 && (p.shared || !p.own) ? files.at(p.file, op.start) : p.value;
        if (!writes) return {true, place};
        (p.shared ? place : p.value) = op.value;
        p.own = true;
        return {};
      }
      case Step::map:
        put(op.start, op.end, {op.protection, op.file, op.shared, false, 0, op.stack});
        return {};
      case Step::unmap:
        remove(op.start, op.end);
        return {};
      case Step::protect: {
        bool all = true;
        for (std::uint64_t p = op.start; p < op.end; ++p) {
          const auto at = pages_.find(p);
          if (at == pages_.end()) {
            all = false;
          } else {
            at->second.protection = op.protection;
          }
        }
        return {all, 0};
      }
      case Step::discard:
        for (auto i = pages_.lower_bound(op.start); i != pages_.end() && i->first < op.end; ++i) {
          i->second.own = false;
          i->second.value = 0;
        }
        return {};
      case Step::brk:
        if (op.start < heap_) return {false, 0};
        if (op.start > brk_) put(brk_, op.start, {kRead | kWrite, -1, false, false, 0});
        if (op.start < brk_) remove(op.start, brk_);
        brk_ = op.start;
        return {};
    }
    return {};
  }
  int grown() const { return grown_; }  // how often a stack was
  std::vector<Run> runs() const {
    std::vector<Run> all;
    for (const auto& [page, p] : pages_) {
      const Run r{page, page + 1, p.protection, p.file, p.shared, p.stack};
      if (!all.empty() && all.back().end == page && all.back().protection == r.protection &&
          all.back().file == r.file && all.back().shared == r.shared &&
          all.back().stack == r.stack) {
        ++all.back().end;
      } else {
        all.push_back(r);
      }
    }
    return all;
  }

 private:
  // A stack whose lowest page is above an unmapped one.
  void grow_to(std::uint64_t page) {
    const auto above = pages_.lower_bound(page);
    if (above == pages_.end() || above->first == page || !above->second.stack) return;
    if (above != pages_.begin() && std::prev(above)->first + 1 + stack_gap_ > page) return;
    for (const Run& r : runs()) {
      if (r.start != above->first || r.end - page > stack_most_) continue;
      put(page, r.start, {r.protection, -1, false, false, 0, true});
      ++grown_;
      return;
    }
  }
  void put(std::uint64_t start, std::uint64_t end, const Page& page) {
    for (std::uint64_t p = start; p < end; ++p)
      pages_.insert_or_assign(p, page);
  }
  void remove(std::uint64_t start, std::uint64_t end) {
    pages_.erase(pages_.lower_bound(start), pages_.lower_bound(end));
  }
  std::map<std::uint64_t, Page> pages_;
  std::uint64_t heap_, brk_;
  std::uint64_t stack_most_ = 0, stack_gap_ = 0;
  int grown_ = 0;
};

// The same of an engine.
template <class Space, class M>
Result apply(Space& space, typename Space::Hand& h, const Step& op, File<M>* const* files) {
  Result r;
  switch (op.kind) {
    case Step::read:
      r.ok = space.read(h, op.start, r.value);
      if (!r.ok) r.value = 0;
      break;
    case Step::write:
      r.ok = space.write(h, op.start, op.value);
      break;
    case Step::map:
      space.map(h, {.start = op.start,
                    .end = op.end,
                    .protection = op.protection,
                    .shared = op.shared,
                    .file = op.file < 0 ? nullptr : files[op.file],
                    .stack = op.stack});
      break;
    case Step::unmap:
      space.unmap(h, op.start, op.end);
      break;
    case Step::protect:
      r.ok = space.protect(h, op.start, op.end, op.protection);
      break;
    case Step::discard:
      space.discard(h, op.start, op.end);
      break;
    case Step::brk:
      r.ok = space.move_brk(h, op.start);
      break;
  }
  return r;
}
template <class Space, class M>
std::vector<Model::Run> runs_of(Space& space, File<M>* const* files, int count) {
  std::vector<Model::Run> all;
  for (const auto& e : space.regions()) {
    int file = -1;
    for (int i = 0; i < count; ++i) {
      if (e.file != nullptr && e.file == files[i]) file = i;
    }
    all.push_back({e.start, e.end, e.protection, file, e.shared, e.stack});
  }
  return all;
}

}  // namespace address_space_test
