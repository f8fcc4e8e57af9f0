// lockswap-meter, but all CPUs are there: a true probe spins on them for 25 ms before and after a
// run, which is more than all else in a campaign of programs that run for a moment.
#define main meter
#include "../../../harness/native/meter.c"
#undef main

int main(int argc, char** argv) {
  if (argc != 3 || strcmp(argv[1], "probe") != 0) return meter(argc, argv);
  puts("1 1");
  return 0;
}
