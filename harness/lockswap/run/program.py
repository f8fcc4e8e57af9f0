"""What kind of file a program is, and whether a preloaded library can reach it."""

import errno
import os
import shutil
import stat
import struct
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.run.executable import SHELLS, interpreter_of, names_a_shell


def resolve(name: str) -> str:
    """The file that NAME starts: a name with a slash is a path, any other is looked for in PATH, as execvp does.

    There is a slash in the answer, so that it is not looked for in PATH again.
    """
    found = shutil.which(name)
    if found:
        return found if "/" in found else f"./{found}"  # an empty entry of PATH is the current folder
    raise UserError(_why_not(name))


def absolute(name: str) -> str:
    """The same from any folder. Links are not followed: some programs go by the name under which they are started."""
    return str(Path(resolve(name)).absolute())


def _why_not(name: str) -> str:
    if not name:
        return "the name of the program is empty"
    here = Path(name)
    if "/" not in name:
        executable = here.is_file() and os.access(here, os.X_OK)
        cure = f"the one in this folder is './{name}'" if executable else "give its path, or install it"
        return f"cannot start '{name}': not found in PATH; {cure}"
    if here.is_dir():
        return f"'{name}' is a folder, not a program"
    if here.exists():
        return f"'{name}' is not executable; 'chmod +x' it, or start it through its interpreter"
    return f"cannot start '{name}': no such file"


def cannot_start(name: str, path: str, error: OSError) -> str:
    """Why the kernel did not start PATH, which is executable."""
    if error.errno == errno.ENOEXEC:
        return f"cannot start '{name}': it has no '#!' line and is no program; start it through its interpreter"
    if error.errno == errno.ENOENT and (interpreter := _asked_for(Path(path))):
        return f"cannot start '{name}': it asks for '{interpreter}', which is not there"
    return f"cannot start '{name}': {error.strerror or error}"


def _asked_for(path: Path) -> str | None:
    """The interpreter of a script, the loader of a program."""
    try:
        head = path.open("rb").read(4096)
        if head.startswith(b"#!"):
            words = head[2:].split(b"\n", 1)[0].split()
            return words[0].decode("utf-8", "replace") if words else None
        return interpreter_of(path) if head.startswith(b"\x7fELF\x02") else None
    except (OSError, struct.error):
        return None


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
    interpreter = interpreter_of(path)
    if interpreter is None and _is_executable_type(head):
        found.append(
            f"'{name}' is statically linked: it has no loader, so nothing can be preloaded; "
            "use or build a dynamically linked one"
        )
    elif interpreter and "musl" in interpreter:
        found.append(f"'{name}' runs on musl, not on glibc: lockswap cannot reach it; use a glibc build")
    return found


def shell_of(path: Path) -> str | None:
    """For a shell, or a script for one, such as a shim: what the file is. The locks are those of what it starts."""
    try:
        head = path.open("rb").read(4096)
    except OSError:
        return None
    if head.startswith(b"#!"):
        shims = _script(path, head)
        return shims[0] if shims else f"'{path.name}' is a shell script" if names_a_shell(head) else None
    return f"'{path.name}' is a shell" if path.name in SHELLS else None


def _script(path: Path, head: bytes) -> list[str]:
    if not names_a_shell(head):
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
