#!/usr/bin/env bash
# unpack.sh FOLDER PACKAGE...: unpacks Debian packages, and what they need and is not installed, into FOLDER/root.
# There is nothing to do if it was done before, with these packages.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../../apps/fetch/debian-binary.inc"

folder=$(realpath -m "$1")
shift
if [[ $(cat "$folder/packages" 2>/dev/null) == "$*" ]]; then exit 0; fi
rm -rf "$folder"
unpack_packages "$folder" "$@"
echo "$*" >"$folder/packages"
