// The lives of processes that one thread forks and ends, as each mix has them; and reads of what
// they map.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "common/random.h"

namespace bench {

template <class Crowd>
class Lives {
  using Process = typename Crowd::Process;
  using Hand = typename Crowd::Hand;

 public:
  // users: processes at the same time, at most (aim7). threads: those that have lives like these.
  Lives(Crowd& crowd, std::size_t users, int threads, unsigned seed)
      : crowd_(&crowd),
        users_(users),
        crowd_share_(static_cast<std::size_t>(std::max(1, 100 / threads))),
        random_(seed) {}

  std::deque<Process>& living() { return living_; }

  // Jobs fork, run programs, and end, in any order.
  void aim7(Hand& hand) {
    const std::uint32_t what = random_.below(10);
    if (living_.empty() || (what < 5 && living_.size() < users_)) {
      living_.push_back(crowd_->fork(hand, living_.empty() || what == 0 ? crowd_->first : some()));
    } else if (what < 7) {
      crowd_->exec(hand, some(), random_.next());
    } else {
      const std::size_t i = random_.below(static_cast<std::uint32_t>(living_.size()));
      crowd_->exit(hand, living_[i]);
      living_.erase(living_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  // A server forks for each connection; that one forks to deliver, by a program of its own.
  template <class F>
  void exim(Hand& hand, F while_they_live) {
    Process connection = crowd_->fork(hand, crowd_->first);
    Process delivery = crowd_->fork(hand, connection);
    crowd_->exec(hand, delivery, 1);
    living_.push_back(std::move(connection));
    living_.push_back(std::move(delivery));
    while_they_live();
    end(hand);
  }
  // Of a hundred processes in all, this thread's.
  void settle(Hand& hand) {
    while (living_.size() < crowd_share_)
      living_.push_back(crowd_->fork(hand, crowd_->first));
  }
  // These processes fork; each child does that, and ends.
  template <class F>
  void lmbench(Hand& hand, F child_does) {
    settle(hand);
    Process child = crowd_->fork(hand, some());
    child_does(child);
    crowd_->exit(hand, child);
  }
  // The child becomes a shell, which runs a program in a child of its own.
  void run_shell(Hand& hand, Process& child) {
    crowd_->exec(hand, child, 0);
    Process program = crowd_->fork(hand, child);
    crowd_->exec(hand, program, 1);
    crowd_->exit(hand, program);
  }
  void walk(Hand& hand) {
    if (living_.empty() || random_.below(2) == 0) {
      crowd_->reclaim_file(hand, random_);
    } else {
      crowd_->reclaim_anon(hand, some(), random_);
    }
  }
  void end(Hand& hand) {
    for (Process& p : living_)
      crowd_->exit(hand, p);
    living_.clear();
  }

 private:
  Process& some() { return living_[random_.below(static_cast<std::uint32_t>(living_.size()))]; }

  Crowd* crowd_;
  std::size_t users_;
  std::size_t crowd_share_;
  Random random_;
  std::deque<Process> living_;
};

}  // namespace bench
