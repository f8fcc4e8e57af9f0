// peers: the same benchmarks over the lock of C++, which the preload swaps, and over the locks that
// a program would be rebuilt for: those of Abseil, nsync, parking_lot, Boost, oneTBB and
// Concurrency Kit.
//
// --work is what the threads do: `pairs` and `rwbench` as the programs of these names, readers and
// writers; `map` look-ups and changes in Kyoto Cabinet's map; `mutex` as `pairs --mutex`; `cache` a
// hash table with a list in the order of use; `queue` producers and consumers. --lock is the type
// of lock. --facts prints what each lock is, --memory what it needs.
//
// It prints the lines of common/report.h. The exit status is 1 if a lock let in whom it must keep
// out, and 77 if the lock is not compiled in. `bash apps/fetch/peers.sh` installs the libraries and
// builds the program.

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "known.h"
#include "peer.h"

namespace peers {

std::vector<Peer>& all() noexcept {
  static std::vector<Peer> found;
  return found;
}

namespace {

constexpr int kNotHere = 77;  // what test programs exit with if they can't run

const char* yes(bool fact) { return fact ? "yes" : "no"; }

std::string works_of(const Peer& peer) {
  std::string found;
  for (const auto& [name, run] : peer.works)
    found += (found.empty() ? "" : ",") + name;
  return found;
}

void print_facts() {
  std::ranges::stable_sort(all(), {}, [](const Peer& p) { return place_of(p.name); });
  std::puts(
      "lock\ttype\treaders\tbytes\tthread_bytes\tsleeps\ttimed\tconditions\trecursive\t"
      "any_thread\tworks");
  for (const Peer& p : all()) {
    std::printf("%s\t%s\t%s\t%zu\t%zu\t%s\t%s\t%s\t%s\t%s\t%s\n", p.name.c_str(), p.type.c_str(),
                yes(p.shared), p.bytes, p.seat_bytes, yes(p.promises.sleeps), yes(p.promises.timed),
                yes(p.has_conditions), yes(p.promises.recursive), yes(p.promises.any_thread),
                works_of(p).c_str());
  }
}

// Prints, in kilobytes, the address space and the resident memory of the process before it takes
// its first lock. Then, for each lock, the memory that it needs beside itself, and how much of its
// library's files is mapped and resident. memory.py makes a table of it.
void print_memory() {
  const ProcessMemory start = process_memory();
  std::ranges::stable_sort(all(), {}, [](const Peer& p) { return place_of(p.name); });
  std::printf("process\t%ld\t%ld\n", start.address_space, start.resident);
  std::puts("lock\ttype\tbytes\tbeside\tthread\tmapped_kb\tresident_kb");
  for (const Peer& p : all()) {
    const Footprint found = p.footprint();
    const std::string_view library = kKnown.at(place_of(p.name)).library;
    const ProcessMemory files = library.empty() ? ProcessMemory{} : memory_of_files(library);
    std::printf("%s\t%s\t%zu\t%.1f\t%.0f\t%ld\t%ld\n", p.name.c_str(), p.type.c_str(), p.bytes,
                found.beside, found.thread, files.address_space, files.resident);
  }
}

[[noreturn]] void not_compiled_in(const std::string& lock) {
  const std::string needs(kKnown.at(place_of(lock)).needs);
  std::fprintf(
      stderr,
      "peers: %s is not compiled in: 'bash apps/fetch/peers.sh' installs %s and builds it\n",
      lock.c_str(), needs.c_str());
  std::exit(kNotHere);
}

// The peer's function for this work. Ends the program if there is none.
Peer::Run run_of(const std::string& lock, const std::string& work, const bench::Options& options) {
  bool is_there = false;
  for (const Peer& peer : all()) {
    if (peer.name != lock) continue;
    is_there = true;
    if (const auto found = peer.works.find(work); found != peer.works.end()) return found->second;
  }
  if (!is_there) not_compiled_in(lock);
  options.refuse("'" + lock + "' can't do the work '" + work + "'");
}

std::vector<std::string> names() {
  std::vector<std::string> found;
  for (const Known& known : kKnown)
    found.emplace_back(known.name);
  return found;
}

int run(int argc, char** argv) {
  Task task;
  std::string lock = "std";
  std::string work = "pairs";
  bool facts = false;
  bool memory = false;
  bench::Options options("peers", "One benchmark over the lock of C++, or over another library's.");
  options.choice("--lock", lock, names(), "whose lock");
  options.choice("--work", work, {"pairs", "rwbench", "map", "mutex", "cache", "queue"},
                 "what the threads do");
  bench::add_plan_options(options, task.plan);
  options.number("--writes", task.writes, 0, 1, "share of write acquisitions: pairs, rwbench, map");
  options.number("--inside", task.steps.inside, 0, 1'000'000,
                 "steps of work under the lock: pairs, mutex");
  options.number("--outside", task.steps.outside, 0, 1'000'000,
                 "steps of work after it, on average");
  options.number("--entries", task.entries, 1, 10'000'000, "entries of the cache and the map");
  options.number("--places", task.places, 1, 1'000'000, "places of the queue");
  options.flag("--facts", facts, "print what each lock that is compiled in is, and end");
  options.flag("--memory", memory, "print what memory each of them needs, and end");
  options.parse(argc, argv);
  if (facts || memory) {
    if (facts) print_facts();
    if (memory) print_memory();
    return 0;
  }
  if (work == "queue" && task.plan.threads < 2)
    options.refuse("a queue needs a producer and a consumer: --threads 2");
  run_of(lock, work, options)(task);
  return 0;
}

}  // namespace
}  // namespace peers

int main(int argc, char** argv) { return peers::run(argc, argv); }
