#!/usr/bin/env bash
# The one door to the project: ./run.sh [--quick] | build | test [--full] | lint
set -euo pipefail
cd "$(dirname "$0")"
case "${1:-}" in
  build)
    cmake -S . -B build -G Ninja >/dev/null
    nice cmake --build build -j2
    ;;
  *) echo "run.sh: only 'build' is there yet" >&2; exit 2 ;;
esac
