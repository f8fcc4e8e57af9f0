#!/usr/bin/env bash
# The name server unbound, and dnsperf, which sends it queries.
# campaign: by name
set -euo pipefail
. "$(dirname "$0")/debian-binary.inc"

debian_programs unbound dnsperf -- unbound dnsperf
