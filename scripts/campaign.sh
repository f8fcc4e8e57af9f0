# shellcheck shell=bash
# The main job: compare the locks on the programs. The harness plans it, writes results/<date>-.../, prints the
# table and says where the report is.

# campaign [--quick]
campaign() {
  # With runs of a second, 700 of them take about 15 minutes on two cores.
  local how=(--seconds 1)
  [[ -z $1 ]] || how=("$1")
  build_all
  get_workloads
  "$BUILD/bin/lockswap" compare "${how[@]}"
}
