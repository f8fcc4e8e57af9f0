// lockswap-calls-read FILE...: prints a summary of what processes under LOCKSWAP_RECORD left, as
// JSON on stdout. The exit status is 2 if a file is not a record of this version. The processes may
// still be running.

#include <algorithm>
#include <cstdio>
#include <set>

#include "calls/reading.h"
#include "recording/json.h"

namespace {

using namespace lockswap::calls;
using lockswap::relaxed;
using Number = unsigned long long;

Number number(const Word& w) { return w.load(relaxed); }

struct Sums {
  Number of[static_cast<std::size_t>(What::kEnd)] = {};
  Number ns[static_cast<std::size_t>(What::kEnd)] = {};
  std::set<std::uint32_t> mutexes, rwlocks;
  Number begin = ~Number{0};

  void add(const Call& call) {
    const auto what = static_cast<std::size_t>(call.what());
    ++of[what];
    ns[what] += call.ns();
    begin = std::min<Number>(begin, call.at());
    if (call.what() == What::lock) mutexes.insert(call.object());
    if (call.what() == What::read || call.what() == What::write) rwlocks.insert(call.object());
  }
  Number count(What what) const { return of[static_cast<std::size_t>(what)]; }
  Number time(What what) const { return ns[static_cast<std::size_t>(what)]; }
};

void put(const char* name, Number value) { std::printf(",\"%s\":%llu", name, value); }

void process(const RecordedCalls& calls) {
  const Record& r = calls.record();
  Sums sums;
  for (const RecordedThread& thread : calls.threads()) {
    for (const Call& call : thread.call)
      sums.add(call);
  }
  std::printf("{");
  lockswap::recording::put_head(r.head);
  put("threads", calls.threads().size());
  put("mutexes", sums.mutexes.size());
  put("rwlocks", sums.rwlocks.size());
  put("locks", sums.count(What::lock));
  put("reads", sums.count(What::read));
  put("writes", sums.count(What::write));
  put("unlocks", sums.count(What::unlock));
  put("waits", sums.count(What::wait) + sums.count(What::timed_out));
  put("signals", sums.count(What::signal) + sums.count(What::broadcast));
  put("in_calls_ns", sums.time(What::lock) + sums.time(What::read) + sums.time(What::write));
  put("slept_ns", sums.time(What::slept));
  put("preempted_ns", sums.time(What::preempted));
  put("begin_ns", std::min<Number>(sums.begin, calls.end()));
  put("end_ns", calls.end());
  put("cpu_ns", std::max(number(r.ended_cpu_ns), Number{r.began_cpu_ns}) - r.began_cpu_ns);
  put("most_bytes", r.most_bytes);
  put("after_ns", r.after_ns);
  put("left_out", number(r.left_out));
  put("failed", number(r.failed));
  put("pair_ns_256", r.pair_ns_256);
  put("chunk_ns", number(r.chunk_ns));
  std::printf(",\"full\":%s}", number(r.is_full) != 0 ? "true" : "false");
}

}  // namespace

int main(int argc, char** argv) {
  using Result = lockswap::recording::RecordedFile::Result;
  std::printf("{\"processes\":[");
  const char* separator = "";
  for (int i = 1; i < argc; ++i) {
    RecordedCalls calls;
    const Result result = calls.read(argv[i]);
    if (result == Result::bad) {
      std::fprintf(stderr,
                   "lockswap-calls-read: %s is not a record of lock calls of this version "
                   "(" LOCKSWAP_VERSION ")\n",
                   argv[i]);
      return 2;
    }
    if (result == Result::empty) continue;
    std::printf("%s\n", separator);
    process(calls);
    separator = ",";
  }
  std::printf("]}\n");
  return 0;
}
