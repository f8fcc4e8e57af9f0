// Prints "main" and takes no rwlock at all: a test looks at the output before that.
#include <stdio.h>

int main(void) {
  puts("main");
  return 0;
}
