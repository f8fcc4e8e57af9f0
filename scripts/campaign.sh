# shellcheck shell=bash
# The main job: compare the locks on the programs and leave a folder of results.

# new_results_dir NAME: results/<date>-NAME, with -2, -3 ... when the day already has one.
new_results_dir() {
  local base n=1 dir
  base=results/$(date +%Y-%m-%d)-$1
  dir=$base
  while [[ -e $dir ]]; do dir=$base-$((n += 1)); done
  printf '%s\n' "$dir"
}

# campaign [--quick]
campaign() {
  local option=$1 kind=standard dir
  if [[ -n $option ]]; then kind=quick; fi
  build_all
  get_workloads
  dir=$(new_results_dir "$kind")
  "$BUILD/bin/lockswap" compare ${option:+"$option"} --out "$dir"
}
