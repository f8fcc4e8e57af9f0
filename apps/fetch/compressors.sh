#!/usr/bin/env bash
# Compressors with threads.
# campaign: by name
set -euo pipefail
. "$(dirname "$0")/debian-binary.inc"

debian_programs pigz pbzip2 xz-utils zstd -- pigz pbzip2 xz zstd
