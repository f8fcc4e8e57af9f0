# shellcheck shell=bash
# The linters. Each message names file and line; all of them run before the first failure counts.

# tracked PATTERN...: the files of these names that git knows or would add.
tracked() { git ls-files -z --cached --others --exclude-standard --deduplicate -- "$@" | xargs -0 -r ls -d 2>/dev/null || true; }

# changed_sources: the translation units that differ from the last commit, or, with nothing to commit, in it; on a
# branch, since it left main.
changed_sources() {
  local base
  base=$(git merge-base HEAD main 2>/dev/null || true)
  if [[ -z $base || $base == "$(git rev-parse HEAD)" ]]; then base=HEAD; fi
  if [[ $base == HEAD && -z $(git status --porcelain) ]]; then base=HEAD~1; fi
  { git diff --name-only --diff-filter=d "$base" -- '*.c' '*.cc' '*.cpp' '*.h' '*.hpp' 2>/dev/null || true
    git ls-files --others --exclude-standard -- '*.c' '*.cc' '*.cpp' '*.h' '*.hpp'; } | sort -u
}

# The version of the pins, whatever the distribution has: each lays some lines out differently.
lint_format() { tracked '*.c' '*.cc' '*.cpp' '*.h' '*.hpp' | xargs -r "$BUILD/venv/bin/clang-format" --dry-run -Werror; }

# has_tool NAME: whether it is there; said if not, and what it would find is left out.
has_tool() {
  command -v "$1" >/dev/null || { say "skipping $1, which is not installed" && return 1; }
}

# lint_tidy [--full | FILES]: FILES is a list, a name a line; without it the changed sources.
lint_tidy() {
  local names files units
  has_tool 'clang-tidy' || return 0
  case ${1:-} in
    '') names=$(changed_sources) ;;
    --full) names=$(tracked '*.c' '*.cc' '*.cpp' '*.h' '*.hpp') ;;
    *) names=$(grep -E '\.(c|cc|cpp|h|hpp)$' <<<"$1") ;;
  esac
  [[ -n $names ]] || return 0
  mapfile -t files <<<"$names"
  units=$("$BUILD/venv/bin/python" scripts/units_of.py "$BUILD" "${files[@]}") || return 1
  [[ -n $units ]] || return 0
  xargs -r -d '\n' -P "$JOBS" -n 2 clang-tidy --quiet -p "$BUILD/tidy" 2>/dev/null <<<"$units"
}

lint_layers() {
  local failed=0
  "$BUILD/venv/bin/python" scripts/check_layers.py || failed=1
  "$BUILD/venv/bin/python" scripts/check_harness_layers.py || failed=1
  return "$failed"
}

lint_prose() { "$BUILD/venv/bin/python" scripts/check_prose.py; }

lint_symbols() {
  local tree=${BUILD#"$ROOT"/} check=("$BUILD/venv/bin/python" scripts/check_symbols.py)
  cmake --build "$BUILD" --target liblockswap.so lockswap_api lockswap_structures lockswap_structures_checked \
    liblockswap-audit.so liblockswap-fuzz.so >/dev/null &&
    "${check[@]}" "$tree/liblockswap.so" "$tree/interpose/liblockswap.map" LOCKSWAP_OLDEST_GLIBC &&
    "${check[@]}" "$tree/liblockswap_api.so" "$tree/interpose/api/liblockswap_api.map" LOCKSWAP_OLDEST_GLIBC_OF_API &&
    "${check[@]}" "$tree/liblockswap_structures.so" structures/src/library/liblockswap_structures.map \
      LOCKSWAP_OLDEST_GLIBC_OF_API &&
    "${check[@]}" "$tree/liblockswap_structures-checked.so" \
      "$tree/structures/src/liblockswap_structures-checked.map" LOCKSWAP_OLDEST_GLIBC_OF_API &&
    "${check[@]}" "$tree/liblockswap-audit.so" "$tree/audit/liblockswap-audit.map" LOCKSWAP_OLDEST_GLIBC &&
    "${check[@]}" "$tree/liblockswap-fuzz.so" "$tree/fuzz/liblockswap-fuzz.map" LOCKSWAP_OLDEST_GLIBC
}

# What programs that are linked with the libraries rely on, against what is recorded.
lint_abi() {
  has_tool 'abidiff' || return 0
  cmake --build "$BUILD" --target lockswap_api lockswap_structures >/dev/null &&
    "$BUILD/venv/bin/python" scripts/check_abi.py "$BUILD"
}

lint_size() {
  cmake --build "$BUILD" --target liblockswap.so >/dev/null &&
    "$BUILD/venv/bin/python" scripts/check_size.py "${BUILD#"$ROOT"/}/liblockswap.so"
}

lint_budgets() { "$BUILD/venv/bin/python" scripts/check_budgets.py; }

# No function of C or C++ has a cyclomatic complexity above 25, except in tests, some of which interpret scenarios in
# one switch. Python's functions are ruff's.
lint_complexity() {
  tracked '*.c' '*.cc' '*.cpp' '*.h' '*.hpp' ':!:tests/*' ':!:*/tests/*' |
    xargs -r "$BUILD/venv/bin/lizard" --CCN 25 --warnings_only --languages cpp --whitelist scripts/complex_functions.txt
}

lint_ruff() {
  local ruff=("$BUILD/venv/bin/ruff") python
  mapfile -t python < <(tracked "*.py"; echo scripts/new_lock)
  "${ruff[@]}" check --no-cache --quiet --output-format=concise "${python[@]}" &&
    "${ruff[@]}" format --check --output-format=concise "${python[@]}"
}

lint_shell() {
  has_tool 'shellcheck' || return 0
  tracked '*.sh' '*.inc' .ci/{run,matrix} scripts/lockswap packaging/{lockswap,uninstall}.in \
    debian/tests/{command,consumers,preload} | xargs -r shellcheck --format=gcc
}

# run_lint [--full|--same]: --same, for `./run.sh test`, leaves out clang-tidy, whose files are those that changed.
run_lint() {
  git rev-parse --git-dir >/dev/null 2>&1 || die "lint needs a git checkout: it asks git which files are the project's"
  local full=${1:-} linter failed=()
  for linter in format tidy layers prose budgets complexity symbols size abi ruff shell; do
    if [[ $full == --same && $linter == 'tidy' ]]; then continue; fi
    say "lint: $linter"
    "lint_$linter" "$full" || failed+=("$linter")
  done
  [[ ${#failed[@]} -eq 0 ]] && return 0
  printf 'run.sh: lint failed: %s\n' "${failed[*]}" >&2
  return 1
}
