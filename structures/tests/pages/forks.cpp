// The second program of docs/ldu.md: a fork beside a thread that updates.
#include <atomic>
#include <cstdio>
#include <thread>
#include <unistd.h>
#include <vector>

#include <sys/wait.h>

#include <lockswap/ldu.hpp>

struct item {
  lockswap::ldu_hook hook;
};
struct tally {
  using object = item;
  static lockswap::ldu_hook& hook(item& i) { return i.hook; }
  void insert(item&) { ++count; }
  void remove(item&) { --count; }
  int count = 0;
};

int main() {
  lockswap::ldu_logs logs;
  lockswap::ldu<tally> set(logs);
  std::vector<item> mine(10), others(10);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    lockswap::ldu_logs::thread me(logs);
    while (!stop.load()) {
      for (item& i : others)
        set.insert(me, i);
      for (item& i : others)
        set.remove(me, i);
    }
  });

  lockswap::ldu_logs::thread me(logs);
  for (item& i : mine)
    set.insert(me, i);
  logs.before_fork();  // no read of a structure may be open in this thread
  const pid_t child = fork();
  if (child == 0)
    logs.forked(me);  // before anything else; forked() in a thread without a place
  else
    logs.after_fork();  // also if fork() failed
  const int count = set.read([](const tally& now) { return now.count; });
  if (child == 0) _exit(count >= 10 && count <= 20 ? 0 : 1);

  int status = 1;
  waitpid(child, &status, 0);
  stop.store(true);
  other.join();
  std::printf("the child has %s\n", status == 0 ? "each object" : "lost some");
}
