#!/usr/bin/env bash
# memcached, and memcaslap, the load generator of libmemcached (elsewhere called memaslap).
set -euo pipefail
. "$(dirname "$0")/debian-binary.inc"

debian_programs memcached libmemcached-tools -- memcached memcaslap
