#include "observer.h"

#include <algorithm>

namespace lockswap::explore {

void Observer::reset(const Claims& claims) {
  claims_ = claims;
  lost_ = forked_ = false;
  arrivals_ = writers_inside_ = 0;
  for (Thread& t : threads_) {
    t.activities.clear();
    t.waits = t.releases = t.is_next = false;
  }
  ghosts_.clear();
}

void Observer::begins(bool is_write, How how) {
  Thread& t = me();
  t.activities.push_back({is_write, how, false, 0});
  t.waits = true;
  t.how = how;
  t.began = arrivals_;
  t.arrival = t.phases = 0;
  t.is_next = false;
  t.at_begin = machine.view();
  machine.expect_doorway();
  machine.forget_sleeps();
}

void Observer::at_doorway(int thread) {
  Thread& t = threads_[thread];
  if (!t.waits) return;
  t.arrival = ++arrivals_;
  t.phases = writers_inside_;
}

void Observer::acquired() {
  Thread& t = me();
  t.waits = false;
  for (const Ghost& g : ghosts_) {
    if (g.holds && !lost_ && (g.is_write || t.activities.back().is_write)) {
      machine.fail("acquired beside a hold from before the fork");
    }
  }
  if (!t.activities.back().is_write) {
    if (claims_.readers_exclude && !lost_) expect_no_other_reader(t);
    return;
  }
  ++writers_inside_;
  if (lost_) return;
  for (int i = 0; i < kMaxThreads; ++i) {
    Thread& other = threads_[i];
    if (i == machine.current() || !other.waits || other.arrival == 0) continue;
    if (!other.activities.back().is_write) {
      if (++other.phases > 1 && claims_.phase_fair) {
        machine.fail("not phase-fair: T%d waits for a second writer", i);
      }
      if (other.is_next && claims_.sleeping_readers_next) {
        machine.fail("not next: T%d slept as a writer left, and waits for a second one", i);
      }
    } else if (claims_.fifo_writers && other.how == How::wait && t.how == How::wait &&
               other.arrival < t.arrival) {
      machine.fail("not first come, first served: T%d came before this writer, and waits", i);
    } else if (claims_.fcfs_writers && other.how == How::wait && t.how == How::wait &&
               other.arrival <= t.began && machine.reads_the_newest()) {
      machine.fail("not first come, first served: T%d came before this writer began, and waits", i);
    } else if (claims_.sleepers_in_order && other.how == How::wait && t.how == How::wait) {
      const auto [own, others] = machine.first_sleeps(machine.current(), i);
      if (others < own)
        machine.fail("not in order: T%d fell asleep before this writer, and sleeps", i);
    }
  }
}

// The calling thread has got a read hold. Two that both waited may not have theirs at once; one
// that only tried, or whose deadline passed, comes in beside others.
void Observer::expect_no_other_reader(const Thread& t) {
  if (t.activities.back().how != How::wait) return;
  const auto is_held = [](const Activity& a) { return !a.over; };
  if (std::ranges::count_if(t.activities, is_held) > 1) return;  // it reads again
  for (int i = 0; i < kMaxThreads; ++i) {
    const Thread& other = threads_[i];
    if (i == machine.current() || other.waits || other.releases) continue;
    for (const Activity& a : other.activities) {
      if (!a.over && !a.is_write && a.how == How::wait) {
        machine.fail("a reader that waited reads beside T%d", i);
      }
    }
  }
}

void Observer::failed() {
  Thread& t = me();
  t.waits = false;
  if (!lost_) {
    if (t.how != How::only_try && !machine.deadline_is_over()) {
      machine.fail("ETIMEDOUT before the deadline");
    }
    if (!stood_in_the_way(t.activities.back())) {
      machine.fail("an acquisition failed, though nothing stood in its way");
    }
  }
  end_newest();
}

// Whether anything may have been there that excludes `mine`, the newest of the calling thread.
bool Observer::stood_in_the_way(const Activity& mine) {
  for (const Ghost& g : ghosts_) {
    if (g.is_write || mine.is_write) return true;
  }
  for (int i = 0; i < kMaxThreads; ++i) {
    for (const Activity& a : threads_[i].activities) {
      if (&a == &mine || !(a.is_write || mine.is_write)) continue;
      if (!a.over || a.end > me().at_begin.clock(i)) return true;
    }
  }
  return false;
}

void Observer::begins_release(bool is_write) {
  if (is_write) --writers_inside_;
  me().releases = true;
  for (int i = 0; is_write && i < kMaxThreads; ++i) {
    Thread& other = threads_[i];
    if (i != machine.current() && other.waits && !other.activities.back().is_write)
      other.is_next |= machine.asleep(i);
  }
}

void Observer::released() {
  me().releases = false;
  end_newest();
}

void Observer::forks() {
  bool all_wait = true;  // of those that are in the middle of a call
  bool read = false, written = false;
  const auto note_hold = [&](const Activity& a) { (a.is_write ? written : read) = true; };
  std::vector<Ghost> perhaps;
  for (int i = 0; i < kMaxThreads; ++i) {
    Thread& t = threads_[i];
    const bool mine = i == machine.current();
    for (const Activity& a : t.activities) {
      if (a.over) continue;
      const bool in_a_call = (t.waits || t.releases) && &a == newest(t);
      if (in_a_call) {
        perhaps.push_back({a.is_write, false});
        all_wait &= t.waits && machine.blocked(i);
      } else {
        note_hold(a);
        if (!mine) ghosts_.push_back({a.is_write, true});
      }
    }
    if (mine) continue;
    t.activities.clear();
    t.waits = t.releases = false;
  }
  for (const Ghost& g : perhaps) {
    if (!all_wait && !written && !(g.is_write && read)) ghosts_.push_back(g);
  }
  forked_ = true;
  // The first update of a call may now be one that adopts the lock.
  claims_ = {};
}

// The rest follows from what each thread has done by itself.
std::uint64_t Observer::state() const {
  std::uint64_t h = (lost_ ? 1 : 0) | (forked_ ? 2 : 0) | (claims_.readers_exclude ? 4 : 0);
  for (const Thread& t : threads_) {
    if (!t.waits) continue;
    const bool in_order = claims_.fifo_writers || claims_.fcfs_writers;
    const auto arrival = static_cast<std::uint64_t>(in_order ? t.arrival : t.arrival != 0);
    const auto began = static_cast<std::uint64_t>(claims_.fcfs_writers ? t.began : 0);
    const auto phases = static_cast<std::uint64_t>(claims_.phase_fair ? t.phases : 0);
    const bool is_next = claims_.sleeping_readers_next && t.is_next;
    h = mix(h + static_cast<std::uint64_t>(&t - threads_.data()),
            began << 48 | arrival << 32 | phases << 1 | (is_next ? 1 : 0));
  }
  for (const Ghost& g : ghosts_)
    h = mix(h, (g.is_write ? 8 : 0) | (g.holds ? 16 : 0));
  return h;
}

Observer::Activity* Observer::newest(Thread& t) {
  for (std::size_t i = t.activities.size(); i-- != 0;) {
    if (!t.activities[i].over) return &t.activities[i];
  }
  return nullptr;
}

void Observer::end_newest() {
  Activity* const a = newest(me());
  if (a == nullptr) return;
  a->over = true;
  a->end = machine.view().clock(machine.current());
}

}  // namespace lockswap::explore
