// The driver: runs every case in a process of its own, so that a crash or a hang fails that case by
// name and the others still run. The driver itself never has the library preloaded; the cases'
// processes do.
//
//   rwlock_conformance [--preload LIB --rwlock NAME --mutex NAME --cond NAME --wait POLICY]
//                      [--only PATTERN] [--without PATTERN] [--timeout SECONDS] [--scale N]
//                      [--brief] [--sample] [--list] [--verbose]
//
// mutex_conformance is the same with the cases of mutexes and condition variables.
// TESTS_WITHOUT in the environment: patterns between ':', cases that are left out, too.
// --sample: the cases of exclusion and of lost wake-ups, and a quarter of the others. Which quarter
// follows from the lock and the wait policy, so that every case runs under some lock, and that the
// same tree has the same cases. TESTS_SAMPLE=0..3 in the environment takes the quarter that comes
// so many behind that one. It includes --brief.
// --brief: cases that try again and again do so less often and for a shorter time.
// --list: says which cases it would run.
// --timeout: a case hangs if its processes have hardly used the processor for that long, or if they
// have used it twice as long.
// --rwlock none preloads the library with nothing chosen: pure pass-through.
// --wait spin-or-yield takes one of the two, by the name of the lock.
// Exit status: 0 good, 1 a case failed, 2 bad input.
#include <algorithm>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <filesystem>
#include <fnmatch.h>
#include <fstream>
#include <iostream>
#include <poll.h>
#include <signal.h>
#include <sstream>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../tiers/progress.h"
#include "lifecycle.h"
#include "support.h"

namespace {

constexpr int kSkipped = 77;  // a case's exit status
constexpr int kUsage = 2;
constexpr int kPollMilliseconds = 500;
// Dozens of locks and observers run the same cases by the sample, so one of them may be shorter.
// Hammers by the clock may be much shorter, except those which tries and deadlines race in: these
// find what nothing else does.
constexpr int kBriefPercent = 40, kBriefTimePercent = 15;
constexpr double kLeastShare = 0.05;  // of a processor: what uses less only polls

struct Options {
  std::string preload, rwlock = "none", mutex, cond, wait = "park", only = "*", without;
  std::string flags;  // what the registry says of the lock, between blanks
  int timeout = 60;
  int scale = 1;
  bool brief = false;
  bool sample = false;
  bool list = false;
  bool verbose = false;

  std::string name() const {
    const std::string lock = mutex.empty() ? rwlock : "mutex " + mutex;
    return cond.empty() ? lock : lock + ", cond " + cond;
  }
};

// It says what a lock promises.
std::filesystem::path registry_beside(const std::string& preload) {
  return std::filesystem::path(preload).parent_path() / "bin/lockswap-registry";
}

// The flags that the registry has for the lock. None where it doesn't run, as with some older
// libraries, which asks for more.
std::string flags_of(const std::string& preload, const std::string& lock) {
  if (preload.empty()) return " ";
  const auto registry = registry_beside(preload);
  const char* emulator = getenv("TESTS_EMULATOR");
  const std::string command = (emulator != nullptr ? std::string(emulator) + " " : "");
  FILE* pipe = popen((command + registry.string()).c_str(), "r");
  std::string text, flags = " ";
  for (int c; pipe != nullptr && (c = fgetc(pipe)) != EOF;)
    text += static_cast<char>(c);
  if (pipe == nullptr || pclose(pipe) != 0) return flags;
  // The first is the rwlock of that name.
  const std::size_t start = text.find("{\"name\":\"" + lock + '"');
  if (start == std::string::npos) return flags;
  const std::string row = text.substr(start, text.find('}', start) - start);
  for (std::size_t at = row.find("\":true"); at != std::string::npos;
       at = row.find("\":true", at + 1)) {
    const std::size_t from = row.rfind('"', at - 1) + 1;
    flags += row.substr(from, at - from) + " ";
  }
  return flags;
}

// ---- in the case's process

class SkipReason : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (result.skipped()) printf("skip-reason: %s\n", result.message());
  }
};

// A case that runs against the wrong library proves nothing.
bool runs_against(const char* expected) {
  Dl_info info{};
  void* symbol = dlsym(RTLD_DEFAULT, "pthread_rwlock_rdlock");
  if (symbol == nullptr || dladdr(symbol, &info) == 0 || info.dli_fname == nullptr) return false;
  const std::string file = std::filesystem::path(info.dli_fname).filename();
  if (*expected == '\0') return file.starts_with("libc.") || file.starts_with("libpthread");
  return file == std::filesystem::path(expected).filename();
}

int run_case(const char* name, const char* library) {
  if (!runs_against(library)) {
    fprintf(stderr, "pthread_rwlock_rdlock does not come from %s\n", *library ? library : "glibc");
    return 1;
  }
  testing::GTEST_FLAG(filter) = name;
  testing::GTEST_FLAG(color) = "no";
  testing::UnitTest& unit = *testing::UnitTest::GetInstance();
  unit.listeners().Append(new SkipReason);
  const int status = RUN_ALL_TESTS();
  if (unit.test_to_run_count() != 1) return 1;
  return status != 0 ? 1 : unit.skipped_test_count() != 0 ? kSkipped : 0;
}

// ---- in the driver

struct Outcome {
  enum Kind { kGood, kFailed, kSkippedCase } kind;
  std::string why;
  std::string output;
  std::int64_t cpu_ms;  // also of its children that it has waited for
};

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What each thread of a hung case is doing, for the report.
std::string threads_of(pid_t pid) {
  std::string text;
  std::error_code ignored;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", ignored)) {
    const std::string stat = contents(task.path() / "stat");
    const size_t end = stat.rfind(')');
    text += "  thread " + task.path().filename().string() + " state " +
            (end != stat.npos ? stat.substr(end + 2, 1) : "?") + " syscall " +
            contents(task.path() / "syscall");
  }
  if (access("/usr/bin/gdb", X_OK) == 0) {
    const std::string command = "timeout -k 5 20 gdb -p " + std::to_string(pid) +
                                " -batch -ex 'set pagination off' -ex 'thread apply all bt 12' "
                                "2>/dev/null | grep -E '^(Thread|#)'";
    if (FILE* pipe = popen(command.c_str(), "r")) {
      char line[512];
      while (fgets(line, sizeof line, pipe) != nullptr)
        text += std::string("  ") + line;
      pclose(pipe);
    }
  }
  return text;
}

// That the library is loaded is not enough: it must have chosen the lock under test, and say so.
bool says_it_is_active(const std::string& output, const Options& options) {
  if (options.preload.empty()) return true;
  const auto says = [&](const std::string& what, const std::string& name) {
    return name == "none" || name.empty() || output.find(what + name) != output.npos;
  };
  return says(": rwlock ", options.rwlock) && says(", mutex ", options.mutex) &&
         says(", cond ", options.cond);
}

// Waits until the process has ended, or hangs, and says how in the latter case. A busy machine may
// take any time, so the clock alone is no sign.
std::string wait_for(int handle, pid_t pid, int timeout) {
  Watch case_watch = watch(pid, timeout, kLeastShare, 2.0 * timeout);
  for (pollfd ended{handle, POLLIN, 0}; poll(&ended, 1, kPollMilliseconds) == 0;) {
    const Hang hang = look_at(&case_watch);
    if (hang == kIsIdle) return "hang: not done, and idle for " + std::to_string(timeout) + " s";
    if (hang == kGoesRound)
      return "hang: not done after " + std::to_string(2 * timeout) + " CPU seconds";
  }
  return "";
}

std::int64_t milliseconds_of(const timeval& time) {
  return time.tv_sec * 1000 + time.tv_usec / 1000;
}

Outcome run_in_process(const std::string& name, const Options& options) {
  const int output = memfd_create("output", MFD_CLOEXEC);
  fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);  // what the case forks dies with it
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    const auto set_percent = [&](const char* variable, int when_brief) {
      const int percent = options.scale * (options.brief ? when_brief : 100);
      setenv(variable, std::to_string(percent).c_str(), 1);
    };
    set_percent("RWLOCK_TEST_PERCENT", kBriefPercent);
    set_percent("RWLOCK_TEST_TIME_PERCENT", kBriefTimePercent);
    setenv("RWLOCK_TEST_LOCK_IS", options.flags.c_str(), 1);
    for (const char* variable : {"LD_PRELOAD", "LOCKSWAP_RWLOCK", "LOCKSWAP_MUTEX", "LOCKSWAP_COND",
                                 "LOCKSWAP_WAIT", "LOCKSWAP_READER_PATIENCE_US"})
      unsetenv(variable);
    if (!options.preload.empty()) {
      setenv("LD_PRELOAD", options.preload.c_str(), 1);
      if (options.rwlock != "none") setenv("LOCKSWAP_RWLOCK", options.rwlock.c_str(), 1);
      if (!options.mutex.empty()) setenv("LOCKSWAP_MUTEX", options.mutex.c_str(), 1);
      if (!options.cond.empty()) setenv("LOCKSWAP_COND", options.cond.c_str(), 1);
      setenv("LOCKSWAP_WAIT", options.wait.c_str(), 1);
      setenv("LOCKSWAP_VERBOSE", "1", 1);  // see says_it_is_active
      // What waits when a case forks must not come in as a guest before, however slow it is. Where
      // writers can starve, patience is how readers come in beside others.
      const bool is_patient = options.flags.find(" writers_can_starve ") == std::string::npos;
      if (name.starts_with("ForkWaiters.") && is_patient)
        setenv("LOCKSWAP_READER_PATIENCE_US", "60000000", 1);
    }
    std::vector<std::string> command = conformance::self_command({"--case", name, options.preload});
    execvp(command[0].c_str(), conformance::pointers_to(command).data());
    _exit(127);
  }
  setpgid(pid, pid);
  Outcome outcome{Outcome::kFailed, "", "", 0};
  int status = 0;
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  outcome.why = wait_for(handle, pid, options.timeout);
  if (!outcome.why.empty()) outcome.output = threads_of(pid);
  kill(-pid, SIGKILL);
  rusage used{};
  wait4(pid, &status, 0, &used);
  close(handle);
  outcome.cpu_ms = milliseconds_of(used.ru_utime) + milliseconds_of(used.ru_stime);
  const std::string text = contents("/proc/self/fd/" + std::to_string(output));
  outcome.output = text + outcome.output;
  close(output);
  if (!outcome.why.empty()) return outcome;
  if (!says_it_is_active(text, options)) {
    outcome.why = "the library is loaded, but did not take up " + options.name();
  } else if (WIFSIGNALED(status)) {
    outcome.why = std::string("killed by ") + strsignal(WTERMSIG(status));
  } else if (WEXITSTATUS(status) == kSkipped) {
    outcome.kind = Outcome::kSkippedCase;
    const size_t at = text.find("skip-reason: ");
    outcome.why =
        at == text.npos ? "no reason given" : text.substr(at + 13, text.find('\n', at) - at - 13);
  } else if (WEXITSTATUS(status) == 0) {
    outcome.kind = Outcome::kGood;
  } else {
    outcome.why = "exit status " + std::to_string(WEXITSTATUS(status));
  }
  return outcome;
}

// Suites whose cases are in each sample: a broken exclusion and a lost wake-up are what locks must
// never have, and what a run finds by chance.
constexpr const char* kEachTime[] = {"Exclusion",  "GiveUp", "MutexContended",
                                     "MutexRaces", "Cond",   "CondStress"};
constexpr unsigned kQuarters = 4;

// Spreads names over numbers. (Of the sums of their letters some remainders never came.)
unsigned hash_of(const std::string& text) {
  unsigned hash = 0;
  for (const char c : text)
    hash = hash * 33 + static_cast<unsigned char>(c);
  return hash >> 4;
}

// Whether the case is in the sample; `number` counts the cases.
bool is_in_sample(const std::string& suite, unsigned number, const Options& options) {
  if (std::find(std::begin(kEachTime), std::end(kEachTime), suite) != std::end(kEachTime))
    return true;
  const char* shift = getenv("TESTS_SAMPLE");
  const unsigned start = shift != nullptr ? static_cast<unsigned>(atoi(shift)) : 0;
  return (number + start + hash_of(options.name() + options.wait)) % kQuarters == 0;
}

bool is_left_out(const std::string& name) {
  const char* given = getenv("TESTS_WITHOUT");
  std::istringstream patterns(given != nullptr ? given : "");
  for (std::string pattern; std::getline(patterns, pattern, ':');)
    if (fnmatch(pattern.c_str(), name.c_str(), FNM_EXTMATCH) == 0) return true;
  return false;
}

// The cases that the options name, and how many of those the sample leaves out.
struct Choice {
  std::vector<std::string> names;
  unsigned left_out = 0;
};

Choice chosen_cases(const Options& options) {
  Choice choice;
  unsigned number = 0;
  const testing::UnitTest& unit = *testing::UnitTest::GetInstance();
  for (int s = 0; s < unit.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *unit.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const std::string name = std::string(suite.name()) + "." + suite.GetTestInfo(t)->name();
      if (fnmatch(options.only.c_str(), name.c_str(), FNM_EXTMATCH) != 0 ||
          fnmatch(options.without.c_str(), name.c_str(), FNM_EXTMATCH) == 0 || is_left_out(name))
        continue;
      if (!options.sample || is_in_sample(suite.name(), number++, options)) {
        choice.names.push_back(name);
      } else {
        ++choice.left_out;
      }
    }
  }
  return choice;
}

int run_all(const Options& options) {
  const auto [names, left_out] = chosen_cases(options);
  if (names.empty() && left_out == 0) {
    std::cerr << program_invocation_short_name << ": no case is named '" << options.only << "'"
              << (options.without.empty() ? "" : " and not '" + options.without + "'") << '\n';
    return kUsage;
  }
  if (options.list) {
    for (const std::string& name : names)
      std::cout << name << '\n';
    return 0;
  }
  const std::string what =
      options.preload.empty() ? "plain glibc" : options.name() + ", wait " + options.wait;
  int good = 0;
  std::vector<std::string> failed, skipped;
  for (const std::string& name : names) {
    const Outcome outcome = run_in_process(name, options);
    if (outcome.kind == Outcome::kGood) ++good;
    if (outcome.kind == Outcome::kSkippedCase) skipped.push_back(name + ": " + outcome.why);
    if (outcome.kind == Outcome::kFailed) {
      failed.push_back(name + ": " + outcome.why);
      std::cout << "FAILED " << name << " (" << what << "): " << outcome.why << '\n'
                << outcome.output << std::flush;
    } else if (options.verbose) {
      std::cout << (outcome.kind == Outcome::kGood ? "ok     " : "skip   ") << name << " ("
                << outcome.cpu_ms << " ms of CPU time)" << std::endl;
    }
  }
  std::cout << what << ": " << good << " cases passed, " << failed.size() << " failed, "
            << skipped.size() << " skipped";
  if (left_out != 0) std::cout << ", " << left_out << " not in the sample";
  std::cout << '\n';
  for (const std::string& line : skipped)
    std::cout << "  skipped " << line << '\n';
  for (const std::string& line : failed)
    std::cout << "  FAILED  " << line << '\n';
  return failed.empty() ? 0 : 1;
}

struct TextOption {
  const char* flag;
  std::string Options::*value;
  bool names_a_lock = false;
};
constexpr TextOption kTexts[] = {
    {"--preload", &Options::preload},   {"--rwlock", &Options::rwlock, true},
    {"--mutex", &Options::mutex, true}, {"--cond", &Options::cond, true},
    {"--wait", &Options::wait},         {"--only", &Options::only},
    {"--without", &Options::without},
};
struct NumberOption {
  const char* flag;
  int Options::*value;
};
constexpr NumberOption kNumbers[] = {{"--timeout", &Options::timeout},
                                     {"--scale", &Options::scale}};
struct Switch {
  const char* flag;
  bool Options::*value;
};
constexpr Switch kSwitches[] = {{"--brief", &Options::brief},
                                {"--sample", &Options::sample},
                                {"--list", &Options::list},
                                {"--verbose", &Options::verbose}};

template <class Table>
const auto* option_named(const Table& table, const std::string& flag) {
  const auto* const found =
      std::ranges::find_if(table, [&](const auto& option) { return flag == option.flag; });
  return found == std::end(table) ? nullptr : found;
}

std::string known_flags() {
  std::string flags;
  const auto add = [&](const auto& table) {
    for (const auto& option : table)
      flags += std::string(" ") + option.flag;
  };
  add(kTexts);
  add(kNumbers);
  add(kSwitches);
  return flags;
}

// What is wrong with the command line, or nothing.
std::string read_options(int argc, char** argv, Options& options) {
  bool named = false;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (const Switch* const one = option_named(kSwitches, flag)) {
      options.*one->value = true;
      continue;
    }
    const TextOption* const text = option_named(kTexts, flag);
    const NumberOption* const number = option_named(kNumbers, flag);
    const bool known = text != nullptr || number != nullptr;
    if (!known) return "unknown argument " + flag + "; known:" + known_flags();
    if (i + 1 == argc) return "a value is missing after " + flag + "; known:" + known_flags();
    const char* const value = argv[++i];
    if (number != nullptr) options.*number->value = atoi(value);
    if (text != nullptr) options.*text->value = value;
    named = named || (text != nullptr && text->names_a_lock);
  }
  if (options.preload.empty() != !named)
    return "--preload and --rwlock, --mutex or --cond go together";
  if (!options.preload.empty() && access(options.preload.c_str(), R_OK) != 0)
    return options.preload + " is not there; build it first";
  const bool is_ours =
      std::filesystem::path(options.preload).filename().string().starts_with("liblockswap");
  if (is_ours && !exists(registry_beside(options.preload)))
    return registry_beside(options.preload).string() + " is not there; build it first";
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  early_hammer_stop();  // it has seen every constructor; from here on it would only be in the way
  if (argc == 4 && strcmp(argv[1], "--case") == 0) return run_case(argv[2], argv[3]);
  if (argc == 3 && strcmp(argv[1], "--lifecycle") == 0) return conformance::run_lifecycle(argv[2]);

  Options options;
  if (const std::string wrong = read_options(argc, argv, options); !wrong.empty()) {
    std::cerr << program_invocation_short_name << ": " << wrong << '\n';
    return kUsage;
  }
  constexpr int kEmulated = 5;  // so much slower, beside others
  if (getenv("TESTS_EMULATOR") != nullptr) options.timeout *= kEmulated;
  if (options.wait == "spin-or-yield")
    options.wait = hash_of(options.name()) % 2 == 0 ? "spin" : "yield";
  options.brief |= options.sample;
  options.flags = flags_of(options.preload, options.rwlock);
  return run_all(options);
}
