# shellcheck shell=bash
# The pages as a site, by mkdocs (mkdocs.yml). It has a Python environment of its own, since nothing else needs mkdocs.

# build_site [FOLDER]: into build/site, or into this folder. A warning of mkdocs is an error.
build_site() {
  local venv=$BUILD/site-venv pins=$ROOT/docs/requirements.txt stamp
  need_packages python
  must_have python
  stamp=$({ cat "$pins"; "$PYTHON" --version; echo "$venv"; } | sha256sum)
  if [[ $(cat "$venv/lockswap-pins" 2>/dev/null) != "$stamp" ]]; then
    say "setting up build/site-venv"
    quietly site-venv "$PYTHON" -m venv --clear "$venv"
    quietly site-pip "$venv/bin/pip" install --disable-pip-version-check -r "$pins"
    echo "$stamp" >"$venv/lockswap-pins"
  fi
  NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" build --quiet --strict -f "$ROOT/mkdocs.yml" -d "${1:-$BUILD/site}"
}
