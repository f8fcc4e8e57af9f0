#include "config/config.h"

#include <cstring>
#include <iterator>

#include "config/auto.h"
#include "config/calls.h"
#include "config/delay.h"
#include "config/environment.h"
#include "config/metrics.h"
#include "config/policy.h"
#include "config/profile_folder.h"
#include "platform/text.h"

namespace lockswap {
namespace {

// The same as Config::reader_patience_us.
constexpr const char* kDefaultPatience = "20000";

constexpr Option kOptions[] = {
    {"LOCKSWAP_RWLOCK", "lock", "", "the reader-writer lock to use; unset: glibc's, untouched"},
    {"LOCKSWAP_MUTEX", "mutex", "",
     "the mutex to use, with our own condition variables; unset: glibc's, untouched"},
    {"LOCKSWAP_COND", "own or pthread", "",
     "own: our condition variables, also with glibc's mutexes; pthread: glibc's; unset: those "
     "that go with the mutex"},
    {"LOCKSWAP_POLICY", "FILE or rule", "",
     "which objects are swapped, and by what; see 'docs/diagnose.md'; unset: all, by the two "
     "above"},
    {"LOCKSWAP_WAIT", "wait policy", "park", "how to wait for a lock: spin, yield or park"},
    {"LOCKSWAP_SPIN", "0..1000000", "500",
     "upper bound on spin iterations before parking; the actual number adapts"},
    {"LOCKSWAP_READER_PATIENCE_US", "0..60000000", kDefaultPatience,
     "microseconds after which a reader bypasses a writer that waits for readers; 0: never"},
    {"LOCKSWAP_HANDOVER_US", "0..60000000", "500",
     "eventual, gcr-*: minimum time between two hand-offs, in microseconds; 0: hand off at each "
     "release"},
    {"LOCKSWAP_BRAVO_SLOTS", "power of two, 16..1048576", "4096",
     "number of slots in BRAVO's table of readers"},
    {"LOCKSWAP_BRAVO_N", "0..1000000", "9",
     "BRAVO's slow-down guard: writers lose at most 1/(N+1) of their time to revocations"},
    {"LOCKSWAP_TOPOLOGY", "NxCxT", "",
     "for tests: pretend N nodes of C cores of T threads; unset: those of the machine"},
    {"LOCKSWAP_RANGE", "range lock", kDefaultRange,
     "the range lock of programs that name none; see 'lockswap list'"},
    {"LOCKSWAP_RANGE_SEGMENT", "1..1073741824", "4096",
     "sharded-rw, pnova-rw: units of a segment, unless the program sets them"},
    {"LOCKSWAP_STATS", "0, 1 or FILE", "0",
     "count what locks do; at exit a summary on stderr, or JSON in FILE.<pid>"},
    {"LOCKSWAP_PROFILE", "DIR", "",
     "record which locks cost the most waiting, and which lines wait and hold, in files of this "
     "folder; read by "
     "'lockswap report'"},
    {"LOCKSWAP_METRICS", "DIR", "",
     "count acquisitions and waits in files of this folder, for monitoring; read by 'lockswap "
     "metrics', see 'docs/production.md'"},
    {"LOCKSWAP_METRICS_HOLDS", "0 or 1", "0",
     "1: with LOCKSWAP_METRICS, also time how long locks are held"},
    {"LOCKSWAP_RECORD", "DIR", "",
     "record the lock calls of each thread in files of this folder; used by 'lockswap record', see "
     "'docs/predict.md'"},
    {"LOCKSWAP_RECORD_MB", "1..1024", "64",
     "with LOCKSWAP_RECORD, how large the file of a process may become, in MB"},
    {"LOCKSWAP_RECORD_AFTER_MS", "0..86400000", "0",
     "with LOCKSWAP_RECORD, milliseconds from the start of a process to that of the recording"},
    {"LOCKSWAP_DELAY", "RULE:+5us", "",
     "lengthen each hold of the rule's locks by this time, or with 'after+5us' add it after them; "
     "used by 'lockswap whatif', see 'docs/diagnose.md'"},
    {"LOCKSWAP_STRICT", "0 or 1", "0",
     "1: refuse to start if what was chosen cannot run with this glibc; 0: keep glibc's objects "
     "and "
     "say so"},
    {"LOCKSWAP_VERBOSE", "0 or 1", "",
     "1: print which lock is used, and at exit which libraries bypass it; 0: no warnings either; "
     "unset: only warnings"},
    {"LOCKSWAP_AUDIT", "FILE", "", "used by 'lockswap audit' and its library, not by this one"},
    {"LOCKSWAP_FUZZ", "SEED,...", "", "used by 'lockswap fuzz' and its library, not by this one"},
    {"LOCKSWAP_HOME", "directory", "", "used by the lockswap command, not by the library"},
};

constexpr std::uint32_t kMostSlots = 1u << 20;

// A copy of LOCKSWAP_STATS, which is needed at exit, because programs that set their title, such as
// redis and nginx, overwrite their environment. With ".<pid>" it fits into a path.
constexpr std::size_t kLongestFile = 4000;
constinit char stats_file[kLongestFile + 1];

class Reader {
 public:
  Reader(char* message, std::uint32_t size) noexcept : message_(message), size_(size) {}
  bool ok() const noexcept { return ok_; }
  void fail() noexcept { ok_ = false; }  // the message is filled in already

  Text complain(const char* name, const char* value) noexcept {
    ok_ = false;
    Text text(message_, size_);
    text << "lockswap: " << name << "=" << value << " ";
    return text;
  }

  void number(const char* name, std::uint32_t least, std::uint32_t most,
              std::uint32_t& into) noexcept {
    const char* v = environment_value(name);
    if (v == nullptr || !ok_) return;
    std::uint64_t n = 0;
    const char* p = v;
    for (; *p >= '0' && *p <= '9' && n <= most; ++p)
      n = n * 10 + static_cast<unsigned>(*p - '0');
    if (*p != 0 || n < least || n > most) {
      complain(name, v) << "is not a number from " << least << " to " << most;
    } else {
      into = static_cast<std::uint32_t>(n);
    }
  }

  void flag(const char* name, bool& into) noexcept {
    const char* v = environment_value(name);
    if (v == nullptr || !ok_) return;
    if (std::strcmp(v, "0") != 0 && std::strcmp(v, "1") != 0) {
      complain(name, v) << "is neither 0 nor 1";
    } else {
      into = *v == '1';
    }
  }

 private:
  char* message_;
  std::uint32_t size_;
  bool ok_ = true;
};

// Sets `into` to the name in the list that the variable has.
void choose(Reader& reader, const char* variable, const NameList& list,
            const char*& into) noexcept {
  const char* v = environment_value(variable);
  if (v == nullptr || !reader.ok()) return;
  if (const char* name = list.find(v); name != nullptr) {
    into = name;
    return;
  }
  Text text = reader.complain(variable, v);
  put_choice(text, "is not a ", list, v);
}

void read_cond(Reader& reader, Config& config) noexcept {
  constexpr char kName[] = "LOCKSWAP_COND";
  const char* v = environment_value(kName);
  if (v == nullptr || !reader.ok()) return;
  if (same_name(v, "own")) {
    config.cond = Conds::own;
  } else if (same_name(v, "pthread") || same_name(v, "glibc")) {
    config.cond = Conds::pthread;
  } else {
    reader.complain(kName, v) << "is not a choice of condition variables; choose own or pthread";
  }
}

void read_rules(Reader& reader, const Names& names, Config& config, char* message,
                std::uint32_t size) noexcept {
  const char* v = environment_value("LOCKSWAP_POLICY");
  if (v == nullptr || !reader.ok()) return;
  for (const char* other : {"LOCKSWAP_RWLOCK", "LOCKSWAP_MUTEX"}) {
    if (const char* lock = environment_value(other); lock != nullptr) {
      reader.complain(other, lock)
          << "can't be combined with LOCKSWAP_POLICY, whose rules name the "
             "locks; unset one of the two, or "
             "end the policy with a rule that has no conditions";
      return;
    }
  }
  config.policy = read_policy(v, names, message, size);
  if (config.policy == nullptr) reader.fail();
}

void read_range(Reader& reader, const Names& names, Config& config) noexcept {
  const char* v = environment_value("LOCKSWAP_RANGE");
  if (v == nullptr || !reader.ok()) return;
  config.range = names.range_kind(v);
  if (config.range != 0) return;
  Text text = reader.complain("LOCKSWAP_RANGE", v);
  put_unknown(text, "is not a ", "range lock", v);
  names.put_ranges(text, v);
}

void read_stats(Reader& reader, Config& config) noexcept {
  const char* v = environment_value("LOCKSWAP_STATS");
  if (v == nullptr || !reader.ok() || std::strcmp(v, "0") == 0) return;
  if (std::strlen(v) > kLongestFile) {
    reader.complain("LOCKSWAP_STATS", "...") << "is longer than " << kLongestFile << " bytes";
    return;
  }
  Text(stats_file, sizeof stats_file) << (std::strcmp(v, "1") == 0 ? "" : v);
  config.stats = stats_file;
}

// If the folder does not exist, that is reported when the file can't be made.
constinit char profile_files[kLongestFile + 1];
constinit char metrics_files[kLongestFile + 1];
constinit char calls_files[kLongestFile + 1];
void read_folder(Reader& reader, const char* name, char* into) noexcept {
  const char* v = environment_value(name);
  if (v == nullptr || !reader.ok()) return;
  if (std::strlen(v) > kLongestFile) {
    reader.complain(name, "...") << "is longer than " << kLongestFile << " bytes";
    return;
  }
  Text(into, kLongestFile + 1) << v;
}

constinit bool metrics_holds = false;
void read_metrics(Reader& reader) noexcept {
  constexpr char kName[] = "LOCKSWAP_METRICS";
  read_folder(reader, kName, metrics_files);
  reader.flag("LOCKSWAP_METRICS_HOLDS", metrics_holds);
  if (metrics_files[0] != 0 && profile_files[0] != 0 && reader.ok()) {
    reader.complain(kName, metrics_files)
        << "does not go with LOCKSWAP_PROFILE, which counts more; unset one of the two";
  }
}

constinit std::uint32_t calls_mb = 64, calls_after = 0;
void read_calls(Reader& reader) noexcept {
  constexpr char kName[] = "LOCKSWAP_RECORD";
  read_folder(reader, kName, calls_files);
  reader.number("LOCKSWAP_RECORD_MB", 1, 1024, calls_mb);
  reader.number("LOCKSWAP_RECORD_AFTER_MS", 0, 86'400'000, calls_after);
  if (calls_files[0] == 0 || !reader.ok()) return;
  // They have their own files, decide by the place of a call, or prolong what is recorded.
  for (const char* other :
       {"LOCKSWAP_PROFILE", "LOCKSWAP_METRICS", "LOCKSWAP_DELAY", "LOCKSWAP_POLICY"}) {
    if (environment_value(other) == nullptr) continue;
    reader.complain(kName, calls_files)
        << "can't be combined with " << other << "; unset one of the two";
    return;
  }
}

void read_delayed(Reader& reader, char* message, std::uint32_t size) noexcept {
  const char* v = environment_value("LOCKSWAP_DELAY");
  if (v == nullptr || !reader.ok()) return;
  // All three decide by the place of the call, which only one of them can see.
  for (const char* other : {"LOCKSWAP_POLICY", "LOCKSWAP_PROFILE"}) {
    if (environment_value(other) == nullptr) continue;
    reader.complain("LOCKSWAP_DELAY", v)
        << "can't be combined with " << other << "; unset one of the two";
    return;
  }
  if (!read_delay(v, message, size)) reader.fail();
}

void read_pretence(Reader& reader, Config& config) noexcept {
  const char* v = environment_value("LOCKSWAP_TOPOLOGY");
  if (v == nullptr || !reader.ok()) return;
  std::uint32_t n[3] = {};
  int i = 0;
  const char* p = v;
  for (bool digits = false; *p != 0; ++p) {
    if (*p >= '0' && *p <= '9' && n[i] < 100'000) {
      n[i] = n[i] * 10 + static_cast<unsigned>(*p - '0');
      digits = true;
    } else if (*p == 'x' && digits && i < 2) {
      ++i;
      digits = false;
    } else {
      break;
    }
  }
  config.topology = {n[0], n[1], n[2]};
  if (*p != 0 || !config.topology.valid()) {
    reader.complain("LOCKSWAP_TOPOLOGY", v) << "is not a topology; write NODESxCORESxTHREADS, such "
                                               "as 2x18x2 for two nodes with 18 cores "
                                               "of two threads each, with at most "
                                            << kMostCpus << " CPUs";
  }
}

// A misspelt variable would silently leave the program with an unintended configuration.
void reject_unknown(Reader& reader) noexcept {
  for (char** e = environment(); e != nullptr && *e != nullptr && reader.ok(); ++e) {
    if (std::strncmp(*e, "LOCKSWAP_", 9) != 0) continue;
    bool known = false;
    for (const Option& o : kOptions) {
      const std::size_t n = std::strlen(o.name);
      known = known || (std::strncmp(*e, o.name, n) == 0 && (*e)[n] == '=');
    }
    if (known) continue;
    char name[64];
    std::size_t n = 0;
    for (; n + 1 < sizeof name && (*e)[n] != 0 && (*e)[n] != '='; ++n)
      name[n] = (*e)[n];
    name[n] = 0;
    Text text = reader.complain(name, (*e)[n] == '=' ? *e + n + 1 : "");
    text << "is not a variable of lockswap; ";
    put_nearest(text, name, static_cast<int>(std::size(kOptions)),
                [](int i) { return kOptions[i].name; });
    for (const Option& o : kOptions)
      text << (&o == kOptions ? " " : ", ") << o.name;
  }
}

}  // namespace

Options options() noexcept { return {kOptions, static_cast<int>(std::size(kOptions))}; }

const char* profile_folder() noexcept { return profile_files[0] != 0 ? profile_files : nullptr; }
const char* metrics_folder() noexcept { return metrics_files[0] != 0 ? metrics_files : nullptr; }
bool metrics_count_holds() noexcept { return metrics_holds; }
const char* calls_folder() noexcept { return calls_files[0] != 0 ? calls_files : nullptr; }
std::uint32_t calls_megabytes() noexcept { return calls_mb; }
std::uint32_t calls_after_ms() noexcept { return calls_after; }

bool read_config(Config& config, const Names& names, char* message, std::uint32_t size) noexcept {
  Reader reader(message, size);
  reject_unknown(reader);
  choose(reader, "LOCKSWAP_RWLOCK", names.rwlocks, config.rwlock);
  choose(reader, "LOCKSWAP_MUTEX", names.mutexes, config.mutex);
  read_cond(reader, config);
  read_rules(reader, names, config, message, size);
  choose(reader, "LOCKSWAP_WAIT", names.waits, config.wait);
  read_range(reader, names, config);
  reader.number("LOCKSWAP_RANGE_SEGMENT", 1, 1u << 30, config.range_segment);
  reader.number("LOCKSWAP_SPIN", 0, 1'000'000, config.spin);
  reader.number("LOCKSWAP_READER_PATIENCE_US", 0, 60'000'000, config.reader_patience_us);
  reader.number("LOCKSWAP_HANDOVER_US", 0, 60'000'000, config.handover_us);
  reader.number("LOCKSWAP_BRAVO_SLOTS", 16, kMostSlots, config.bravo_slots);
  reader.number("LOCKSWAP_BRAVO_N", 0, 1'000'000, config.bravo_n);
  read_pretence(reader, config);
  reader.flag("LOCKSWAP_STRICT", config.strict);
  reader.flag("LOCKSWAP_VERBOSE", config.verbose);
  config.warns = config.verbose || environment_value("LOCKSWAP_VERBOSE") == nullptr;
  if (reader.ok() && (config.bravo_slots & (config.bravo_slots - 1)) != 0) {
    reader.complain("LOCKSWAP_BRAVO_SLOTS", environment_value("LOCKSWAP_BRAVO_SLOTS"))
        << "is not a power of two; choose one from 16 to 1048576";
  }
  read_stats(reader, config);
  read_folder(reader, "LOCKSWAP_PROFILE", profile_files);
  read_metrics(reader);
  read_calls(reader);
  read_delayed(reader, message, size);
  return reader.ok();
}

}  // namespace lockswap
