// planted NAME [right]: one of 25 small programs with a known fault, or the same without it.
// planted list: their names, each with its kind of fault.
// A failure is an abort or a hang. As a rule the threads don't meet, and nothing fails.
#include "planted.h"

#include <string.h>

// clang-format off
#define PROGRAMS(X)                                                                           \
  X(order, circle) X(order, fast_path) X(order, nested_reads) X(order, transfers)             \
  X(order, upgrade)                                                                           \
  X(check, cache) X(check, if_for_while) X(check, last_seat) X(check, lazy) X(check, try_loop) \
  X(wake, early_signal) X(wake, latch) X(wake, notify_one) X(wake, outside) X(wake, shut_down) \
  X(destroy, barrier) X(destroy, completion) X(destroy, held) X(destroy, last_user)           \
  X(destroy, pool)                                                                            \
  X(release, children) X(release, raii) X(release, reader) X(release, slots)                  \
  X(release, two_paths)
// clang-format on

#define DECLARE(kind, name) void planted_##name(void);
PROGRAMS(DECLARE)

static const struct {
  const char *kind, *name;
  void (*run)(void);
} programs[] = {
#define ROW(kind, name) {#kind, #name, planted_##name},
    PROGRAMS(ROW)};
enum { kPrograms = sizeof programs / sizeof *programs };

bool is_right = false;

void work(int us) {
  for (volatile int i = 0; i < us * 500; ++i) {}
}

void run(int n, void* (*body)(void*)) {
  pthread_t t[16];
  for (int i = 0; i < n; ++i)
    must(pthread_create(&t[i], NULL, body, (void*)(size_t)i));
  for (int i = 0; i < n; ++i)
    must(pthread_join(t[i], NULL));
}

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  is_right = argc > 2 && strcmp(argv[2], "right") == 0;
  for (int i = 0; i < kPrograms; ++i) {
    if (strcmp(name, "list") == 0) {
      printf("%s %s\n", programs[i].kind, programs[i].name);
    } else if (strcmp(name, programs[i].name) == 0) {
      programs[i].run();
      return 0;
    }
  }
  return strcmp(name, "list") == 0 ? 0 : 2;
}
