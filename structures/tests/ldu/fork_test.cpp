// Forks of a program whose other threads update and read: nothing is lost in either process.
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <sys/wait.h>

#include "lockswap/ldu.hpp"
#include "lockswap/ldu_stamped.hpp"

namespace {

constexpr std::size_t kUpdaters = 4;
constexpr std::size_t kEach = 8;  // objects of an updater
constexpr std::size_t kObjects = kUpdaters * kEach;

struct Few : lockswap::ldu_machine {  // fewer rows than threads, and slots than structures
  static constexpr std::size_t kThreads = 3;
  static constexpr std::size_t kSlots = 1;
};

template <class P>
struct Bits {
  struct object {
    std::size_t number = 0;
    lockswap::basic_ldu_hook<P> hook{};
  };
  static lockswap::basic_ldu_hook<P>& hook(object& o) { return o.hook; }
  void insert(object& o) { change(o, true); }
  void remove(object& o) { change(o, false); }
  void change(object& o, bool to) {
    wrong += there[o.number] == to ? 1 : 0;
    there[o.number] = to;
    // Longer than an update, so that forks meet it; and half of it is seen where one does.
    for (int i = 0; i < 50; ++i)
      asm volatile("" ::: "memory");
    ++changes;
    wrong += changes != ++changes_again ? 1 : 0;
  }
  std::array<bool, kObjects> there{};
  std::size_t changes = 0, changes_again = 0, wrong = 0;
};

template <class TheSet>
struct Form {
  using Set = TheSet;
};
template <class T>
class Forks : public testing::Test {};
using Forms = testing::Types<Form<lockswap::ldu<Bits<lockswap::ldu_machine>>>,
                             Form<lockswap::ldu<Bits<lockswap::ldu_machine>, std::mutex>>,
                             Form<lockswap::ldu<Bits<Few>, std::shared_mutex, Few>>,
                             Form<lockswap::ldu_stamped<Bits<lockswap::ldu_machine>>>>;
TYPED_TEST_SUITE(Forks, Forms);

template <class Set>
class World {
  using Logs = typename Set::logs;
  using Thread = typename Logs::thread;
  using Object = typename Set::object;

 public:
  World() {
    for (auto& of_set : objects_) {
      for (std::size_t i = 0; i < kObjects; ++i)
        of_set[i].number = i;
    }
  }
  void update_until_told(std::size_t t) {
    std::mt19937 random(static_cast<unsigned>(t));
    std::array<std::array<bool, kEach>, 2> there{};
    while (!stop_) {
      Thread me(logs_);  // threads come and go
      for (int n = 0; n < 200 && !stop_; ++n) {
        const std::size_t s = random() % 2;
        const std::size_t i = random() % kEach;
        there[s][i] = !there[s][i];
        change(me, s, t * kEach + i, there[s][i], random() % 4 == 0);
      }
    }
    for (std::size_t s = 0; s < 2; ++s) {
      for (std::size_t i = 0; i < kEach; ++i)
        last_[s][t * kEach + i] = there[s][i];
    }
  }
  void read_until_told() {
    for (std::size_t n = 0; !stop_; ++n)
      wrong_ += sets_[n % 2].read([](const auto& all) { return all.wrong; });
  }
  // What a child does: each object goes on as it is found.
  bool goes_on(Thread& me) {
    std::array<std::array<bool, kObjects>, 2> found{};
    for (std::size_t s = 0; s < 2; ++s)
      sets_[s].exclusive([&](auto& all) { found[s] = all.there; });
    std::thread([&] {
      Thread another(logs_);
      for (std::size_t s = 0; s < 2; ++s) {
        for (std::size_t i = 0; i < kObjects; ++i)
          change(i % 2 == 0 ? me : another, s, i, !found[s][i], i % 3 == 0);
      }
    }).join();
    for (std::size_t s = 0; s < 2; ++s) {
      const bool right = sets_[s].read([&](const auto& all) {
        bool same = all.wrong == 0 && all.changes == all.changes_again;
        for (std::size_t i = 0; i < kObjects; ++i)
          same = same && all.there[i] != found[s][i];
        return same;
      });
      if (!right) return false;
    }
    return true;
  }
  void fork_and_check(Thread& me) {
    logs_.before_fork();
    const pid_t child = ::fork();
    if (child == 0) {
      logs_.forked(me);
      _exit(goes_on(me) ? 0 : 1);
    }
    logs_.after_fork();
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  void run(int forks) {
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kUpdaters; ++t)
      threads.emplace_back([this, t] { update_until_told(t); });
    threads.emplace_back([this] { read_until_told(); });
    {
      Thread me(logs_);
      for (int i = 0; i < forks && !testing::Test::HasFatalFailure(); ++i)
        fork_and_check(me);
    }
    stop_ = true;
    for (auto& t : threads)
      t.join();
    for (std::size_t s = 0; s < 2; ++s) {
      sets_[s].exclusive([&](auto& all) {
        EXPECT_EQ(all.wrong, 0U);
        EXPECT_GT(all.changes, 0U);
        EXPECT_EQ(all.there, last_[s]);
      });
    }
    EXPECT_EQ(wrong_, 0U);
  }

 private:
  void change(Thread& me, std::size_t s, std::size_t i, bool to, bool own) {
    Object& o = objects_[s][i];
    if constexpr (requires(Set & set) { set.insert(o); }) {
      if (own) return to ? sets_[s].insert(o) : sets_[s].remove(o);
    }
    to ? sets_[s].insert(me, o) : sets_[s].remove(me, o);
  }

  Logs logs_;
  std::array<Set, 2> sets_{Set{logs_}, Set{logs_}};
  std::array<std::array<Object, kObjects>, 2> objects_{};
  std::array<std::array<bool, kObjects>, 2> last_{};
  std::atomic<bool> stop_{false};
  std::atomic<std::size_t> wrong_{0};
};

TYPED_TEST(Forks, NothingIsLostBesideUpdaters) {
  const auto world = std::make_unique<World<typename TypeParam::Set>>();
  world->run(40);
}

// A thread without a place forks, and the parent goes on when there was no fork after all.
TEST(Fork, NeedsNoPlace) {
  using Set = lockswap::ldu<Bits<lockswap::ldu_machine>>;
  Set::logs logs;
  Set set(logs);
  Set::object o{};
  logs.before_fork();
  logs.after_fork();
  set.insert(o);
  logs.before_fork();
  const pid_t child = fork();
  if (child == 0) {
    logs.forked();
    set.remove(o);
    _exit(set.read([](const auto& all) { return all.there[0] || all.wrong != 0; }) ? 1 : 0);
  }
  logs.after_fork();
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(set.read([](const auto& all) { return all.there[0]; }));
}

// Without before_fork() a child says so where it can't go on, and does not hang later.
TEST(Fork, BesideAReaderNeedsPreparation) {
  using Set = lockswap::ldu<Bits<lockswap::ldu_machine>>;
  Set::logs logs;
  Set set(logs);
  Set::logs::thread me(logs);
  std::atomic<int> state{0};
  std::thread reader([&] {
    set.read([&](const auto&) {
      state = 1;
      while (state != 2)
        std::this_thread::yield();
    });
  });
  while (state != 1)
    std::this_thread::yield();
  int out[2];
  ASSERT_EQ(pipe(out), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(out[1], STDERR_FILENO);
    logs.forked(me);
    _exit(0);
  }
  close(out[1]);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  state = 2;
  reader.join();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
  std::array<char, 200> text{};
  const auto length = ::read(out[0], text.data(), text.size());
  close(out[0]);
  ASSERT_GT(length, 0);
  EXPECT_NE(std::string(text.data(), static_cast<std::size_t>(length)).find("before_fork()"),
            std::string::npos);
}

}  // namespace
