# shellcheck shell=bash
# Packages of another release or architecture of Debian, unpacked below build/ by an apt that has its own lists there.
# Nothing is installed, and nothing changes for the system's own apt.

# archive_uri: where this system gets Debian's packages from.
archive_uri() {
  local uri
  uri=$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources} 2>/dev/null || true; } |
    sed -nE 's/^(deb (\[[^]]*\] )?|URIs: *)(https?:[^ ]*\/debian\/?)( .*)?$/\3/p' | head -n 1)
  printf '%s\n' "${uri:-http://deb.debian.org/debian}"
}

# unpack_debian SUITE ARCHITECTURE FOLDER PACKAGE...: unpacks the packages into FOLDER; the files stay in
# FOLDER.apt/archives. What is there already stays, but sid changes: its packages are fetched again each day.
unpack_debian() {
  local suite=$1 architecture=$2 folder=$3 apt=$3.apt file stamp
  shift 3
  stamp="$suite $architecture $*"
  [[ $suite != sid ]] || stamp+=" $(date +%F)"
  [[ $(cat "$apt/unpacked" 2>/dev/null) == "$stamp" ]] && return 0
  rm -rf "$folder" "$apt"
  mkdir -p "$folder" "$apt"/{lists,archives}/partial
  : >"$apt/status"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(archive_uri) $suite main" >"$apt/sources.list"
  local options=(-o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture" -o APT::Sandbox::User=root
    -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$apt/lists"
    -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt" -o "Dir::Cache::archives=archives"
    -o APT::Update::Error-Mode=any)
  quietly "apt-$suite-$architecture" apt-get -q "${options[@]}" update || return 1
  (cd "$apt/archives" && quietly "download-$suite-$architecture" apt-get -q "${options[@]}" download "$@") || return 1
  for file in "$apt"/archives/*.deb; do dpkg-deb -x "$file" "$folder" || return 1; done
  # Since Debian 13 this is a link, which another package makes.
  [[ -e $folder/lib ]] || ln -s usr/lib "$folder/lib"
  echo "$stamp" >"$apt/unpacked"
}
