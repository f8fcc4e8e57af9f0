"""What processes left in a folder: read by a program of the library's, since the files are its memory."""

import json
import subprocess
from pathlib import Path

from lockswap.base.errors import UserError

SUFFIX = ".lockprof"
DATA = "profile.json"
_AT_ONCE = 200  # files for one call of the reader


def is_profile(path: Path) -> bool:
    """Whether it is the folder of a profile, or a profile.json."""
    if path.is_dir():
        return (path / DATA).is_file() or any(path.glob(f"*{SUFFIX}"))
    return path.suffix == ".json"


def read(reader: Path, files: list[Path]) -> dict:
    whole: dict = {"processes": []}
    for start in range(0, len(files), _AT_ONCE):
        done = subprocess.run([reader, *files[start : start + _AT_ONCE]], capture_output=True, text=True)
        if done.returncode != 0:
            raise UserError(f"{done.stderr.strip()}; read it with the lockswap that recorded it")
        part = json.loads(done.stdout)
        whole = part | {"processes": whole["processes"] + part["processes"]}
    return whole
