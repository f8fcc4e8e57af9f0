#!/usr/bin/env bash
# Installs what the programs of workloads need and is missing, for `lockswap compare -w` and `lockswap paper`.
# Prints the packages that it installed. Exit status 1: it installed nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source-path=SCRIPTDIR/..
. scripts/common.sh
# shellcheck source-path=SCRIPTDIR/..
. scripts/packages.sh

note_missing workloads
before=${MISSING[workloads]}
[[ -n $before ]] || exit 1
install_missing workloads >&2
note_missing workloads
[[ ${MISSING[workloads]} != "$before" ]] || exit 1
for package in $before; do
  [[ " ${MISSING[workloads]} " == *" $package "* ]] || echo "${package%%|*}"
done
