// Readers and writers at one Bonsai tree: every answer is explained by an order of the operations,
// and no reader meets a node that was freed.
#pragma once

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "lockswap/bonsai.hpp"
#include "versions.h"

namespace bonsai_test {

using lockswap::copies;

constexpr int kReaders = 3;
constexpr int kWriters = 2;  // one after the other, by a mutex
constexpr int kThreads = kReaders + kWriters;

// after_look: what a thread calls that is in no section.
template <copies kCopies, class Domain>
class Stress {
  using Map = lockswap::bonsai_map<std::uint32_t, std::uint32_t, Domain, kCopies>;

 public:
  template <class... Of>
  explicit Stress(void (*after_look)(), Of... of)
      : after_look_(after_look), domain_(of...), map_(domain_) {
    map_.set_batch(3);
  }

  // Goes on until a node was freed, too. Returns the number of answers that nothing explains.
  std::size_t run(double seconds) {
    const auto end = std::chrono::steady_clock::now() +
                     std::chrono::milliseconds(static_cast<long>(1000 * seconds));
    // Between two rounds nobody is in an operation.
    std::barrier turn(kThreads, [&]() noexcept { judge(end); });
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([this, t, &turn] {
        std::mt19937 random(static_cast<unsigned>(t));
        while (!over_) {
          if (t < kReaders) {
            read(random, looks_[t]);
          } else {
            write(random);
          }
          turn.arrive_and_wait();
        }
      });
    }
    for (auto& t : threads)
      t.join();
    int height = 0;
    if (!map_.is_whole(height)) ++wrong_;
    return wrong_;
  }
  std::size_t looks() const { return judged_; }
  std::size_t updates() const { return map_.counts().updates; }
  // Nodes whose grace period is over.
  std::size_t freed() const { return map_.counts().garbage - map_.counts().waiting; }

 private:
  static constexpr int kKeys = 12;

  void read(std::mt19937& random, std::vector<Look>& looks) {
    typename Domain::reader me(domain_);
    for (int i = 0; i < 40; ++i) {
      Look look{};
      look.key = random() % kKeys;
      look.kind = kCopies == copies::path ? static_cast<Kind>(random() % 4) : Kind::find;
      look.began = clock_.fetch_add(1);
      if constexpr (kCopies == copies::path) {
        if (look.kind == Kind::all) {
          const auto now = map_.snapshot_for(me);
          for (const auto& e : now)
            look.got.emplace_back(e.key, e.value);
        }
        if (look.kind == Kind::floor) keep(look, map_.floor(me, look.key));
        if (look.kind == Kind::ceiling) keep(look, map_.ceiling(me, look.key));
      }
      if (look.kind == Kind::find) keep(look, map_.find(me, look.key));
      look.ended = clock_.fetch_add(1);
      looks.push_back(std::move(look));
      after_look_();
      if (random() % 8 == 0) std::this_thread::yield();
    }
  }
  template <class Found>
  static void keep(Look& look, const Found& found) {
    if (found) look.got.emplace_back(found->key, found->value);
  }
  void write(std::mt19937& random) {
    for (int i = 0; i < 30; ++i) {
      const std::lock_guard lock(mutex_);
      Update u{};
      u.key = random() % kKeys;
      u.value = ++changes_;
      u.there = random() % 2 == 0;
      u.began = clock_.fetch_add(1);
      if (u.there) {
        map_.insert_or_assign(u.key, u.value);
      } else {
        map_.erase(u.key);
      }
      u.ended = clock_.fetch_add(1);
      updates_.push_back(u);
    }
  }
  void judge(std::chrono::steady_clock::time_point end) noexcept {
    std::vector<Look> all;
    for (auto& looks : looks_) {
      all.insert(all.end(), looks.begin(), looks.end());
      looks.clear();
    }
    judged_ += all.size();
    wrong_ += unexplained(state_, updates_, std::move(all));
    for (const Update& u : updates_) {
      if (u.there) {
        state_[u.key] = u.value;
      } else {
        state_.erase(u.key);
      }
    }
    updates_.clear();
    over_ = std::chrono::steady_clock::now() >= end && freed() > 0;
  }

  void (*after_look_)();
  Domain domain_;
  Map map_;
  std::mutex mutex_;
  std::atomic<std::uint64_t> clock_{0};
  std::uint32_t changes_ = 0;
  std::vector<Update> updates_;
  std::vector<Look> looks_[kReaders];
  State state_;
  std::size_t wrong_ = 0;
  std::size_t judged_ = 0;
  bool over_ = false;
};

template <copies kCopies, class Domain, class... Of>
bool stress(const char* name, double seconds, void (*after_look)(), Of... of) {
  Stress<kCopies, Domain> s(after_look, of...);
  const std::size_t wrong = s.run(seconds);
  std::printf("%s: %zu looks, %zu updates, %zu nodes freed, %zu wrong\n", name, s.looks(),
              s.updates(), s.freed(), wrong);
  return wrong == 0 && s.looks() > 0 && s.updates() > 0;
}

}  // namespace bonsai_test
