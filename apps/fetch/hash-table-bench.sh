#!/usr/bin/env bash
# RocksDB's hash_table_bench, unmodified: one file of Debian's source package, linked with the packaged library.
# campaign: by name
set -euo pipefail
. "$(dirname "$0")/debian-source.inc"

version=$(packaged_version librocksdb-dev)
tree=$(debian_source rocksdb "$version")
program=$LOCKSWAP_APPS/hash_table_bench
up_to_date "$program" "$tree" && exit 0
cd "$tree"
# NDEBUG: the packaged library lacks what the file's debug checks call.
g++ -std=c++17 -O2 -g -DNDEBUG -DROCKSDB_PLATFORM_POSIX -DROCKSDB_LIB_IO_POSIX -DOS_LINUX -DGFLAGS=1 -I. -Iinclude \
  -o "$program" utilities/persistent_cache/hash_table_bench.cc -lrocksdb -lgflags -lpthread
