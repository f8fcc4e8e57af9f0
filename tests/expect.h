// A call that must return a certain value; otherwise the program says where and ends with status 1.
#ifndef LOCKSWAP_TESTS_EXPECT_H
#define LOCKSWAP_TESTS_EXPECT_H

#include <stdio.h>
#include <stdlib.h>

#define EXPECT(value, call)                                               \
  do {                                                                    \
    const int got = (call);                                               \
    if (got != (value)) {                                                 \
      fprintf(stderr, "line %d: %s returned %d\n", __LINE__, #call, got); \
      exit(1);                                                            \
    }                                                                     \
  } while (0)

#endif
