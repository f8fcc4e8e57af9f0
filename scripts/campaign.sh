# shellcheck shell=bash
# The main job: compare the locks on the programs. The harness plans it, writes results/<date>-.../, prints the
# table and says where the report is.

# What a campaign runs: not our benchmarks, which take two fifths of the time that a build takes (`compare -w NAME`
# builds the one that it needs), nor the libraries of other commands.
CAMPAIGN_TARGETS=(lockswap lockswap-registry lockswap-meter lockswap-stats-on-signal)

# campaign [--full]: a campaign of minutes, or of all workloads.
campaign() {
  # As many threads as the smallest machine has processors, and more. With runs of about a second, these 1,476 take
  # about 52 minutes on two cores, more than half of it for strict locks. Six rounds are the least that
  # an interval can be made of.
  local full=${1:-} how=(-w all --threads "2,8,16" --seconds 1 --repeats 6) workloads=() name
  name=$(date -u +%Y-%m-%d-%H%M%S)
  if [[ -z $full ]]; then how=(--quick) workloads=(liburcu); fi
  announce "$full" "$name"
  # Before the build, so that there is one call of apt-get, and the programs can be fetched beside compiling.
  need_packages "${BUILD_GROUPS[@]}" workloads
  get_workloads "${workloads[@]}" &
  local fetching=$!
  build_targets "${CAMPAIGN_TARGETS[@]}"
  wait "$fetching" || true # it has said what is left out, and the table will show it
  measure "$name" "${how[@]}" --name "$name"
}

# announce --full|'' NAME: what is going to happen, and for how long.
announce() {
  local minutes='about 8 minutes on two processors, 5 to 6 of them to measure'
  local what='db_bench, cache_bench, Kyoto Cabinet and test_rwlock, unmodified, with one number of threads'
  local more="All workloads and numbers of threads: ./run.sh --full (an hour)."
  if [[ -n $1 ]]; then
    minutes='about an hour on two processors, 52 minutes of it to measure'
    what='nine workloads of db_bench, cache_bench, Kyoto Cabinet, test_rwlock and memcached, with 2, 8 and 16 threads'
    more='A short campaign: ./run.sh.'
  fi
  say "comparing the locks on $what"
  fmt -w 100 <<EOF
This builds lockswap, gets the programs and measures six rounds. It takes $minutes, plus the time to install packages. \
At the end there is a table here, and a page with plots: results/$2/report.html. \
Ctrl-C stops it and keeps what was measured; ./run.sh --resume continues. $more
EOF
  if unfinished; then say "(results/$REPLY is not finished: ./run.sh --resume continues it)"; fi
}

# unfinished: REPLY is the newest interrupted campaign. If there is none, false.
unfinished() {
  local file
  REPLY=
  for file in "$ROOT"/results/20*/campaign.toml; do # named after their dates, so the last one is the newest
    if grep -qsx 'finished = false' "$file"; then REPLY=$(basename "$(dirname "$file")"); fi
  done
  [[ -n $REPLY ]]
}

# resume_campaign: the runs that the newest interrupted one lacks.
resume_campaign() {
  unfinished || die "no campaign in results/ was interrupted: start one with ./run.sh"
  local name=$REPLY
  say "continuing results/$name"
  build_targets "${CAMPAIGN_TARGETS[@]}"
  measure "$name" --resume "$ROOT/results/$name"
}

# measure NAME ARGS...: lockswap compare ARGS; then the page is opened.
measure() {
  local name=$1 status=0
  "$BUILD/bin/lockswap" compare "${@:2}" || status=$?
  if [[ $status -eq 130 ]] && unfinished && [[ $REPLY == "$name" ]]; then
    say "interrupted: ./run.sh --resume continues results/$name"
  fi
  [[ $status -ne 0 ]] || open_page "$ROOT/results/$name/report.html"
  return "$status"
}

# open_page FILE: on a desktop. Where that fails the path is on the terminal already.
open_page() {
  [[ -t 1 && -n ${DISPLAY:-}${WAYLAND_DISPLAY:-} && -f $1 ]] || return 0
  if command -v xdg-open >/dev/null; then setsid xdg-open "$1" >/dev/null 2>&1 </dev/null & fi
}
