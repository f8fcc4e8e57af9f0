// How much processor time a process and all below it have used: a test is ended by that, not by the
// clock, since others may have the processors. For C and C++.
#pragma once

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/types.h>

// NOLINTBEGIN(modernize-use-nullptr): C doesn't have it

enum { kMostProcesses = 8192 };

struct ProcessTimes {
  pid_t pid, parent;
  unsigned long long ticks;  // its own, and those of the children that it has waited for
  int is_below;
};

// Reads /proc/PID/stat; returns 0 if the process is gone.
static inline int read_times(pid_t pid, struct ProcessTimes* times) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE* file = fopen(path, "re");
  if (file == NULL) return 0;
  const size_t n = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[n] = '\0';
  const char* rest = strrchr(text, ')');  // the name may contain anything
  int parent;
  unsigned long long user, kernel, childrens_user, childrens_kernel;
  if (rest == NULL ||
      sscanf(rest + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu", &parent,
             &user, &kernel, &childrens_user, &childrens_kernel) != 5) {
    return 0;
  }
  times->pid = pid;
  times->parent = parent;
  times->ticks = user + kernel + childrens_user + childrens_kernel;
  times->is_below = 0;
  return 1;
}

// Returns the CPU seconds of `root` and all processes below it. Processes that were never waited
// for are counted while they live.
static inline double cpu_seconds_of_tree(pid_t root) {
  static struct ProcessTimes all[kMostProcesses];
  int n = 0;
  DIR* const proc = opendir("/proc");
  if (proc == NULL) return 0;
  for (struct dirent* entry; n < kMostProcesses && (entry = readdir(proc)) != NULL;) {
    if (isdigit((unsigned char)entry->d_name[0]))
      n += read_times((pid_t)atoi(entry->d_name), &all[n]);
  }
  closedir(proc);
  unsigned long long ticks = 0;
  for (int found = 1; found;) {
    found = 0;
    for (int i = 0; i < n; ++i) {
      int is_below = all[i].pid == root;
      for (int k = 0; k < n && !is_below && !all[i].is_below; ++k)
        is_below = all[k].is_below && all[k].pid == all[i].parent;
      if (is_below && !all[i].is_below) {
        all[i].is_below = found = 1;
        ticks += all[i].ticks;
      }
    }
  }
  return (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

// Whether a process and those below it get on.
struct Watch {
  pid_t root;
  double
      idle_seconds;    // a hang: this long by the clock with less than `least_share` of a processor
  double least_share;  // what merely polls uses less; what runs beside twenty others uses more
  double cpu_seconds;  // a hang, too: more than that altogether
  double used;         // so far
  double mark_time, mark_used;
};
enum Hang { kGoesOn, kIsIdle, kGoesRound };

static inline double clock_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline struct Watch watch(pid_t root, double idle_seconds, double least_share,
                                 double cpu_seconds) {
  const struct Watch w = {root, idle_seconds, least_share, cpu_seconds, 0, clock_seconds(), 0};
  return w;
}

// To be called now and then.
static inline enum Hang look_at(struct Watch* w) {
  const double cpu = cpu_seconds_of_tree(w->root), now = clock_seconds();
  if (cpu > w->used) w->used = cpu;
  if (w->used - w->mark_used >= w->least_share * w->idle_seconds) {
    w->mark_used = w->used;
    w->mark_time = now;
  }
  if (now - w->mark_time > w->idle_seconds) return kIsIdle;
  return w->used > w->cpu_seconds ? kGoesRound : kGoesOn;
}

// NOLINTEND(modernize-use-nullptr)
