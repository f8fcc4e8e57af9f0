#include "predict/plan.h"

#include <algorithm>
#include <map>
#include <utility>

namespace lockswap::predict {

namespace {

using calls::Call;
using calls::What;
using Kind = Step::Kind;

bool acquires(What what) { return what == What::lock || what == What::read || what == What::write; }
bool rests(What what) {
  return what == What::slept || what == What::wait || what == What::timed_out;
}
bool signals(What what) { return what == What::signal || what == What::broadcast; }

// The recorded calls of a thread in the window.
struct Part {
  const Call* begin;
  const Call* end;
  bool is_first;        // there is no call of the thread before them
  std::uint64_t ready;  // the window has begun, and the last call before it is over
  std::uint64_t rest;   // of that call, or until the thread's first one
  std::uint32_t place = 0;

  std::uint64_t from() const { return begin->at(); }
  std::uint64_t to() const { return end[-1].end(); }
};

// A thread's own time.
class OwnTime {
 public:
  OwnTime(const calls::RecordedCalls& recorded, const Part& part)
      : recorded_(recorded), at_(part.ready), own_(part.rest) {}
  // Returns how long the thread has worked since its last call.
  std::uint64_t work_before(const Call& call) const {
    const std::uint64_t gap = call.at() > at_ ? call.at() - at_ : 0;
    const std::uint64_t added = recorded_.added(holds_);
    return gap > added ? gap - added : 0;
  }
  std::uint64_t now() const { return own_; }
  // Returns the time until the call begins; now() is when it is over.
  std::uint64_t pass(const Call& call) {
    const std::uint64_t own = own_ += work_before(call);
    if (rests(call.what())) own_ += call.ns();
    at_ = std::max(at_, call.end());
    holds_ = acquires(call.what());
    return own;
  }

 private:
  const calls::RecordedCalls& recorded_;
  std::uint64_t at_;
  std::uint64_t own_;
  bool holds_ = false;
};

struct Given {
  std::uint64_t at;
  std::uint32_t place;
  const Call* call;
};

class Maker {
 public:
  Maker(const calls::RecordedCalls& recorded, std::uint64_t from, std::uint64_t most)
      : recorded_(recorded), from_(from) {
    for (const calls::RecordedThread& thread : recorded.threads())
      add_part(thread.call);
    cut(most);
    give_places();
    find_signals();
  }
  Plan plan() {
    for (const Part& part : parts_)
      add(part);
    return std::move(plan_);
  }

 private:
  void add_part(const std::vector<Call>& call) {
    const auto begin = std::partition_point(call.begin(), call.end(),
                                            [this](const Call& c) { return c.at() < from_; });
    if (begin == call.end()) return;
    const bool is_first = begin == call.begin();
    const Call* const first = &*begin;
    const std::uint64_t ready = is_first ? first->at() : std::max(from_, first[-1].end());
    const std::uint64_t rest = is_first || rests(first[-1].what()) ? ready - from_ : 0;
    parts_.push_back({first, first + (call.end() - begin), is_first, ready, rest});
  }
  // Ends the parts where the threads have acquired so many locks.
  void cut(std::uint64_t most) {
    std::vector<std::uint64_t> acquired;
    for (const Part& part : parts_) {
      OwnTime time(recorded_, part);
      std::uint64_t count = 0;
      for (const Call* call = part.begin; call != part.end && count < most; ++call) {
        const std::uint64_t own = time.pass(*call);
        if (!acquires(call->what())) continue;
        acquired.push_back(own);
        ++count;
      }
    }
    if (acquired.size() > most) {
      const auto last = acquired.begin() + static_cast<std::ptrdiff_t>(most) - 1;
      std::nth_element(acquired.begin(), last, acquired.end());
      for (Part& part : parts_)
        end_at(part, *last);
      plan_.recorded_ns = static_cast<double>(*last);
    } else {
      plan_.recorded_ns = static_cast<double>(recorded_.end() - from_);
    }
    std::erase_if(parts_, [](const Part& part) { return part.begin == part.end; });
  }
  void end_at(Part& part, std::uint64_t own) {
    OwnTime time(recorded_, part);
    const Call* call = part.begin;
    while (call != part.end && time.pass(*call) <= own && time.now() <= own)
      ++call;
    part.end = call;
  }
  // A thread begins where one has ended, if there is such a place.
  void give_places() {
    std::sort(parts_.begin(), parts_.end(),
              [](const Part& a, const Part& b) { return a.from() < b.from(); });
    std::vector<std::uint64_t> ends;
    for (Part& part : parts_) {
      const auto free = std::find_if(ends.begin(), ends.end(), [&part](std::uint64_t end) {
        return part.is_first && end <= part.from();
      });
      part.place = static_cast<std::uint32_t>(free - ends.begin());
      if (free == ends.end()) {
        ends.push_back(part.to());
      } else {
        *free = part.to();
      }
    }
    plan_.threads.resize(ends.size());
    last_.assign(ends.size(), from_);
  }
  // Which signal ended each wait: the last one before its end. The signal gets a number then.
  void find_signals() {
    std::map<std::uint32_t, std::vector<Given>> given;
    for (const Part& part : parts_) {
      for (const Call* call = part.begin; call != part.end; ++call)
        if (signals(call->what())) given[call->object()].push_back({call->at(), part.place, call});
    }
    for (auto& [cond, all] : given)
      std::sort(all.begin(), all.end(), [](const Given& a, const Given& b) { return a.at < b.at; });
    for (const Part& part : parts_) {
      for (const Call* call = part.begin; call != part.end; ++call) {
        if (call->what() != What::wait) continue;
        const auto found = given.find(call->object());
        if (found != given.end()) match(*call, part.place, found->second);
      }
    }
  }
  void match(const Call& wait, std::uint32_t place, const std::vector<Given>& given) {
    auto after =
        std::upper_bound(given.begin(), given.end(), wait.end(),
                         [](std::uint64_t time, const Given& signal) { return time < signal.at; });
    while (after != given.begin() && (--after)->at >= wait.at()) {
      if (after->place == place) continue;
      const auto [number, is_new] = signal_.try_emplace(after->call, plan_.signals);
      if (is_new) ++plan_.signals;
      signal_.emplace(&wait, number->second);
      return;
    }
  }

  void add(const Part& part) {
    place_ = part.place;
    held_.clear();
    // Before its first call a thread had something else to do, which isn't known. On its place
    // there may have been another one.
    const std::uint64_t gone = last_[place_] - from_;
    if (part.rest > gone) put({.kind = Kind::rest, .ns = static_cast<double>(part.rest - gone)});
    OwnTime time(recorded_, part);
    for (const Call* call = part.begin; call != part.end; ++call) {
      if (const std::uint64_t ns = time.work_before(*call); ns != 0)
        put({.kind = Kind::work, .ns = static_cast<double>(ns)});
      time.pass(*call);
      add(*call);
    }
    for (const auto& [lock, depth] : held_)
      put({.kind = Kind::unlock, .of = lock});
    last_[place_] = part.to();
  }
  void add(const Call& call) {
    switch (call.what()) {
      case What::lock:
        acquire(call, Kind::lock);
        break;
      case What::read:
        acquire(call, Kind::read);
        break;
      case What::write:
        acquire(call, Kind::write);
        break;
      case What::unlock:
        release(call);
        break;
      case What::signal:
      case What::broadcast:
        if (const auto found = signal_.find(&call); found != signal_.end())
          put({.kind = Kind::give, .of = found->second});
        break;
      case What::wait:
      case What::timed_out:
        wait(call);
        break;
      case What::slept:
        put({.kind = Kind::rest, .ns = static_cast<double>(call.ns())});
        break;
      case What::preempted:
        plan_.preempted_ns += static_cast<double>(call.ns());
        break;
      case What::none:
      case What::kEnd:
        break;
    }
  }
  void wait(const Call& call) {
    if (const auto found = signal_.find(&call); found != signal_.end()) {
      put({.kind = Kind::await, .of = found->second});
    } else {
      ++plan_.timed;
      put({.kind = Kind::rest, .ns = static_cast<double>(call.ns())});
    }
  }
  // A lock that the thread has already is counted, and released when it has released it as often.
  void acquire(const Call& call, Kind kind) {
    const std::uint32_t lock = lock_of(call.object(), kind != Kind::lock);
    if (++held_[lock] > 1) return;
    put({.kind = kind, .of = lock});
    ++plan_.acquisitions;
  }
  // A lock that the thread didn't acquire in the window is left alone.
  void release(const Call& call) {
    for (const bool is_rwlock : {false, true}) {
      const auto known = lock_.find({call.object(), is_rwlock});
      const auto held = known == lock_.end() ? held_.end() : held_.find(known->second);
      if (held == held_.end()) continue;
      if (--held->second != 0) return;
      put({.kind = Kind::unlock, .of = held->first});
      held_.erase(held);
      return;
    }
  }
  std::uint32_t lock_of(std::uint32_t object, bool is_rwlock) {
    const auto number = static_cast<std::uint32_t>(plan_.is_rwlock.size());
    const auto [found, is_new] = lock_.try_emplace({object, is_rwlock}, number);
    if (is_new) plan_.is_rwlock.push_back(is_rwlock);
    return found->second;
  }
  void put(const Step& step) { plan_.threads[place_].push_back(step); }

  const calls::RecordedCalls& recorded_;
  const std::uint64_t from_;
  std::vector<Part> parts_;
  std::map<const Call*, std::uint32_t> signal_;  // the number of a signal, and of one to wait for
  std::map<std::pair<std::uint32_t, bool>, std::uint32_t> lock_;
  std::vector<std::uint64_t> last_;  // of each place: when its last thread ended
  Plan plan_;

  // While a part is added: its place, and what it holds, how often.
  std::uint32_t place_ = 0;
  std::map<std::uint32_t, std::uint32_t> held_;
};

}  // namespace

Planner::Planner(const calls::RecordedCalls& recorded) : recorded_(recorded) {
  for (const calls::RecordedThread& thread : recorded.threads()) {
    for (const Call& call : thread.call)
      if (acquires(call.what())) begins_.push_back(call.at());
  }
  std::sort(begins_.begin(), begins_.end());
}

Plan Planner::plan(const Window& window) const {
  const std::uint64_t most = std::max<std::uint64_t>(window.acquisitions, 1);
  if (begins_.empty()) return {};
  if (begins_.size() <= most) return Maker(recorded_, begins_[0], most).plan();
  const std::uint64_t left = begins_.size() - most, steps = std::max(window.count, 2u) - 1;
  const std::uint64_t first = left / steps * window.number + left % steps * window.number / steps;
  return Maker(recorded_, begins_[first], most).plan();
}

}  // namespace lockswap::predict
