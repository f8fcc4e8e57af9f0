// lockswap-meter: starts one program, waits for it, writes down what it used.
//
//   lockswap-meter run OUT CMD...    run CMD; its process id, and in the end its exit status and
//                                    resource usage, go to OUT as "key value" lines
//   lockswap-meter guard PID CMD...  become CMD, which dies when its parent PID dies
//   lockswap-meter with NAME=VALUE... -- CMD...  become CMD, with these variables
//   lockswap-meter probe MS          print how many CPUs were really available during MS
//                                    milliseconds
//
// Why a program of its own and not wait4() in Python: Linux counts the memory of the process that
// calls exec() into the peak memory of the program, so a program started from a large process seems
// at least as large; and `perf stat` reports a program that died by a signal as exit status 0.
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int die(const char* what) {
  fprintf(stderr, "lockswap-meter: %s: %s\n", what, strerror(errno));
  return 125;
}

static double seconds(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec / 1e6; }

// In place of this process; an exit status, as a shell's, if it cannot be started.
static int become(char** command) {
  execvp(command[0], command);
  int status = errno == ENOENT ? 127 : 126;
  fprintf(stderr, "lockswap-meter: cannot start '%s': %s\n", command[0], strerror(errno));
  return status;
}

static int run(const char* out_path, char** command) {
  FILE* out = fopen(out_path, "we");
  if (!out) return die(out_path);
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // if perf around us is killed
  pid_t parent = getpid();
  uint64_t start = now_ns();
  pid_t child = fork();
  if (child < 0) return die("fork");
  if (child == 0) {
    // If the harness dies, or kills us at the time limit, the program dies as well.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(125);
    _exit(become(command));
  }
  fprintf(out, "pid %d\n", (int)child);
  fflush(out);
  // At the time limit the whole process group gets SIGTERM; what a hung program used is worth
  // knowing.
  signal(SIGTERM, SIG_IGN);
  int status;
  struct rusage used;
  while (wait4(child, &status, 0, &used) < 0)
    if (errno != EINTR) return die("wait4");
  uint64_t wall = now_ns() - start;
  int by_signal = WIFSIGNALED(status);
  fprintf(out, "%s %d\n", by_signal ? "signal" : "exit",
          by_signal ? WTERMSIG(status) : WEXITSTATUS(status));
  fprintf(out, "wall_ns %" PRIu64 "\n", wall);
  fprintf(out, "user_s %.6f\nsys_s %.6f\n", seconds(used.ru_utime), seconds(used.ru_stime));
  fprintf(out, "max_rss_kb %ld\n", used.ru_maxrss);
  fprintf(out, "switches_voluntary %ld\nswitches_involuntary %ld\n", used.ru_nvcsw, used.ru_nivcsw);
  fprintf(out, "faults_minor %ld\nfaults_major %ld\n", used.ru_minflt, used.ru_majflt);
  if (fclose(out) != 0) return die(out_path);
  return by_signal ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int guard(const char* parent, char** command) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // If the parent is dead already, no signal will come.
  if (getppid() != strtol(parent, NULL, 10)) return 125;
  execvp(command[0], command);
  return die(command[0]);
}

static int with(char** words) {
  for (; *words && strcmp(*words, "--") != 0; ++words)
    if (putenv(*words) != 0) return die("putenv");
  return *words && words[1] ? become(words + 1) : 2;
}

// One slice is long against a timer tick's work and short against a time slice of the scheduler.
enum { slice_ns = 250000 };

struct spun {
  uint64_t steps;
  uint64_t best_slice;
};

static void spin(struct spun* mine, uint64_t until) {
  volatile uint64_t sink = 0;
  for (uint64_t t = now_ns(); t < until;) {
    uint64_t end = t + slice_ns, steps = 0;
    for (; t < end; t = now_ns(), ++steps)
      for (int i = 0; i < 64; ++i)
        sink += (uint64_t)i;
    mine->steps += steps;
    // A slice that overran was interrupted; it says nothing about the best speed.
    if (t < end + slice_ns / 10 && steps > mine->best_slice) mine->best_slice = steps;
  }
  (void)sink;  // to gcc 16, adding to it is no use of it
}

// Each allowed CPU gets a process that counts. What all counted together, over what the best slice
// of any promises for one CPU, is the number of CPUs that were really there: less than allowed if
// others or the hypervisor took some.
static int probe(long ms) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return die("sched_getaffinity");
  struct spun* all = mmap(NULL, CPU_SETSIZE * sizeof *all, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return die("mmap");
  uint64_t start = now_ns() + 2000000u, until = start + (uint64_t)ms * 1000000u;
  int count = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    pid_t child = fork();
    if (child < 0) return die("fork");
    if (child == 0) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      sched_setaffinity(0, sizeof one, &one);
      while (now_ns() < start) {}
      spin(&all[count], until);
      _exit(0);
    }
    ++count;
  }
  while (wait(NULL) > 0) {}
  uint64_t steps = 0, best = 1;
  for (int i = 0; i < count; ++i) {
    steps += all[i].steps;
    if (all[i].best_slice > best) best = all[i].best_slice;
  }
  double promised = (double)best * (double)(until - start) / slice_ns;
  printf("%.3f %d\n", (double)steps / promised, count);
  return 0;
}

int main(int argc, char** argv) {
  if (argc >= 4 && strcmp(argv[1], "run") == 0) return run(argv[2], argv + 3);
  if (argc >= 4 && strcmp(argv[1], "guard") == 0) return guard(argv[2], argv + 3);
  if (argc >= 4 && strcmp(argv[1], "with") == 0) return with(argv + 2);
  if (argc == 3 && strcmp(argv[1], "probe") == 0) {
    long ms = strtol(argv[2], NULL, 10);
    if (ms > 0 && ms <= 10000) return probe(ms);
  }
  fputs(
      "usage: lockswap-meter run OUT CMD... | guard PID CMD... |\n"
      "       lockswap-meter with NAME=VALUE... -- CMD... | probe MILLISECONDS\n",
      stderr);
  return 2;
}
