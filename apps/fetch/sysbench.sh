#!/usr/bin/env bash
# sysbench, whose tests of mutexes and threads need no database.
# campaign: by name
set -euo pipefail
. "$(dirname "$0")/debian-binary.inc"

debian_programs sysbench -- sysbench
