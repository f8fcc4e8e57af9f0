// lockswap-profile-read FILE...: prints the records that profiled processes left, as JSON on
// stdout. The exit status is 2 if a file is not a record of this version or the one before. The
// processes may still be running.
//
// lockswap-profile-read --live FILE: prints what the threads of a running process hold and wait
// for. It reads twice, so that this is true for the time between, and once if the process has
// ended. The history of waits is left out because it is long; --live-with-history includes it.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <iterator>
#include <vector>

#include "platform/clock.h"
#include "platform/ticks.h"
#include "profile/live.h"
#include "profile/record.h"
#include "recording/json.h"
#include "recording/reader.h"

namespace {

using namespace lockswap::profile;
using lockswap::acquire;
using lockswap::relaxed;
using lockswap::Ticks;
namespace recording = lockswap::recording;
using Number = unsigned long long;

Number number(const Word& w) { return w.load(relaxed); }

// Version 8 had no history of waits. There is a zero in its place.
bool from_before(std::vector<char>&) {
  static_assert(kSchema == 9);
  return true;
}

// A record and what follows it. What a writer has only just begun may be missing.
class File : public recording::RecordedFile {
 public:
  Result read(const char* path) { return RecordedFile::read(path, kFormat, from_before); }
  const Record& record() const { return RecordedFile::record<Record>(); }
  template <class T>
  const T* at(std::uint32_t offset, std::size_t bytes = sizeof(T)) const {
    return RecordedFile::at<T>(sizeof(Record), offset, bytes);
  }
};

void stack(const File& file, std::uint32_t offset) {
  std::printf("{\"id\":%u,\"frames\":", offset);
  const auto* s = file.at<recording::Stack>(offset, recording::bytes_of_stack(0));
  std::uint32_t count = s == nullptr ? 0 : std::min(s->count, recording::kMostFrames);
  if (file.at<recording::Stack>(offset, recording::bytes_of_stack(count)) == nullptr) count = 0;
  recording::put_places(file.record().head, count == 0 ? nullptr : s->frame, count);
  std::printf(",\"cut\":%s}", count != 0 && s->cut != 0 ? "true" : "false");
}

void histogram(const char* name, const Number (&n)[Histogram::kBuckets]) {
  std::printf(",\"%s\":[", name);
  const char* separator = "";
  for (std::size_t i = 0; i < Histogram::kBuckets; ++i) {
    if (n[i] == 0) continue;
    std::printf("%s[%llu,%llu]", separator, static_cast<Number>(Histogram::begin(i)), n[i]);
    separator = ",";
  }
  std::printf("]");
}

// The sum over all threads.
struct ModeSum {
  Number acquisitions = 0, contended = 0, wait_ns = 0, most_wait_ns = 0, long_waits = 0;
  Number timed_holds = 0, hold_ns = 0, most_hold_ns = 0;
  Number woken_with_all = 0, woken_in_vain = 0;  // of condition variables
  Number split_holds = 0, split_ns = 0, on_processor_ns = 0;
  Number wait[Histogram::kBuckets] = {}, hold[Histogram::kBuckets] = {};

  void add(const ModeTally& m, Kind kind) {
    acquisitions += m.acquisitions;
    contended += m.contended;
    wait_ns += m.wait_ns;
    most_wait_ns = std::max<Number>(most_wait_ns, m.most_wait_ns);
    long_waits += m.long_waits;
    timed_holds += m.timed_holds;
    hold_ns += m.hold_ns;
    most_hold_ns = std::max<Number>(most_hold_ns, m.most_hold_ns);
    if (kind == Kind::cond) {
      woken_with_all += m.woken_with_all;
      woken_in_vain += m.woken_in_vain;
    } else {
      split_holds += m.split_holds;
      split_ns += m.split_ns;
      on_processor_ns += m.on_processor_ns;
    }
    for (std::size_t i = 0; i < Histogram::kBuckets; ++i) {
      wait[i] += m.wait.n[i];
      hold[i] += m.hold.n[i];
    }
  }
  void print(const char* name) const {
    std::printf(",\n \"%s\":{\"acquisitions\":%llu,\"contended\":%llu,\"wait_ns\":%llu", name,
                acquisitions, contended, wait_ns);
    std::printf(",\"most_wait_ns\":%llu,\"long_waits\":%llu,\"timed_holds\":%llu", most_wait_ns,
                long_waits, timed_holds);
    std::printf(",\"hold_ns\":%llu,\"most_hold_ns\":%llu", hold_ns, most_hold_ns);
    std::printf(",\"split_holds\":%llu,\"split_ns\":%llu,\"on_processor_ns\":%llu", split_holds,
                split_ns, on_processor_ns);
    histogram("waits", wait);
    histogram("holds", hold);
    std::printf("}");
  }
};

// The waiting times of all threads, in slots as wide as the widest of theirs.
class TimelineSum {
 public:
  void add(const Timeline& line) {
    if (line.shift >= 64) return;  // torn
    while (shift_ < line.shift)
      widen();
    for (std::uint32_t i = 0; i < Timeline::kSlots; ++i)
      ns_[i >> (shift_ - line.shift)] += line.ns[i];
  }
  void print() const {
    std::printf(",\"timeline\":{\"slot_ns\":%llu,\"waited_ns\":[", Number{1} << shift_);
    const auto* const end =
        std::find_if(std::rbegin(ns_), std::rend(ns_), [](Number n) { return n != 0; }).base();
    for (const auto* at = std::begin(ns_); at != end; ++at)
      std::printf("%s%llu", at == ns_ ? "" : ",", *at);
    std::printf("]}");
  }

 private:
  void widen() {
    for (std::uint32_t i = 0; i < Timeline::kSlots; ++i)
      ns_[i] = i < Timeline::kSlots / 2 ? ns_[2 * i] + ns_[2 * i + 1] : 0;
    ++shift_;
  }

  std::uint32_t shift_ = Timeline::kFirstShift;
  Number ns_[Timeline::kSlots] = {};
};

void lock(const File& file, std::uint32_t i, const Class& c) {
  static constexpr const char* kKinds[] = {"mutex",     "rwlock",  "cond",
                                           "semaphore", "barrier", "join"};
  ModeSum mode[2];
  TimelineSum timeline;
  Number threads = 0, failed = 0, timeouts = 0, signals = 0, broadcasts = 0, timed_out = 0;
  const std::uint32_t bytes = bytes_of_tally(c.kind);
  const auto* t = file.at<Tally>(c.tallies.load(acquire), bytes);
  // A torn list must end as well.
  for (std::uint32_t left = kMostBytes / bytes; t != nullptr && left-- != 0;
       t = file.at<Tally>(t->next, bytes)) {
    mode[0].add(t->mode[0], c.kind);
    if (c.kind == Kind::rwlock) mode[1].add(t->mode[1], c.kind);
    threads += t->threads;
    (c.kind == Kind::cond ? broadcasts : failed) += t->failed_tries;
    timeouts += t->timeouts;
    signals += t->signals;
    timed_out += t->timed_out_ns;
    const auto* const line = file.at<Timeline>(t->timeline.load(relaxed));
    if (line != nullptr) timeline.add(*line);
  }
  std::printf("{\"class\":%u,\"kind\":\"%s\",\"stack\":%u,\"by_init\":%s,\"objects\":%llu", i,
              kKinds[static_cast<std::uint32_t>(c.kind) % std::size(kKinds)], c.stack,
              c.by_init != 0 ? "true" : "false", number(c.objects));
  std::printf(",\"object\":");
  if (c.object != 0 && recording::is_in_module(file.record().head, c.object)) {
    recording::put_place(file.record().head, c.object);
  } else {
    std::printf("null");
  }
  std::printf(",\"threads\":%llu,\"failed_tries\":%llu,\"timeouts\":%llu,\"timed_out_ns\":%llu",
              threads, failed, timeouts, timed_out);
  std::printf(",\"signals\":%llu,\"broadcasts\":%llu", signals, broadcasts);
  std::printf(",\"woken_with_all\":%llu,\"woken_in_vain\":%llu", mode[0].woken_with_all,
              mode[0].woken_in_vain);
  timeline.print();
  mode[0].print("exclusive");
  if (c.kind == Kind::rwlock) mode[1].print("shared");
  std::printf("}");
}

void pair(std::uint32_t i, const Pair& p) {
  static constexpr const char* kModes[] = {"exclusive", "shared", "unknown"};
  std::printf("{\"pair\":%u,", i);
  std::printf("\"class\":%u,\"waiter\":%u,\"waiter_mode\":\"%s\"", p.class_number, p.waiter,
              kModes[static_cast<std::uint32_t>(p.waiter_mode) % 3]);
  std::printf(",\"holder\":%u,\"holder_mode\":\"%s\"", p.holder,
              kModes[static_cast<std::uint32_t>(p.holder_mode) % 3]);
  std::printf(",\"waits\":%llu,\"wait_ns\":%llu,\"until_release_ns\":%llu,\"most_ns\":%llu}",
              number(p.waits), number(p.wait_ns), number(p.until_release_ns), number(p.most_ns));
}

// Prints the stored waits as "waits_kept": begin, end, since when the hold kept threads waiting,
// its end, pair, thread, the holder's thread. "waits_charged" is how many waits there were.
void history(const File& file, bool with_entries) {
  using History = WaitHistory;
  const auto* const h = file.at<History>(file.record().history.load(acquire));
  const Number count = h == nullptr ? 0 : number(h->count);
  std::printf(",\n\"waits_charged\":%llu,\n\"waits_kept\":[", count);
  const char* separator = "\n";
  Number n = count > History::kMost ? count - History::kMost : 0;
  for (; with_entries && n < count; ++n) {
    const std::uint32_t at = h->block[n / History::kBlock % History::kBlocks].load(acquire);
    const auto* const block = file.at<History::Block>(at);
    if (block == nullptr) continue;
    const History::Entry& e = block->entry[n % History::kBlock];
    const bool is_whole =
        number(e.number) == n + 1 && e.again.load(relaxed) == std::uint32_t(n + 1);
    if (!is_whole) continue;  // another entry is being written there
    std::printf("%s[%llu,%llu,%llu,%llu,%u,%u,%u]", separator, number(e.begin_ns), number(e.end_ns),
                number(e.kept_since_ns), number(e.released_ns), e.pair.load(relaxed),
                e.tid.load(relaxed), e.holder_tid.load(relaxed));
    separator = ",\n";
  }
  std::printf("]");
}

// Prints what the threads hold and wait for, as far as two reads with some time between agree. If
// the process has ended, both are the same.
class LiveThreads {
 public:
  LiveThreads(const File& first, const File& second, std::uint64_t now)
      : first_(first), second_(second), now_(now) {}
  LiveThreads(const File& only, std::uint64_t now) : LiveThreads(only, only, now) {}

  void print() const {
    std::printf(",\n\"threads_now\":[");
    const char* separator = "\n";
    std::uint32_t left = kMostBytes / sizeof(Live);  // a torn chain must end too
    for (std::uint32_t at = first_.record().live.load(relaxed); left-- != 0;) {
      const auto* one = first_.at<Live>(at);
      const auto* two = second_.at<Live>(at);
      if (one == nullptr || two == nullptr) break;
      at = one->next;
      const bool is_there = two->tid.load(relaxed) != 0;
      if (!is_there && !has_signalled(*two)) continue;
      std::printf("%s", separator);
      separator = ",\n";
      thread(*one, *two);
    }
    std::printf("]");
  }

 private:
  // Returns ns before now, or -1 if unknown.
  long long age(std::uint64_t ticks) const {
    return ticks == 0 ? -1 : static_cast<long long>(Ticks::ns_between(ticks, now_));
  }
  static bool has_signalled(const Live& live) {
    return std::any_of(std::begin(live.signalled), std::end(live.signalled),
                       [](const Signalled& s) { return s.address.load(relaxed) != 0; });
  }
  static bool is_same(const Waiting& a, const Waiting& b) {
    return a.address.load(relaxed) == b.address.load(relaxed) &&
           a.since.load(relaxed) == b.since.load(relaxed);
  }
  static bool is_same(const Hold& a, const Hold& b) {
    return a.address.load(relaxed) == b.address.load(relaxed) && a.begin() == b.begin() &&
           a.what.load(relaxed) == b.what.load(relaxed) &&
           a.caller.load(relaxed) == b.caller.load(relaxed);
  }
  static const char* mode(std::uint32_t m) { return (m & 3) == 1 ? "shared" : "exclusive"; }

  static void name(const Live& live) {
    std::uint64_t words[2];
    for (int i = 0; i < 2; ++i)
      words[i] = live.name[i].load(relaxed);
    char text[sizeof words + 1] = {};
    std::memcpy(text, words, sizeof words);
    recording::put_json_string(text);
  }

  void wait(const Waiting& w) const {
    const bool destroys = (w.mode.load(relaxed) & Waiting::kDestroys) != 0;
    std::printf("\n {\"address\":%llu,\"mutex\":%llu,\"class\":%u,\"mode\":\"%s\"",
                number(w.address), number(w.mutex), w.number.load(relaxed),
                destroys ? "destroy" : mode(w.mode.load(relaxed)));
    const std::uint64_t since = w.since.load(relaxed);
    const std::uint64_t after_start = Ticks::ns_between(second_.record().started_ticks, since);
    std::printf(",\"age_ns\":%lld,\"after_start_ns\":%llu", age(since),
                static_cast<Number>(after_start));
    std::printf(",\"since\":%llu", static_cast<Number>(since));
    std::printf(",\"has_deadline\":%s", w.has_deadline.load(relaxed) != 0 ? "true" : "false");
    std::printf(",\"caller\":%llu,\"stack\":%u}", number(w.caller), w.stack.load(relaxed));
  }

  void thread(const Live& one, const Live& two) const {
    const bool same = one.tid.load(relaxed) == two.tid.load(relaxed);
    std::printf("{\"tid\":%u,\"self\":%llu,\"process\":%u", two.tid.load(relaxed), number(two.self),
                two.process.load(relaxed));
    std::printf(",\"name\":");
    name(two);
    std::printf(",\"holds\":[");
    const char* separator = "";
    const auto in_both = [&](std::uint32_t a, std::uint32_t b, std::uint32_t most) {
      return same ? std::min({a, b, most}) : 0;
    };
    const std::uint32_t holds = in_both(one.held.load(acquire), two.held.load(acquire), kMostHolds);
    for (std::uint32_t i = 0; i < holds; ++i) {
      const Hold& h = two.hold[i];
      if (!is_same(one.hold[i], h)) continue;
      std::printf("%s\n {\"address\":%llu,\"class\":%u,\"mode\":\"%s\"", separator,
                  number(h.address), h.number(), mode(h.how() & Hold::kModes));
      std::printf(",\"age_ns\":%lld,\"caller\":%llu}", age(h.begin()), number(h.caller));
      separator = ",";
    }
    std::printf("],\"waits\":[");
    separator = "";
    const std::uint32_t waits =
        in_both(one.waiting.load(acquire), two.waiting.load(acquire), kMostWaits);
    const auto print_waits = [&](bool left) {
      separator = "";
      for (std::uint32_t i = 0; i < waits; ++i) {
        const Waiting& w = two.wait[i];
        if (!is_same(one.wait[i], w) || w.is_left() != left) continue;
        std::printf("%s", separator);
        wait(w);
        separator = ",";
      }
    };
    print_waits(false);
    std::printf("],\"left\":[");
    print_waits(true);
    std::printf("],\"signalled\":[");
    separator = "";
    for (const Signalled& s : two.signalled) {
      if (s.address.load(relaxed) == 0) continue;
      std::printf("%s\n {\"address\":%llu,\"tid\":%u,\"count\":%u", separator, number(s.address),
                  s.tid.load(relaxed), s.count.load(relaxed));
      std::printf(",\"age_ns\":%lld,\"reached_all_age_ns\":%lld", age(s.at.load(relaxed)),
                  age(s.reached_all_at.load(relaxed)));
      std::printf(",\"caller\":%llu}", number(s.caller));
      separator = ",";
    }
    std::printf("]}");
  }

  const File& first_;
  const File& second_;
  const std::uint64_t now_;
};

void process(const File& file, const LiveThreads& live, bool with_history) {
  const Record& r = file.record();
  std::printf("{");
  recording::put_head(r.head);
  std::printf(",\"counter\":%s,\"started_ns\":%llu,\"last_ns\":%llu,\"threads\":%llu",
              r.counter != 0 ? "true" : "false", static_cast<Number>(r.started_ns),
              number(r.last_ns), number(r.threads));
  std::printf(",\"slept\":%llu", number(r.slept));
  std::printf(",\"now_ns\":%llu", static_cast<Number>(lockswap::monotonic_ns()));
  std::printf(",\n\"cost\":{\"pair_ns\":%.2f,\"stack_ns\":%llu,\"unwound\":%llu,\"unwind_ns\":%llu",
              static_cast<double>(r.pair_ns_256) / 256, static_cast<Number>(r.stack_ns),
              number(r.unwound), number(r.unwind_ns));
  std::printf(",\"start_ns\":%llu}", static_cast<Number>(r.start_ns));
  std::printf(",\n\"made_code\":[");
  for (std::uint32_t i = 0; i < std::min(r.made_code.load(relaxed), kMostMadeCode); ++i)
    std::printf("%s[%llu,%llu]", i == 0 ? "" : ",", static_cast<Number>(r.made[i].begin),
                static_cast<Number>(r.made[i].end));
  std::printf("]");
  const Dropped& d = r.dropped;
  std::printf(",\n\"dropped\":{\"objects\":%llu,\"tallies\":%llu,\"stacks\":%llu",
              number(d.objects), number(d.tallies), number(d.stacks));
  std::printf(",\"pairs\":%llu,\"pairs_ns\":%llu,\"holds\":%llu,\"inside\":%llu", number(d.pairs),
              number(d.pairs_ns), number(d.holds), number(d.inside));
  std::printf(",\"chains\":%llu,\"timelines\":%llu}", number(d.chains), number(d.timelines));
  std::printf(",\n\"stacks\":[");
  const char* separator = "\n";
  for (const Offset& at : r.stack_at) {
    if (at.load(acquire) == 0) continue;
    std::printf("%s", separator);
    stack(file, at.load(relaxed));
    separator = ",\n";
  }
  std::printf("],\n\"locks\":[");
  separator = "\n";
  for (std::uint32_t i = 1; i < std::min(r.classes.load(acquire), kMostClasses); ++i) {
    std::printf("%s", separator);
    lock(file, i, r.class_of[i]);
    separator = ",\n";
  }
  std::printf("],\n\"pairs\":[");
  separator = "\n";
  for (std::uint32_t i = 0; i < kPairSlots; ++i) {
    if (r.pair[i].ready.load(acquire) == 0) continue;
    std::printf("%s", separator);
    pair(i, r.pair[i]);
    separator = ",\n";
  }
  std::printf("],\n\"chains\":[");
  separator = "\n";
  for (const Chain& c : r.chain) {
    if (c.key.load(relaxed) == 0) continue;
    std::printf("%s{\"pair\":%llu,\"cause\":%llu,\"ns\":%llu}", separator,
                (number(c.key) >> 32) - 1, (number(c.key) & 0xffffffff) - 1, number(c.ns));
    separator = ",\n";
  }
  std::printf("]");
  history(file, with_history);
  live.print();
  std::printf("}");
}

bool read(File& file, const char* path, File::Result& result) {
  result = file.read(path);
  if (result != File::bad) return true;
  std::fprintf(
      stderr, "lockswap-profile-read: %s is not a profile of this version, nor of the one before\n",
      path);
  return false;
}

void begin_output() {
  std::printf("{\"schema\":%u,\"lockswap\":\"" LOCKSWAP_VERSION "\",\"threshold_ns\":%llu", kSchema,
              static_cast<Number>(kThresholdNs));
  std::printf(",\"processes\":[");
}

int print_live(const char* path, bool with_history) {
  constexpr timespec kBetweenLooks{0, 20'000'000};
  File first, second;
  File::Result result = File::bad;
  if (!read(first, path, result)) return 2;
  if (result == File::empty) {
    begin_output();
    std::printf("]}\n");
    return 0;
  }
  ::nanosleep(&kBetweenLooks, nullptr);
  if (!read(second, path, result)) return 2;
  if (first.record().counter != 0) Ticks::calibrate();
  const LiveThreads live(first, second, Ticks::now());
  begin_output();
  process(second, live, with_history);
  std::printf("]}\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--live") == 0) return print_live(argv[2], false);
  if (argc == 3 && std::strcmp(argv[1], "--live-with-history") == 0)
    return print_live(argv[2], true);
  File file;
  begin_output();
  const char* separator = "\n";
  for (int i = 1; i < argc; ++i) {
    File::Result result = File::bad;
    if (!read(file, argv[i], result)) return 2;
    if (result == File::empty) continue;
    std::printf("%s", separator);
    separator = ",\n";
    if (file.record().counter != 0 && !Ticks::has_counter()) Ticks::calibrate();
    process(file, LiveThreads(file, Ticks::now()), true);
  }
  std::printf("]}\n");
  return 0;
}
