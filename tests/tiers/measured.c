// Runs a test, ends it if it hangs, and records what it cost: README.md.
//
//   measured NAME COMMAND...
//
// A test is ended if its processes have hardly used the processor for a while (it waits for what
// doesn't come), or if they have used too much of it (it goes round in circles). How long it takes
// by the clock doesn't matter, since others may have the processors. A program with ThreadSanitizer
// has no randomised addresses.
//
// TEST_IDLE_SECONDS, TEST_CPU_SECONDS   these limits
// TEST_RECORD     a file that gets a line: result, NAME, CPU seconds, seconds by the clock
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "progress.h"

static const double kLeastShare = 0.01;
enum { kPollMilliseconds = 500, kFailed = 1, kUsage = 2, kSkipped = 77 };

static double limit(const char* variable, double otherwise) {
  const char* const given = getenv(variable);
  return given != NULL && atof(given) > 0 ? atof(given) : otherwise;
}

static double seconds(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec / 1e6; }

// Kills the process and all below it. Each is stopped first, so that it can't start others.
static void kill_tree(pid_t root) {
  DIR* const proc = opendir("/proc");
  kill(root, SIGSTOP);
  for (struct dirent* entry; proc != NULL && (entry = readdir(proc)) != NULL;) {
    struct ProcessTimes times;
    if (isdigit((unsigned char)entry->d_name[0]) &&
        read_times((pid_t)atoi(entry->d_name), &times) && times.parent == root) {
      kill_tree(times.pid);
    }
  }
  if (proc != NULL) closedir(proc);
  kill(root, SIGKILL);
}

// One write to the end of the file, so that tests that run side by side don't mix their lines.
static void record(const char* result, const char* name, double cpu, double clock) {
  const char* const file = getenv("TEST_RECORD");
  if (file == NULL || *file == '\0') return;
  char line[1024];
  const int n = snprintf(line, sizeof line, "%s\tctest:%s\t%.2f\t%.2f\n", result, name, cpu, clock);
  const int out = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (out < 0 || write(out, line, (size_t)n) != n) perror(file);
  if (out >= 0) close(out);
}

// Returns whether the program was compiled with ThreadSanitizer.
static int has_tsan(const char* program) {
  const int file = open(program, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  struct stat found;
  const size_t size = fstat(file, &found) == 0 ? (size_t)found.st_size : 0;
  void* const bytes = size == 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (bytes == MAP_FAILED) return 0;
  static const char kNeedle[] = "__tsan_init";
  const int has_it = memmem(bytes, size, kNeedle, sizeof kNeedle - 1) != NULL;
  munmap(bytes, size);
  return has_it;
}

// Does nothing: a signal that is ignored by default would not end the wait.
static void on_child(int signal) { (void)signal; }

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: measured NAME COMMAND...\n");
    return kUsage;
  }
  const double idle_limit = limit("TEST_IDLE_SECONDS", 300),
               cpu_limit = limit("TEST_CPU_SECONDS", 14400);
  // The poll below ends with the child's signal; the child itself starts as this process did.
  sigset_t child, before;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  struct sigaction action = {.sa_handler = on_child}, inherited;
  sigaction(SIGCHLD, &action, &inherited);
  sigprocmask(SIG_BLOCK, &child, &before);
  const double start = clock_seconds();
  const pid_t test = fork();
  if (test == 0) {
    sigaction(SIGCHLD, &inherited, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    // Where vm.mmap_rnd_bits is above 28, gcc 12's would say "unexpected memory mapping" now and
    // then, and end. Where personality() is forbidden nothing changes.
    if (has_tsan(argv[2])) personality((unsigned long)personality(0xffffffff) | ADDR_NO_RANDOMIZE);
    execvp(argv[2], argv + 2);
    fprintf(stderr, "measured: %s: %s\n", argv[2], strerror(errno));
    _exit(127);
  }
  if (test < 0) {
    perror("measured");
    return kFailed;
  }
  struct Watch test_watch = watch(test, idle_limit, kLeastShare, cpu_limit);
  const char* why = NULL;
  for (;;) {
    const struct timespec poll = {0, kPollMilliseconds * 1000000L};
    sigtimedwait(&child, NULL, &poll);
    int status;
    const pid_t done = waitpid(test, &status, WNOHANG);
    if (done == test) {
      struct rusage all;
      getrusage(RUSAGE_CHILDREN, &all);
      const double waited = seconds(all.ru_utime) + seconds(all.ru_stime);
      const double cpu =
          waited > test_watch.used ? waited : test_watch.used;  // a killed one was not waited for
      const int code = WIFEXITED(status) ? WEXITSTATUS(status) : kFailed;
      const char* const result = why != NULL        ? "ended"
                                 : code == 0        ? "passed"
                                 : code == kSkipped ? "skipped"
                                                    : "failed";
      record(result, argv[1], cpu, clock_seconds() - start);
      if (WIFSIGNALED(status) && why == NULL) {
        fprintf(stderr, "measured: killed by signal %d (%s)\n", WTERMSIG(status),
                strsignal(WTERMSIG(status)));
      }
      return why != NULL ? kFailed : code;
    }
    if (why != NULL) continue;  // it is dying
    const enum Hang hang = look_at(&test_watch);
    if (hang == kIsIdle) {
      why = "hangs";
      fprintf(stderr, "measured: hangs: its processes hardly used the processor for %.0f s\n",
              idle_limit);
    } else if (hang == kGoesRound) {
      why = "goes round";
      fprintf(stderr, "measured: does not end: it has used its %.0f CPU seconds\n", cpu_limit);
    }
    if (why != NULL) kill_tree(test);
  }
}
