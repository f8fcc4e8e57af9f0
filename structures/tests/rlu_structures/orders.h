// Histories of one key whose operations may take effect late, as under Read-Log-Update with
// deferral: is there an order of them that each thread's own order is a part of?
//
// That is less than histories.h asks, which also looks at the time. It is what holds for a key:
// a thread sees its own deferred changes, others see them later, all of them in one order.
#pragma once

#include <array>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "histories.h"

namespace bench {

// A thread's operations, in its order.
using OfThread = std::vector<SetOperation>;

class OrderedHistory {
 public:
  explicit OrderedHistory(std::vector<OfThread> threads) : threads_(std::move(threads)) {}

  // Whether an order explains it that begins and ends with the key there or not.
  bool is_explained(bool first, bool last) {
    dead_ends_.clear();
    last_ = last;
    return explains(std::vector<std::size_t>(threads_.size()), first);
  }

 private:
  bool explains(const std::vector<std::size_t>& done, bool there) {
    bool is_all = true;
    if (!dead_ends_.insert({done, there}).second) return false;
    for (std::size_t t = 0; t < threads_.size(); ++t) {
      if (done[t] == threads_[t].size()) continue;
      is_all = false;
      const SetOperation& o = threads_[t][done[t]];
      const bool must = o.call == SetCall::insert ? !there : there;
      if (o.result != must) continue;
      std::vector<std::size_t> next = done;
      ++next[t];
      if (explains(next, o.call == SetCall::contains ? there : o.call == SetCall::insert))
        return true;
    }
    return is_all && there == last_;
  }

  std::vector<OfThread> threads_;
  bool last_ = false;
  std::set<std::pair<std::vector<std::size_t>, bool>> dead_ends_;
};

}  // namespace bench
