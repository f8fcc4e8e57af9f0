"""What kind of file a program is, and whether a preloaded library can reach it."""

import os
import shutil
import stat
import struct
from pathlib import Path

from lockswap.base.errors import UserError

_SHELLS = ("sh", "bash", "dash", "zsh", "ksh")
_PT_INTERP = 3


def resolve(name: str) -> Path:
    """The file that NAME would start, found as execvp does."""
    found = shutil.which(name)
    if found:
        return Path(found)
    if Path(name).is_dir():
        raise UserError(f"'{name}' is a folder, not a program")
    if Path(name).exists():
        raise UserError(f"'{name}' is not executable; 'chmod +x' it, or start it through its interpreter")
    where = "no such file" if "/" in name else "not found in PATH; give its path, or install it"
    raise UserError(f"cannot start '{name}': {where}")


def hindrances(path: Path) -> list[str]:
    """Reasons why a preload may miss this program's locks; each says the cause and the cure."""
    name = path.name
    try:
        head = path.open("rb").read(4096)
        status = path.stat()
    except OSError:
        return []
    if head.startswith(b"#!"):
        return _script(path, head)
    if not head.startswith(b"\x7fELF"):
        return []
    found = []
    if _gains_privilege(path, status):
        found.append(
            f"'{name}' is setuid, setgid or has file capabilities: the loader ignores LD_PRELOAD for it; "
            "run a copy without these (cp drops them)"
        )
    bits = 32 if head[4] == 1 else 64
    if bits == 32:
        found.append(f"'{name}' is a 32-bit program and liblockswap.so is 64-bit: use a 64-bit build of it")
        return found
    interpreter = _interpreter(path)
    if interpreter is None and _is_executable_type(head):
        found.append(
            f"'{name}' is statically linked: it has no loader, so nothing can be preloaded; "
            "use or build a dynamically linked one"
        )
    elif interpreter and "musl" in interpreter:
        found.append(f"'{name}' runs on musl, not on glibc: lockswap cannot reach it; use a glibc build")
    return found


def _script(path: Path, head: bytes) -> list[str]:
    words = head[2:].split(b"\n", 1)[0].decode("utf-8", "replace").split()
    if not words:
        return []
    interpreter = Path(words[0]).name
    if interpreter == "env" and len(words) > 1:
        interpreter = words[1]
    if interpreter not in _SHELLS:
        return []
    manager = next((m for m in ("pyenv", "rbenv", "nodenv", "asdf", "jenv", "goenv") if f"{m}".encode() in head), None)
    if manager or "/shims/" in str(path):
        manager = manager or "a version manager"
        cure = f"'{manager} which {path.name}' prints it" if manager.endswith("env") else "give its full path"
        return [
            f"'{path.name}' is a shim of {manager}, a shell script: the shells that it starts are preloaded too; "
            f"name the real program instead ({cure})"
        ]
    return []


def _gains_privilege(path: Path, status: os.stat_result) -> bool:
    # As root, or as the owner, setuid changes nothing and the loader does not mind.
    if status.st_mode & stat.S_ISUID and status.st_uid != os.geteuid():
        return True
    if status.st_mode & stat.S_ISGID and status.st_gid != os.getegid():
        return True
    if os.geteuid() == 0:
        return False
    try:
        return bool(os.getxattr(path, "security.capability"))
    except OSError:
        return False


def _is_executable_type(head: bytes) -> bool:
    order = "<" if head[5] == 1 else ">"
    return struct.unpack_from(order + "H", head, 16)[0] in (2, 3)  # ET_EXEC, ET_DYN


def _interpreter(path: Path) -> str | None:
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
