# shellcheck shell=bash
# The main job: compare the locks on the programs. The harness plans it, writes results/<date>-.../, prints the
# table and says where the report is.

# campaign [--quick]
campaign() {
  local option=$1
  build_all
  get_workloads
  "$BUILD/bin/lockswap" compare ${option:+"$option"}
}
