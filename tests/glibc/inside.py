#!/usr/bin/env python3
"""Run a command on another glibc, or with other libraries of ours, in a mount namespace of its own.

    inside.py [--glibc FOLDER] [--over FILE=PLACE]... COMMAND...

FOLDER is an unpacked package libc6. Each of its libraries is mounted over the system's, so whatever runs in there, the
command, its children, shells and programs of the distribution, runs on that glibc. --over mounts one file more.
Exit status 77 if mounts are not allowed here, 2 for bad input, else the command's.
"""

import argparse
import ctypes
import os
import sys
from pathlib import Path

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
NOT_HERE = 77


def pairs_of(glibc: Path) -> list[tuple[Path, Path]]:
    """The libraries of the package that the system has as well, and the system's. gconv's modules and audit modules
    stay the system's: nothing of ours loads them."""
    pairs = []
    for file in sorted(glibc.rglob("*.so*")):
        if file.is_symlink() or {"gconv", "audit"} & set(file.parts):
            continue
        places = (Path("/usr/lib", file.parent.name, file.name), Path("/usr/lib64", file.name))
        pairs += [(file.resolve(), place.resolve()) for place in places if place.exists()]
    # The same file by two names is mounted once.
    return list({place: (file, place) for file, place in pairs}.values())


def enter(libc: ctypes.CDLL) -> None:
    """A mount namespace; for an ordinary user, in a user namespace in which the user stays the same."""
    flags = CLONE_NEWNS if os.geteuid() == 0 else CLONE_NEWNS | CLONE_NEWUSER
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(flags) != 0:
        print(
            f"inside.py: no mount namespace here ({os.strerror(ctypes.get_errno())}): run it as root", file=sys.stderr
        )
        sys.exit(NOT_HERE)
    if flags & CLONE_NEWUSER:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def mount(libc: ctypes.CDLL, source: Path, place: Path, flags: int) -> None:
    if libc.mount(os.fsencode(source), os.fsencode(place), None, ctypes.c_ulong(flags), None) != 0:
        print(f"inside.py: cannot mount over {place}: {os.strerror(ctypes.get_errno())}", file=sys.stderr)
        sys.exit(NOT_HERE)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--glibc", type=Path)
    parser.add_argument("--over", action="append", default=[], metavar="FILE=PLACE")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not options.command:
        parser.error("say what to run")
    pairs = [tuple(Path(p).resolve() for p in over.split("=")) for over in options.over]
    if options.glibc is not None:
        libraries = pairs_of(options.glibc)
        if not any(file.name == "libc.so.6" for file, _ in libraries):
            parser.error(f"{options.glibc} has no libc.so.6 that the system has, too")
        pairs += libraries
    for pair in pairs:
        for file in pair:
            if not file.exists():
                parser.error(f"{file} is not there")
    libc = ctypes.CDLL(None, use_errno=True)
    enter(libc)
    mount(libc, Path("none"), Path("/"), MS_REC | MS_PRIVATE)
    # All in this process: another program would meet half of the old libraries and half of the new ones.
    for file, place in pairs:
        mount(libc, file, place, MS_BIND)
    os.execvp(options.command[0], options.command)


if __name__ == "__main__":
    main()
