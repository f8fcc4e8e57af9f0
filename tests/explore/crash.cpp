#include "crash.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <unistd.h>

#include <sys/time.h>

namespace lockswap::explore {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
// In processor time. An execution takes microseconds.
constexpr int kSecondsBetweenLooks = 2;

const CrashReport* report = nullptr;
std::uint32_t seen_run = 0;
int seen_steps = 0;

// In a signal handler nothing but write() is safe. If that fails, nobody can be shown why.
void put(const char* text, std::size_t length) {
  while (length != 0) {
    const ssize_t n = write(STDOUT_FILENO, text, length);
    if (n <= 0) return;
    text += n;
    length -= static_cast<std::size_t>(n);
  }
}
void put(const char* text) { put(text, std::strlen(text)); }
void put(const std::string& text) { put(text.data(), text.size()); }
void put(unsigned long n) {
  char digits[20];
  std::size_t first = sizeof digits;
  do {
    digits[--first] = static_cast<char>('0' + n % 10);
    n /= 10;
  } while (n != 0);
  put(digits + first, sizeof digits - first);
}

void print(const char* what) {
  put("\nlockswap-explore: ");
  put(what);
  put(" in ");
  put(report->running.name);
  put("\n");
  for (std::size_t i = 0; i < report->running.threads.size(); ++i) {
    put("    T");
    put(i);
    put(": ");
    put(report->running.threads[i]);
    put("\n");
  }
  if (machine.trace != nullptr) {
    for (const std::string& line : *machine.trace) {
      put("    ");
      put(line);
      put("\n");
    }
  }
  put("    repeat it: ");
  put(report->repeat);
  const char* before = " ";
  machine.search.each_choice([&](std::size_t i, int pick) {
    put(before);
    put(i);
    put("=");
    put(static_cast<unsigned long>(pick));
    before = ",";
  });
  put(*before == ' ' ? " -\n" : "\n");
}

void on_crash(int signal) {
  // A second one is not reported.
  std::signal(signal, SIG_DFL);
  if (report != nullptr) {
    const CrashReport* const once = report;
    print(signal == SIGSEGV || signal == SIGBUS ? "a wild address or an endless call" : "a crash");
    if (once == report) report = nullptr;
  }
  raise(signal);
}

void on_time(int) {
  if (report == nullptr) return;
  const bool stands = seen_run == machine.run_number() && seen_steps == machine.steps();
  seen_run = machine.run_number();
  seen_steps = machine.steps();
  if (!stands) return;
  print("a loop without an end, and without a step,");
  report = nullptr;
  std::signal(SIGABRT, SIG_DFL);
  std::abort();
}

void install() {
  // The stack may be what has come to its end.
  static char stack[1 << 16];
  const stack_t own{.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
  sigaltstack(&own, nullptr);
  const auto handle = [](int signal, void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    sigaction(signal, &action, nullptr);
  };
  for (int signal : kSignals)
    handle(signal, on_crash);
  handle(SIGVTALRM, on_time);
}
// For each case: a process that forks has its handlers, but not its timer.
void begin_to_look() {
  const timeval looks{kSecondsBetweenLooks, 0};
  const itimerval timer{looks, looks};
  setitimer(ITIMER_VIRTUAL, &timer, nullptr);
}

std::string command(const Case& c, const Bounds& bounds, MemoryModel memory) {
  const std::string option =
      memory == MemoryModel::c11 ? "" : std::string("--memory ") + name_of(memory) + ' ';
  return "lockswap-explore replay " + option + c.name + ' ' + text_of(bounds);
}

}  // namespace

CrashReport::CrashReport(const Case& c, const Bounds& bounds, MemoryModel memory)
    : running(c), repeat(command(c, bounds, memory)) {
  static const bool installed = [] {
    install();
    return true;
  }();
  static_cast<void>(installed);
  begin_to_look();
  std::fflush(stdout);  // what is there comes first
  report = this;
}

CrashReport::~CrashReport() { report = nullptr; }

}  // namespace lockswap::explore
