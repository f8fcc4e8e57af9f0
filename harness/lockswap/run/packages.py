"""Which packages of the distribution the measured programs, and their C library, come from."""

import shutil
import subprocess
from collections.abc import Iterable

_C_LIBRARY = "/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"


def versions(programs: Iterable[str]) -> dict[str, str]:
    """The packages with their versions: by dpkg or rpm, and none where neither is."""
    files = [found for program in (*programs, *_C_LIBRARY) if (found := shutil.which(program))]
    if shutil.which("dpkg-query"):
        owners = [line.rpartition(": ")[0] for line in _lines(["dpkg-query", "-S", *_both(files)])]
        names = {name.partition(":")[0] for names in owners for name in names.split(", ")}
        asked = ["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *sorted(names)]
        return dict(line.split(" ", 1) for line in _lines(asked)) if names else {}
    if shutil.which("rpm"):
        lines = _lines(["rpm", "-qf", "--qf", "%{NAME} %{VERSION}-%{RELEASE}\n", *files])
        return dict(line.split(" ", 1) for line in lines if not line.startswith(("error:", "file ")))
    return {}


def _both(files: Iterable[str]) -> list[str]:
    """With and without /usr: dpkg knows a file by the name that its package has, also where /bin is a link."""
    return [name for file in files for name in dict.fromkeys((file, file.removeprefix("/usr"), f"/usr{file}"))]


def _lines(command: list[str]) -> list[str]:
    """What a program prints, whether or not it knew all that it was asked for."""
    try:
        out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=20).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return out.splitlines()
