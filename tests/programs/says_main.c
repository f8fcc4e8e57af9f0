// Prints "main" and takes no rwlock at all: what came before main is what a test looks at.
#include <stdio.h>

int main(void) {
  puts("main");
  return 0;
}
