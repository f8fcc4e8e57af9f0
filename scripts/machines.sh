# shellcheck shell=bash
# The emulated machines of tests/machines. Their kernel and their shell are not installed, but unpacked below
# build/machines.

get_machines() {
  need_packages machines
  LOCKSWAP_BUILD=$BUILD LOCKSWAP_APPS=$BUILD/apps quietly unpack-machines \
    bash "$ROOT/tests/programs/unpack.sh" "$BUILD/machines" linux-image-cloud-amd64 busybox-static
}
