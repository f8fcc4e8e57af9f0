"""Whether plots can be drawn: matplotlib, which is larger than all else, is an extra of an installation."""

import sys
from importlib.util import find_spec

from lockswap.base.paths import Paths


def cure(paths: Paths) -> str | None:
    """How to get what draws plots, as an imperative; None if it is there."""
    if find_spec("matplotlib") is not None:
        return None
    if paths.in_wheel:
        return "pip install 'lockswap[plots]' (with pipx: pipx inject lockswap matplotlib)"
    if paths.installed_commit is None:
        return "./run.sh build"
    if paths.own_packages.is_dir():
        return "cmake --install BUILD --component plots, with the build folder and the prefix of this installation"
    return "install matplotlib for the system's Python (on Debian: apt-get install python3-matplotlib)"


def warn(how: str, then: str) -> None:
    """`then` is what draws the plots afterwards."""
    said = f"the report has no plots, because matplotlib is missing: {how}; then {then} draws them"
    print(f"lockswap: {said}", file=sys.stderr)
