// Queue nodes and blocks for locks on the modelled machine (platform/arena.h, blocks.h). If a
// thread has some in stock, taking one costs nothing that other threads notice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

#include <sys/mman.h>

#include "multicore/cost/machine.h"
#include "multicore/cost/per_run.h"

namespace lockswap::cost {

// Zeroed memory in its own cache lines, until the run ends. The seed decides where it begins, so
// that a repeated run has the same addresses, which decide where hashing puts things.
class Memory {
 public:
  static void* take(std::size_t bytes) {
    static Memory memory;
    if (memory.run_ != machine.run_number()) memory.begin();
    std::byte* const p = memory.base_ + memory.used_;
    memory.used_ += (bytes + kAlign - 1) / kAlign * kAlign;
    if (memory.used_ > kBytes) {
      std::fprintf(stderr, "the modelled machine has %zu bytes of memory\n", kBytes);
      std::abort();
    }
    return p;
  }

 private:
  static constexpr std::size_t kAlign = 128, kBytes = std::size_t{1} << 30;

  Memory() {
    void* const where = reinterpret_cast<void*>(std::uintptr_t{0x5600'0000'0000});
    void* const p =
        ::mmap(where, kBytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (p != where) {
      std::perror("mmap");
      std::abort();
    }
    base_ = static_cast<std::byte*>(p);
  }
  void begin() {
    ::madvise(base_, used_, MADV_DONTNEED);
    constexpr std::uint64_t kPlaces = 4096;
    used_ = machine.costs().seed * 0x9e3779b97f4a7c15u % kPlaces * kAlign;
    run_ = machine.run_number();
  }

  std::byte* base_ = nullptr;
  std::size_t used_ = 0;
  std::uint64_t run_ = 0;
};

inline void* zeroed(std::size_t bytes) { return Memory::take(bytes); }

// Nodes that a thread returns beyond its own stock go to other threads.
template <class T>
class ModelledNodes {
 public:
  using Handle = std::uint32_t;
  static bool prepare() { return true; }
  static T& at(Handle h) { return *all().node[h - 1]; }
  static bool is_handle(Handle h) { return h - 1 < all().node.size(); }
  static Handle take() {
    if (const Handle h = take_kept(); h != 0) return h;
    All& a = all();
    if (!a.free.empty()) {
      const Handle h = a.free.back();
      a.free.pop_back();
      machine.access(&a.free_line, Access::update);
      return h;
    }
    a.node.push_back(new (zeroed(sizeof(T))) T{});
    return static_cast<Handle>(a.node.size());
  }
  static Handle try_take() { return take(); }
  static void give(Handle h) {
    if (!keep(h)) give_shared(h);
  }
  static Handle take_kept() {
    Kept& kept = PerRun<Kept, kMostThreads>::at(machine.current());
    return kept.n == 0 ? 0 : kept.handle[--kept.n];
  }
  static bool keep(Handle h) {
    Kept& kept = PerRun<Kept, kMostThreads>::at(machine.current());
    if (kept.n == kKept) return false;
    kept.handle[kept.n++] = h;
    return true;
  }
  static void give_shared(Handle h) {
    machine.access(&all().free_line, Access::update);
    all().free.push_back(h);
  }

 private:
  static constexpr int kKept = 4;
  struct Kept {
    Handle handle[kKept];
    int n;
  };
  struct All {
    std::vector<T*> node;
    std::vector<Handle> free;
    alignas(128) std::uint64_t free_line = 0;
  };
  static All& all() { return PerRun<All, 1>::at(0); }
};

template <class Head, class Part>
class ModelledBlocks {
 public:
  static bool prepare(std::uint32_t parts) {
    all().parts = parts;
    return true;
  }
  static std::uint32_t parts() { return all().parts; }
  static std::size_t bytes_with(std::uint32_t parts) { return sizeof(Head) + parts * sizeof(Part); }
  template <class Reclaim>
  static Head& take(const Reclaim&) {
    All& a = all();
    if (!a.free.empty()) {
      Head* const head = a.free.back();
      a.free.pop_back();
      return *head;
    }
    auto* const head = new (zeroed(bytes_with(a.parts))) Head{};
    for (std::uint32_t i = 0; i < a.parts; ++i)
      new (&part(*head, i)) Part{};
    a.block.push_back(head);
    return *head;
  }
  static void give(Head& head) { all().free.push_back(&head); }
  static Part& part(Head& head, std::uint32_t i) { return reinterpret_cast<Part*>(&head + 1)[i]; }
  static bool is_block(std::uint64_t address) {
    for (const Head* head : all().block) {
      if (reinterpret_cast<std::uintptr_t>(head) == address) return true;
    }
    return false;
  }

 private:
  struct All {
    std::uint32_t parts = 0;
    std::vector<Head*> block;
    std::vector<Head*> free;
  };
  static All& all() { return PerRun<All, 1>::at(0); }
};

}  // namespace lockswap::cost
