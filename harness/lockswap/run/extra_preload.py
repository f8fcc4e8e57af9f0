"""`--preload LIB`: libraries that are preloaded behind ours, mostly an allocator, and with `--preload-first` those
before it; found by name, tried once."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from lockswap.base.errors import UserError


def resolve(names: Iterable[str], option: str = "--preload") -> list[str]:
    """The files behind `--preload` names: 'jemalloc' is what the loader knows as libjemalloc, anything with '/' a file.

    A library that is not there, or that the loader refuses, is a UserError.
    """
    try:
        return list(dict.fromkeys(_usable(name, _file(name)) for name in names))
    except _Unusable as error:
        raise UserError(f"{option} {error}") from error


def first(names: Iterable[str]) -> list[str]:
    """The same of `--preload-first`."""
    return resolve(names, "--preload-first")


class _Unusable(Exception):
    """A name, and what is wrong with it."""


def _file(name: str) -> str:
    if "/" in name or Path(name).is_file():
        path = Path(name).expanduser().absolute()
        if not path.is_file():
            raise _Unusable(f"{name}: there is no such file; give its path, or a library's name such as jemalloc")
        if re.search(r"[\s:]", str(path)):
            raise _Unusable(f"{name}: the loader splits LD_PRELOAD at spaces and colons; move the library")
        return str(path)
    stem = name.removeprefix("lib").split(".so")[0]
    # tcmalloc is also packaged without its profiler, as libtcmalloc_minimal: the allocator is the same.
    for start in (f"lib{stem}.so", f"lib{stem}_minimal.so"):
        found = [path for soname, path in _known_to_the_loader() if soname.startswith(start)]
        if found:
            return found[0]
    raise _Unusable(f"{name}: no library lib{stem}.so is installed; install it, or give its path")


def _known_to_the_loader() -> list[tuple[str, str]]:
    """(soname, file) of every 64-bit library in the loader's cache."""
    tool = shutil.which("ldconfig", path=os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin")
    if tool is None:
        return []
    out = subprocess.run([tool, "-p"], capture_output=True, text=True).stdout
    lines = re.findall(r"^\s*(\S+) \(([^)]*)\) => (\S+)$", out, re.MULTILINE)
    return [(soname, path) for soname, kind, path in lines if "64" in kind]


def _usable(name: str, path: str) -> str:
    """Tried on a program that does nothing: the loader only warns of what it cannot preload."""
    env = {"PATH": os.environ.get("PATH", os.defpath), "LD_PRELOAD": path}
    tried = subprocess.run([shutil.which("true") or "/bin/true"], env=env, capture_output=True, text=True)
    if tried.returncode != 0 or "cannot be preloaded" in tried.stderr:
        lines = tried.stderr.strip().splitlines()
        why = re.sub(r"^.*cannot be preloaded \(?|\)?: ignored\.$", "", lines[0]) if lines else "a program dies of it"
        raise _Unusable(f"{name}: {path} cannot be preloaded: {why}")
    return path
