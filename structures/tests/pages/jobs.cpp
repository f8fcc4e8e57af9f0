// The program of docs/rlu.md: jobs that are in one of two sets, in no section in both or
// in neither.
#include <cstdio>
#include <optional>
#include <thread>

#include <lockswap/rlu_hash.hpp>
#include <lockswap/rlu_list.hpp>

lockswap::rlu::list<int> waiting;
lockswap::rlu::hash_set<int> running(1000);

bool start(int job) {
  lockswap::rlu::hash_set<int>::entry entry(job);
  const bool started = lockswap::rlu::update([&](auto& here) -> std::optional<bool> {
    const auto gone = waiting.remove(here, job);
    if (!gone || !*gone) return gone;  // no value: abort and retry
    return running.insert(here, entry);
  });
  if (started) entry.inserted();
  return started;
}

int main() {
  constexpr int kJobs = 100;
  for (int job = 0; job < kJobs; ++job)
    waiting.insert(job);
  int lost = 0;
  std::thread looks([&lost] {
    for (int job = 0; job < kJobs; ++job) {
      const lockswap::rlu::section here;
      if (waiting.contains(here, job) == running.contains(here, job)) ++lost;
    }
  });
  int started = 0;
  for (int job = 0; job < kJobs; ++job)
    started += start(job) ? 1 : 0;
  looks.join();
  std::printf("%d started, %d lost\n", started, lost);
}
