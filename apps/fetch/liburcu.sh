#!/usr/bin/env bash
# liburcu's test_rwlock, unmodified, from Debian's source package: one rwlock, readers that never pause, a writer.
set -euo pipefail
. "$(dirname "$0")/debian-source.inc"

version=$(packaged_version liburcu-dev)
tree=$(debian_source liburcu "$version")
program=$LOCKSWAP_APPS/test_rwlock
up_to_date "$program" "$tree" && exit 0
cd "$tree/tests/benchmark"
# The defines are what its configure script finds on Debian 12; without them threads are not placed and have no id.
gcc -O2 -g -D_GNU_SOURCE -DHAVE_SCHED_SETAFFINITY -DHAVE_GETTID -I../common \
  -o "$program" test_rwlock.c -lurcu -lpthread
