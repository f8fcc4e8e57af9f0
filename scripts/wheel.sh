# shellcheck shell=bash
# The wheel, by which pip and pipx install the command with the libraries inside: pyproject.toml, packaging/wheel.cmake.

# wheel_tag: the platform that the wheel is for. The preload libraries say which glibc is the oldest.
wheel_tag() {
  local oldest
  oldest=$(sed -nE 's/^#define LOCKSWAP_OLDEST_GLIBC "([0-9]+)\.([0-9]+)"$/\1_\2/p' "$ROOT/interpose/exports.h")
  echo "manylinux_${oldest}_$(uname -m)"
}

# make_wheel FOLDER: with the packages of build/venv. The archive has the commit's time, not that of the build.
make_wheel() {
  local epoch
  epoch=$(git log -1 --format=%ct 2>/dev/null) || epoch=315532800 # 1980, where archives begin
  SOURCE_DATE_EPOCH=$epoch CMAKE_BUILD_PARALLEL_LEVEL=$JOBS quietly wheel "$BUILD/venv/bin/pip" wheel \
    --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$1" \
    --config-settings="build-dir=$BUILD/wheel" --config-settings="wheel.tags=py3-none-$(wheel_tag)" "$ROOT"
}

# check_wheel WHEEL: whether what it needs of a system is what its tag promises. It may need less: the libraries refuse
# glibcs that they don't know.
check_wheel() {
  local promised
  [[ $(wheel_tag) =~ _([0-9]+)_([0-9]+)_ ]]
  promised=$((BASH_REMATCH[1] * 1000 + BASH_REMATCH[2]))
  quietly auditwheel "$BUILD/venv/bin/auditwheel" show "$1"
  if ! [[ $(tr -d '\n' <"$LOGS/auditwheel.log") =~ \"manylinux_([0-9]+)_([0-9]+)_ ]] ||
    [[ $((BASH_REMATCH[1] * 1000 + BASH_REMATCH[2])) -gt $promised ]]; then
    die "$1 needs more than its tag promises: see ${LOGS#"$ROOT"/}/auditwheel.log"
  fi
}

# build_wheel [FOLDER]: into build/dist, or into this folder, with its checksum and a list of its parts.
build_wheel() {
  local folder=${1:-$BUILD/dist} wheel
  need_packages compiler python probes
  must_have compiler python
  make_venv
  mkdir -p "$folder"
  rm -f "$folder"/lockswap-*.whl{,.sha256}
  say "building the wheel"
  make_wheel "$folder"
  wheel=$(cd "$folder" && ls lockswap-*.whl)
  check_wheel "$folder/$wheel"
  (cd "$folder" && sha256sum "$wheel" >"$wheel.sha256")
  "$BUILD/venv/bin/python" scripts/list_parts.py "$folder" || return 1
  say "$folder/$wheel: $(($(stat -c %s "$folder/$wheel") / 1000)) kB"
}
