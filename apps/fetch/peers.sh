#!/usr/bin/env bash
# The benchmark `peers`, over the locks of other libraries: installs those that a package manager has, and builds it.
# What can't be had is said, and left out.
# campaign: by name
set -euo pipefail
cd "$(dirname "$0")/../.."
for part in common packages build; do
  # shellcheck disable=SC1090
  . "scripts/$part.sh"
done
BUILD=${LOCKSWAP_BUILD:-$BUILD}
# shellcheck disable=SC2034 # of common.sh
LOGS=$BUILD/log

# rust_locks: parking_lot, as a library for C. Cargo writes beside its input, so that is a copy.
rust_locks() {
  mkdir -p "$BUILD/peers"
  cp -r apps/peers/parking_lot "$BUILD/peers/"
  cargo build --quiet --release --manifest-path "$BUILD/peers/parking_lot/Cargo.toml" --target-dir "$BUILD/peers"
}

need_packages compiler benchmarks peers
must_have compiler benchmarks
[[ -f $BUILD/CMakeCache.txt ]] || configure
if command -v cargo >/dev/null; then
  quietly peers-cargo rust_locks || say "cargo can't build parking_lot's locks: left out" >&2
fi
quietly peers-cmake cmake -DLOCKSWAP_PEERS=ON "$BUILD"
quietly peers-build nice cmake --build "$BUILD" -j "$JOBS" --target peers
