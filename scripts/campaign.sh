# shellcheck shell=bash
# The main job: compare the locks on the programs. The harness plans it, writes results/<date>-.../, prints the
# table and says where the report is.

# campaign [--quick]
campaign() {
  # As many threads as the smallest machine has processors, and more. With runs of about a second, these 1,476 take
  # about 70 minutes on two cores, more than half of it for strict locks. Six rounds are the least that
  # an interval can be made of.
  local how=(--threads "2,8,16" --seconds 1 --repeats 6)
  [[ -z $1 ]] || how=("$1")
  build_all
  get_workloads
  "$BUILD/bin/lockswap" compare "${how[@]}"
}
