# shellcheck shell=bash
# Debian packages of this tree as it is, for the release that this runs on, with checksums and a list of their parts.

# copy_tree FOLDER: the files that git knows or would add, as they are now.
copy_tree() {
  [[ -e .git ]] || die "packages are made from a git checkout; in a source archive, run: dpkg-buildpackage -us -uc -b"
  rm -rf "$1"
  mkdir -p "$1"
  tracked | sort | tar -c --no-recursion -T - | tar -x -C "$1"
}

# make_debs FOLDER: the packages, and what dpkg says about the build of them.
make_debs() {
  local tree=$BUILD/debian/lockswap
  copy_tree "$tree"
  (cd "$tree" && DEB_BUILD_OPTIONS="parallel=$JOBS ${DEB_BUILD_OPTIONS:-}" dpkg-buildpackage -us -uc -b) || return 1
  mkdir -p "$1"
  rm -f "$1"/*lockswap*.{deb,buildinfo,changes}
  mv "$BUILD"/debian/*.{deb,buildinfo,changes} "$1/"
}

# describe_packages FOLDER: lists the parts of what is there, and its checksums.
describe_packages() {
  "$BUILD/venv/bin/python" scripts/list_parts.py "$1" || return 1
  (cd "$1" && find . -maxdepth 1 -type f \( -name '*.deb' -o -name '*.whl' -o -name '*.cdx.json' \) -printf '%P\n' |
    LC_ALL=C sort | xargs -d '\n' sha256sum >SHA256SUMS)
}

# package_all [FOLDER]
package_all() {
  local folder
  folder=$(realpath -m "${1:-$BUILD/packages}")
  need_packages "${BUILD_GROUPS[@]}" packages
  must_have compiler python benchmarks packages
  make_venv
  say "building the packages"
  quietly packages make_debs "$folder" || return 1
  describe_packages "$folder" || return 1
  say "they are in ${folder#"$ROOT"/}:"
  ls "$folder"
}
