// The program of docs/ldu.md: which processes have a file mapped, for one who must find them all.
#include <cstdio>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include <lockswap/ldu.hpp>

struct mapping {
  int process;
  lockswap::ldu_hook hook;
  std::list<mapping*>::iterator place;
};

// The structure itself; needs no synchronisation of its own.
struct mappings {
  using object = mapping;
  static lockswap::ldu_hook& hook(mapping& m) { return m.hook; }
  void insert(mapping& m) { m.place = all.insert(all.end(), &m); }
  void remove(mapping& m) { all.erase(m.place); }
  void free(mapping& m) { delete &m; }
  std::list<mapping*> all;
};

int main() {
  lockswap::ldu_logs logs;                // one for all structures of the program
  lockswap::ldu<mappings> of_file(logs);  // its lock is a std::shared_mutex

  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      lockswap::ldu_logs::thread me(logs);  // a thread's place, for as long as the thread updates
      for (int child = 0; child < 1000; ++child) {
        auto* m = new mapping{t * 1000 + child, {}, {}};
        of_file.insert(me, *m);
        if (child % 10 != 0)
          of_file.retire(me, *m);  // removes it, and deletes it when that is safe
      }
    });
  }
  for (auto& t : threads)
    t.join();

  const auto count = of_file.read([](const mappings& now) { return now.all.size(); });
  std::printf("%zu mappings\n", count);

  of_file.exclusive([](mappings& now) {
    for (mapping* m : now.all)
      delete m;
    now.all.clear();
  });
  return count == 400 ? 0 : 1;
}
