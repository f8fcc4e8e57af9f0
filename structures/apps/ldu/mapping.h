// Which part of a file, or of a process's memory, a process has mapped; and what an index of such
// mappings must have, so that it can be compared.
//
// An index is a class with
//   Mapping                        an object, with its `pages`
//   kReuses, kAbsorbs              it has remove(), below; it has counts(), of updates taken back
//   Shared                         what all indexes of a contestant have in common
//   Hand(Shared&)                  a thread's
//   Index(Shared&)
//   void insert(Hand&, Mapping&)
//   void remove(Hand&, Mapping&)   only if kReuses: it may be inserted again at once
//   void retire(Hand&, Mapping&)   removes it, and deletes it when nobody looks at it
//   std::uint64_t walk(Hand&, std::uint32_t page, F f)     how many have that page; f(mapping)
//   static void flush(Shared&)     does what was put off, as far as nobody else can
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace bench {

struct Pages {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  bool has(std::uint32_t page) const noexcept { return first <= page && page <= last; }
};

// What a walk does with a mapping, besides counting it.
struct NothingElse {
  template <class M>
  void operator()(const M&) const noexcept {}
};

// How many mappings there are: none may be left. A thread counts for itself, since it may be one of
// liburcu's that frees them, which never ends.
class Living {
 public:
  Living() {
    const std::lock_guard hold(mutex());
    all().push_back(this);
  }
  ~Living() {
    const std::lock_guard hold(mutex());
    of_ended() += count_.load(std::memory_order_relaxed);
    std::erase(all(), this);
  }
  Living(const Living&) = delete;
  Living& operator=(const Living&) = delete;
  static Living& here() {
    thread_local Living living;
    return living;
  }
  // Relaxed, and no update: one thread writes it.
  void add(std::int64_t n) noexcept {
    count_.store(count_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  // When nobody makes or frees any.
  static std::int64_t sum() {
    const std::lock_guard hold(mutex());
    std::int64_t sum = of_ended();
    for (const Living* l : all())
      sum += l->count_.load(std::memory_order_relaxed);
    return sum;
  }

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  // Never destroyed: newer liburcus end their thread as the process exits, behind destructors of
  // what is static, and then it is taken out of here.
  static std::vector<Living*>& all() {
    static auto* const list = new std::vector<Living*>;
    return *list;
  }
  static std::int64_t& of_ended() {
    static std::int64_t sum = 0;
    return sum;
  }
  std::atomic<std::int64_t> count_{0};
};
// What a model of a machine sees of nodes, and where it has them. On a real machine nobody looks.
struct Unseen {
  struct Home {};
  static void read(const void*) noexcept {}
  static void write(const void*) noexcept {}
};

class Memory;

// A mapping, whatever index it stands in.
struct Counted {
  // Whose it is and where, for a walk that takes pages away; none if processes have no memory. It
  // lives as long as a walk may find the mapping.
  std::shared_ptr<Memory> memory;
  std::uint64_t place = 0;

  Counted() { Living::here().add(1); }
  ~Counted() { Living::here().add(-1); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
};

}  // namespace bench
