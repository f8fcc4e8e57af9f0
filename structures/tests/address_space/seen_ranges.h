// The machine whose range locks are the templates of src/range, built with the test, and not the
// library's: a sanitizer sees what they do.
#pragma once

#include <cstdlib>

#include "address_space/native.h"
#include "platform/native.h"
#include "platform/sanitizer.h"
#include "range/list.h"
#include "range/stages.h"
#include "range/tree.h"
#include "wait/park.h"

namespace address_space_test {

struct SeenRanges : lockswap::address_space::NativeMachine {
  using ListLock = lockswap::ListRw<lockswap::Native, lockswap::Park<lockswap::Native>>;
  using TreeLock = lockswap::KernelRw<lockswap::Native, lockswap::Park<lockswap::Native>>;

  class Range {
   public:
    template <class Lock>
    Range(Lock& lock, std::uint64_t start, std::uint64_t end, bool shared)
        : lock_(&lock), release_(&release<Lock>) {
      typename Lock::Node* node = nullptr;
      const lockswap::RangeRequest request{start, end, shared, false, nullptr};
      if (lockswap::acquire_range(lock, request, {}, node) != 0) std::abort();
      node_ = node;
    }
    ~Range() { release_(lock_, node_); }
    Range(const Range&) = delete;

   private:
    template <class Lock>
    static void release(void* lock, void* node) {
      lockswap::release_range(*static_cast<Lock*>(lock), static_cast<typename Lock::Node*>(node));
    }
    void* lock_;
    void (*release_)(void*, void*);
    void* node_;
  };
};

// The machine of the tests' spaces.
#if defined(LOCKSWAP_TSAN) || defined(LOCKSWAP_ASAN)
using M = SeenRanges;
#else
using M = lockswap::address_space::NativeMachine;
#endif

}  // namespace address_space_test
