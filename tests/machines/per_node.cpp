// Shows which part of a lock its users come to on this machine. It runs under the library with
// LOCKSWAP_RWLOCK=cohort or per-cpu, and prints a line of JSON.
//
//   per_node places COUNT   from each CPU that this process may use: COUNT reads, a write
//   per_node here COUNT     COUNT reads, wherever the system lets this process run
//   per_node moves          holds whose threads change their node meanwhile
//   per_node unplug CPU     holds of threads whose CPU is taken away meanwhile (for root)
//   `per_node hand-off`    which writers of a prepared queue get the mutex of `cohort`
//   per_node mixed SECONDS  a thread on each CPU reads and writes: what `cohort` counts
//
// Exit status: 0 it was done, whatever it is; 1 it could not be done; 2 bad input.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <random>
#include <sched.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "blocks.h"
#include "standing.h"

namespace {

using blocks::CohortBlock;
using namespace standing;

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
std::unique_ptr<blocks::Parts> parts;

// --- what is printed

std::string text(const Numbers& numbers) {
  std::string s = "[";
  for (const unsigned n : numbers)
    s += (s.size() == 1 ? "" : ",") + std::to_string(n);
  return s + "]";
}

Numbers of_all_parts(const std::function<unsigned(unsigned)>& of) {
  Numbers n;
  for (unsigned i = 0; i < parts->count(); ++i)
    n.push_back(of(i));
  return n;
}

Numbers readers() {
  return of_all_parts([](unsigned i) { return parts->readers(lock, i); });
}

// --- the experiments

void begin_read() { must(pthread_rwlock_rdlock(&lock), "rdlock"); }
void begin_write() { must(pthread_rwlock_wrlock(&lock), "wrlock"); }
void end() { must(pthread_rwlock_unlock(&lock), "unlock"); }

// For each part, how many of these reads it counted while they lasted.
Numbers count_reads(unsigned count) {
  Numbers sums(parts->count());
  for (unsigned n = 0; n < count; ++n) {
    begin_read();
    const Numbers now = readers();
    end();
    for (unsigned i = 0; i < sums.size(); ++i)
      sums[i] += now[i];
  }
  return sums;
}

Numbers written_parts() {
  begin_write();
  Numbers w = of_all_parts([](unsigned i) { return parts->written(lock, i) ? 1 : 0; });
  end();
  return w;
}

void places(unsigned count) {
  const char* before = "{\"places\":[";
  for (const unsigned cpu : allowed_cpus()) {
    stand_on(cpu);
    const std::string reads = text(count_reads(count));
    std::printf("%s{\"cpu\":%u,\"node\":%u,\"reads\":%s,\"write\":%s}", before, cpu, kernels_node(),
                reads.c_str(), text(written_parts()).c_str());
    before = ",";
  }
  std::printf("],\"left\":%s}\n", text(readers()).c_str());
}

void here(unsigned count) {
  const std::string reads = text(count_reads(count));
  std::printf("{\"cpus\":%s,\"node\":%u,\"reads\":%s}\n", text(allowed_cpus()).c_str(),
              kernels_node(), reads.c_str());
}

void moves() {
  const auto nodes = cpus_by_node();
  const char* before = "{\"moves\":[";
  for (const auto& [from, cpus] : nodes) {
    for (const auto& [to, others] : nodes) {
      stand_on(cpus[0]);
      begin_read();
      const std::string held = text(readers());
      stand_on(others.back());
      const std::string moved = text(readers());
      end();
      begin_read();
      const std::string next = text(readers());
      stand_on(cpus[0]);
      end();
      begin_write();
      stand_on(others.back());
      end();
      std::printf(
          "%s{\"from\":%u,\"from_cpu\":%u,\"to\":%u,\"to_cpu\":%u,\"held\":%s,\"moved\":%s,"
          "\"next\":%s}",
          before, from, cpus[0], to, others.back(), held.c_str(), moved.c_str(), next.c_str());
      before = ",";
    }
  }
  std::printf("],\"left\":%s}\n", text(readers()).c_str());
}

void plug(unsigned cpu, bool in) {
  const std::string name = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/online";
  std::FILE* file = std::fopen(name.c_str(), "w");
  if (file == nullptr || std::fputs(in ? "1" : "0", file) < 0 || std::fclose(file) != 0)
    fail("cannot write to " + name);
}

void unplug(unsigned cpu) {
  std::atomic<bool> wrote{false};
  stand_on(cpu);
  begin_read();
  const std::string held = text(readers());
  std::thread writer([&] {
    begin_write();
    wrote = true;
    end();
  });
  plug(cpu, false);  // takes both threads elsewhere
  const bool early = wrote;
  const std::string unplugged = text(readers());
  end();
  writer.join();
  begin_read();
  const std::string after = text(readers());
  plug(cpu, true);
  stand_on(cpu);
  end();
  begin_read();
  const std::string again = text(readers());
  end();
  std::printf(
      "{\"cpu\":%u,\"early\":%s,\"held\":%s,\"unplugged\":%s,\"after\":%s,\"again\":%s,"
      "\"left\":%s}\n",
      cpu, early ? "true" : "false", held.c_str(), unplugged.c_str(), after.c_str(), again.c_str(),
      text(readers()).c_str());
}

unsigned waiting_writers(const CohortBlock& block) {
  unsigned n = block.head().global.waiting();
  for (unsigned i = 0; i < parts->count(); ++i)
    n += block.part(i).local.lock.idle() ? 0 : block.part(i).local.lock.waiting();
  return n;
}

// While this thread, on the first node, holds the lock, a few writers of each other node come, then
// more of the first than may go in a row.
void hand_off() {
  constexpr unsigned kOthers = 3, kBeyond = 8;
  const auto nodes = cpus_by_node();
  stand_on(nodes.begin()->second[0]);
  begin_write();
  const CohortBlock block(lock);
  Numbers order{kernels_node()}, thought{block.head().node.load(lockswap::relaxed)};
  std::vector<std::thread> writers;
  const auto write_from = [&](unsigned cpu) {
    writers.emplace_back([&, cpu] {
      stand_on(cpu);
      begin_write();
      order.push_back(kernels_node());
      thought.push_back(block.head().node.load(lockswap::relaxed));
      end();
    });
    while (waiting_writers(block) != writers.size())
      usleep(1'000);
  };
  for (auto node = std::next(nodes.begin()); node != nodes.end(); ++node) {
    for (unsigned i = 0; i < kOthers; ++i)
      write_from(node->second[i % node->second.size()]);
  }
  const Numbers& first = nodes.begin()->second;
  for (unsigned i = 0; i < lockswap::Native::kMostInARow + kBeyond; ++i)
    write_from(first[i % first.size()]);
  end();
  for (std::thread& t : writers)
    t.join();
  const Numbers local = of_all_parts([&](unsigned i) { return block.part(i).local.lock.drawn(); });
  std::printf(
      "{\"bound\":%u,\"others\":%u,\"order\":%s,\"thought\":%s,\"local\":%s,\"global\":%u}\n",
      lockswap::Native::kMostInARow, kOthers, text(order).c_str(), text(thought).c_str(),
      text(local).c_str(), block.head().global.drawn());
}

void mixed(double seconds) {
  static std::uint64_t first = 0, second = 0;  // equal unless a writer is inside
  static std::atomic<unsigned> reads{0}, writes{0}, torn{0};
  static std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (const unsigned cpu : allowed_cpus()) {
    threads.emplace_back([cpu] {
      stand_on(cpu);
      std::mt19937 random(cpu);
      while (!over) {
        if (random() % 4 != 0) {
          begin_read();
          if (__atomic_load_n(&first, __ATOMIC_RELAXED) !=
              __atomic_load_n(&second, __ATOMIC_RELAXED))
            ++torn;
          ++reads;
        } else {
          begin_write();
          __atomic_store_n(&first, first + 1, __ATOMIC_RELAXED);
          if (random() % 8 == 0) sched_yield();  // inside: the others pile up
          __atomic_store_n(&second, second + 1, __ATOMIC_RELAXED);
          ++writes;
        }
        end();
      }
    });
  }
  usleep(static_cast<useconds_t>(seconds * 1e6));
  over = true;
  for (std::thread& t : threads)
    t.join();
  const CohortBlock block(lock);
  const auto readers_of = [&](unsigned i) -> auto& { return block.part(i).readers; };
  const Numbers came = of_all_parts([&](unsigned i) { return readers_of(i).arrivals_counted(); });
  const Numbers gone = of_all_parts([&](unsigned i) { return readers_of(i).departures_counted(); });
  const Numbers local = of_all_parts([&](unsigned i) { return block.part(i).local.lock.drawn(); });
  const bool lost = first != writes || second != writes;
  std::printf(
      "{\"reads\":%u,\"writes\":%u,\"torn\":%u,\"lost\":%s,\"arrivals\":%s,\"departures\":%s,"
      "\"local\":%s,\"global\":%u}\n",
      reads.load(), writes.load(), torn.load(), lost ? "true" : "false", text(came).c_str(),
      text(gone).c_str(), text(local).c_str(), block.head().global.drawn());
}

struct Experiment {
  const char* name;
  const char* wants;   // an argument: a number above 0
  bool of_both_locks;  // or of `cohort` alone
  void (*run)(double);
};
constexpr Experiment kExperiments[] = {
    {"places", " COUNT", true, [](double n) { places(static_cast<unsigned>(n)); }},
    {"here", " COUNT", true, [](double n) { here(static_cast<unsigned>(n)); }},
    {"moves", "", true, [](double) { moves(); }},
    {"unplug", " CPU", true, [](double n) { unplug(static_cast<unsigned>(n)); }},
    {"hand-off", "", false, [](double) { hand_off(); }},
    {"mixed", " SECONDS", false, mixed},
};

}  // namespace

int main(int argc, char** argv) {
  parts = blocks::parts_of_this_lock();
  const bool is_cohort = dynamic_cast<blocks::CohortParts*>(parts.get()) != nullptr;
  const std::string what = argc > 1 ? argv[1] : "";
  const double number = argc > 2 ? std::strtod(argv[2], nullptr) : 0;
  for (const Experiment& e : kExperiments) {
    const bool has_its_argument = *e.wants == 0 ? argc == 2 : argc == 3 && number > 0;
    if (what != e.name || !has_its_argument || parts == nullptr || !(is_cohort || e.of_both_locks))
      continue;
    if (parts->count() == 0) fail("the library's blocks have another layout than these headers");
    e.run(number);
    return 0;
  }
  std::fprintf(stderr, "per_node: under LOCKSWAP_RWLOCK=cohort or per-cpu, want one of:");
  for (const Experiment& e : kExperiments)
    std::fprintf(stderr, " %s%s%s;", e.name, e.wants, e.of_both_locks ? "" : " (cohort)");
  std::fprintf(stderr, "\n");
  return 2;
}
