"""Whether the library loads here, by its own word: it is loaded into a program that does nothing."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from lockswap.doctor.finding import Finding, note, ok, stops
from lockswap.run.preload import clean_environment

_OURS = "LOCKSWAP_"
_AUTO = {"LOCKSWAP_RWLOCK": "auto", "LOCKSWAP_MUTEX": "auto"}
# Files of theirs would be left behind.
_RECORDING = ("LOCKSWAP_STATS", "LOCKSWAP_PROFILE", "LOCKSWAP_METRICS", "LOCKSWAP_RECORD", "LOCKSWAP_FUZZ")
_QUOTA = re.compile(r"on (\d+ processors?) \((\d+) % of one by quota\)")


def findings(library: Path, environ: Mapping[str, str]) -> list[Finding]:
    env = {key: value for key, value in clean_environment(environ).items() if key not in _RECORDING}
    if not any(key.startswith(_OURS) for key in env):
        env |= _AUTO
    env |= {"LD_PRELOAD": str(library), "LOCKSWAP_VERBOSE": "1"}
    true = shutil.which("true", path=os.defpath) or "/bin/true"
    tried = subprocess.run([true], env=env, capture_output=True, text=True, errors="replace", timeout=60)
    return of(library, tried.returncode, tried.stderr)


def of(library: Path, status: int, said: str) -> list[Finding]:
    lines = said.strip().splitlines()
    began = next((line for line in lines if re.match(r"lockswap \S+: ", line)), None)
    if status != 0 or began is None:
        why = lines[0].removeprefix("lockswap: ") if lines else "it says nothing"
        return [stops("library", f"{library} doesn't load: {why}")]
    found = [ok("library", f"{library} loads")]
    kept = [line.removeprefix("lockswap: ") for line in lines if "glibc's" in line and line != began]
    found += [stops("layout", line) for line in kept]
    if not kept:
        found.append(ok("layout", "the library knows how this glibc lays out its locks"))
    if quota := _QUOTA.search(began):
        found.append(
            note(
                "quota",
                f"a quota leaves {quota[2]} % of one processor on {quota[1]}: lockswap sees it, and measurements vary; "
                "raise it (CPUQuota=, --cpus) before you compare locks",
            )
        )
    return found
