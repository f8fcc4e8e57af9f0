// How much processor time a process and all below it have used, and whether they would go on if
// they had a processor: a test is ended by that, not by the clock, since others may have the
// processors. For C and C++.
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

// Returns whether a thread of the process is running, or would if it had a processor.
static inline int has_runnable_thread(pid_t pid) {
  char path[300], text[1024];
  snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
  DIR* const tasks = opendir(path);
  if (tasks == NULL) return 0;
  int found = 0;
  for (struct dirent* entry; !found && (entry = readdir(tasks)) != NULL;) {
    if (!isdigit((unsigned char)entry->d_name[0])) continue;
    snprintf(path, sizeof path, "/proc/%d/task/%s/stat", (int)pid, entry->d_name);
    FILE* const file = fopen(path, "re");
    if (file == NULL) continue;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    const char* const rest = strrchr(text, ')');
    found = rest != NULL && strncmp(rest, ") R", 3) == 0;
  }
  closedir(tasks);
  return found;
}

struct Tree {
  double cpu_seconds;  // processes that were never waited for are counted while they live
  int is_runnable;
};

// Looks at `root` and all processes below it.
static inline struct Tree look_at_tree(pid_t root) {
  static struct ProcessTimes all[kMostProcesses];
  int n = 0;
  DIR* const proc = opendir("/proc");
  struct Tree tree = {0, 0};
  if (proc == NULL) return tree;
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
        tree.is_runnable |= has_runnable_thread(all[i].pid);
      }
    }
  }
  tree.cpu_seconds = (double)ticks / (double)sysconf(_SC_CLK_TCK);
  return tree;
}

// Whether a process and those below it get on.
struct Watch {
  pid_t root;
  // A hang: for so long by the clock it used less than `least_share` of a processor, and didn't
  // wait for one either. What merely polls does less than that.
  double idle_seconds, least_share;
  double cpu_seconds;  // a hang, too: more than that altogether
  double used;         // CPU seconds so far
  double busy;         // so far, also without a processor
  double last_look, mark_time, mark_busy;
};
enum Hang { kGoesOn, kIsIdle, kGoesRound };

static inline double clock_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline struct Watch watch(pid_t root, double idle_seconds, double least_share,
                                 double cpu_seconds) {
  const double now = clock_seconds();
  const struct Watch w = {root, idle_seconds, least_share, cpu_seconds, 0, 0, now, now, 0};
  return w;
}

// To be called now and then.
static inline enum Hang look_at(struct Watch* w) {
  const struct Tree tree = look_at_tree(w->root);
  const double now = clock_seconds();
  const double used = tree.cpu_seconds > w->used ? tree.cpu_seconds - w->used : 0;
  w->used += used;
  w->busy += tree.is_runnable ? now - w->last_look : used;
  // Whoever looks so late was stopped itself, and may be the first to run again.
  const double longest = 5;
  if (now - w->last_look > longest) w->mark_time += now - w->last_look - longest;
  w->last_look = now;
  if (w->busy - w->mark_busy >= w->least_share * w->idle_seconds) {
    w->mark_busy = w->busy;
    w->mark_time = now;
  }
  if (now - w->mark_time > w->idle_seconds) return kIsIdle;
  return w->used > w->cpu_seconds ? kGoesRound : kGoesOn;
}

// NOLINTEND(modernize-use-nullptr)
