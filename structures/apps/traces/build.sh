#!/bin/sh
# Builds a program of eight parts, as a script does it: a compiler, its parts and small tools for each.
set -e
for i in 1 2 3 4 5 6 7 8; do
  echo "int part_$i(void) { return $i; }" > part_$i.c
  test "$(wc -l < part_$i.c)" -eq 1
  gcc -c part_$i.c
done
echo "int main(void) { return 0; }" > main.c
gcc -o program main.c part_*.o
./program
# shellcheck disable=SC2012 # one program more
ls part_*.o | sed 's/o$/c/' | sort | xargs cat | grep -c return
rm -f part_*.c part_*.o main.c program
