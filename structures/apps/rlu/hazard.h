// Hazard pointers: a thread says which nodes it looks at, and nodes are freed when no thread says
// so of them.
//
// Paper: M. Michael, "Hazard Pointers: Safe Memory Reclamation for Lock-Free Objects" (IEEE TPDS
// 2004).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace bench {

class Hazards {
 public:
  static constexpr int kPointers = 2;  // of a thread

  static void attach() { thread_local const Mine here; }

  // The caller then looks whether the node can still be reached. seq_cst: pairs with the fence in
  // scan(), whose thread has unlinked the node before.
  static void protect(int which, const void* node) noexcept {
    mine->pointers[which].store(node, std::memory_order_seq_cst);
  }
  // Release: the thread's last look at what it had protected comes before a free.
  static void protect_none() noexcept {
    for (auto& p : mine->pointers)
      p.store(nullptr, std::memory_order_release);
  }
  // A node that was unlinked; it came from malloc.
  static void retire(void* node) {
    mine->retired.push_back(node);
    if (mine->retired.size() >= mine->due) scan(*mine);
  }
  // When no thread is in an operation: frees what threads have left that are gone.
  static void flush() {
    const std::lock_guard alone(all().lock);
    for (void* node : all().orphans)
      std::free(node);
    all().orphans.clear();
  }

 private:
  struct alignas(128) Record {
    std::atomic<const void*> pointers[kPointers] = {};
    std::atomic<Record*> next{nullptr};
    bool is_used = true;  // under the lock
    std::vector<void*> retired;
    std::size_t due = kBatch;
  };
  static constexpr std::size_t kBatch = 64;
  struct All {
    std::mutex lock;
    std::atomic<Record*> first{nullptr};  // records stay for ever
    std::vector<void*> orphans;
  };
  static All& all() {
    static All* const one = new All;
    return *one;
  }

  struct Mine {
    Mine() {
      const std::lock_guard alone(all().lock);
      Record* r = all().first.load(std::memory_order_relaxed);
      while (r != nullptr && r->is_used)
        r = r->next.load(std::memory_order_relaxed);
      if (r == nullptr) {
        r = new Record;
        r->next.store(all().first.load(std::memory_order_relaxed), std::memory_order_relaxed);
        all().first.store(r, std::memory_order_release);  // pairs with scan()
      }
      r->is_used = true;
      mine = r;
    }
    ~Mine() {
      protect_none();
      scan(*mine);
      const std::lock_guard alone(all().lock);
      auto& orphans = all().orphans;
      orphans.insert(orphans.end(), mine->retired.begin(), mine->retired.end());
      mine->retired.clear();
      mine->is_used = false;
      mine = nullptr;
    }
  };

  static void scan(Record& r) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    std::vector<const void*> seen;
    for (Record* o = all().first.load(std::memory_order_acquire); o != nullptr;
         o = o->next.load(std::memory_order_acquire)) {
      for (const auto& p : o->pointers) {
        // acquire: pairs with protect_none(), or with the next protect() of that thread.
        if (const void* const node = p.load(std::memory_order_acquire); node != nullptr)
          seen.push_back(node);
      }
    }
    std::sort(seen.begin(), seen.end());
    std::vector<void*> kept;
    for (void* node : r.retired) {
      if (std::binary_search(seen.begin(), seen.end(), node)) {
        kept.push_back(node);
      } else {
        std::free(node);
      }
    }
    r.retired.swap(kept);
    r.due = r.retired.size() + kBatch;
  }

  inline static thread_local constinit Record* mine = nullptr;
};

// The other way: what was unlinked stays for ever.
class Leak {
 public:
  static void attach() {}
  static void flush() {}
  static void retire(void* node);
};

#if defined(__SANITIZE_ADDRESS__)
extern "C" void __lsan_ignore_object(const void*);
inline void Leak::retire(void* node) { __lsan_ignore_object(node); }
#else
inline void Leak::retire(void*) {}
#endif

}  // namespace bench
