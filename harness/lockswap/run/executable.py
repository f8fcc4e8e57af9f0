"""What an executable file is, by its first bytes and its program headers."""

import struct
from pathlib import Path

SHELLS = ("sh", "bash", "dash", "zsh", "ksh")
# Names of GCC's and Clang's shared sanitizer runtimes, which refuse to start behind other preloaded libraries.
_RUNTIMES = ("libasan", "libtsan", "liblsan", "libubsan", "libhwasan", "libclang_rt")
RUNTIMES = tuple(name.encode() for name in _RUNTIMES)
_PT_INTERP = 3


def is_runtime(library: str) -> bool:
    """Whether this is a sanitizer's runtime."""
    return Path(library).name.startswith(_RUNTIMES)


def head_of(path: Path) -> bytes:
    """Its first bytes; none if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(4096)
    except OSError:
        return b""


def loader_of(path: Path) -> str | None:
    """Glibc's loader, if the program asks for it."""
    try:
        loader = interpreter_of(path) if head_of(path).startswith(b"\x7fELF\x02") else None
    except (OSError, struct.error):
        return None
    return loader if loader and "/ld-linux" in loader else None


def names_a_shell(head: bytes) -> bool:
    """Whether a script's first line names a shell."""
    words = head[2:].split(b"\n", 1)[0].decode("utf-8", "replace").split()
    names = [Path(word).name for word in words if not word.startswith("-")]
    return bool(names) and (names[1] if names[0] == "env" and len(names) > 1 else names[0]) in SHELLS


def interpreter_of(path: Path) -> str | None:
    """The loader that a 64-bit ELF file asks for (its PT_INTERP), or None: then it is static."""
    with path.open("rb") as file:
        header = file.read(64)
        order = "<" if header[5] == 1 else ">"
        (table,) = struct.unpack_from(order + "Q", header, 32)
        size, count = struct.unpack_from(order + "HH", header, 54)
        for index in range(count):
            file.seek(table + index * size)
            entry = file.read(size)
            (kind,) = struct.unpack_from(order + "I", entry, 0)
            if kind == _PT_INTERP:
                (offset,) = struct.unpack_from(order + "Q", entry, 8)
                (length,) = struct.unpack_from(order + "Q", entry, 32)
                file.seek(offset)
                return file.read(length).rstrip(b"\0").decode("utf-8", "replace")
    return None
