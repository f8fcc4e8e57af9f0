#!/usr/bin/env python3
"""Planted faults of emitted.py: a header with one order too weak, compiled for aarch64, must be found.

    planted.py BUILD

BUILD is the folder of the cross build, with its compile_commands.json. Exit status 1 if a fault is not found.
"""

import json
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Fault:
    unit: str  # of src/lists/registry
    lock: str
    header: str
    right: str
    wrong: str
    found: str  # what emitted.py must say; "" where nothing is planted
    flags: tuple[str, ...] = ()


LSE, EXCLUSIVE = ("-march=armv8.1-a",), ("-march=armv8-a", "-mno-outline-atomics")  # casal; ldaxr and stlxr
FAULTS = [
    Fault("rw_Ba", "ba", "locks/rw/ba.h", "", "", ""),
    Fault("mutex_Mcs", "mcs", "locks/mutex/mcs.h", "", "", ""),
    Fault("mutex_Mcs", "mcs", "locks/mutex/mcs.h", "", "", "", LSE),
    Fault("mutex_Mcs", "mcs", "locks/mutex/mcs.h", "", "", "", EXCLUSIVE),
    # A missing stlr: the source claims it, the code has an str.
    Fault("rw_Ba", "ba", "locks/rw/ba.h", "rout_.store(target, release)", "rout_.store(target, relaxed)",
          "src/locks/rw/ba.h"),
    Fault("mutex_Mcs", "mcs", "locks/mutex/mcs.h", "link.store(me, release)", "link.store(me, relaxed)",
          "src/locks/mutex/mcs.h"),
    # The platform drops an order that each source names.
    Fault("mutex_Mcs", "mcs", "platform/atomic.h", "{ a_.store(v, o); }",
          "{ (void)o, a_.store(v, relaxed); }", "store release"),
    Fault("mutex_Mcs", "mcs", "platform/atomic.h", "desired, success, std", "desired, relaxed, std",
          "compare_exchange"),
    Fault("mutex_Mcs", "mcs", "platform/atomic.h", "desired, success, std", "desired, relaxed, std",
          "is 'cas ", LSE),
    Fault("mutex_Mcs", "mcs", "platform/atomic.h", "desired, success, std", "desired, relaxed, std",
          "xr ", EXCLUSIVE),
    Fault("rw_Ba", "ba", "platform/atomic.h", "return a_.load(o)", "return a_.load(relaxed)", "load acquire"),
]  # fmt: skip


def compiled(build: Path, fault: Fault, folder: Path) -> Path:
    """The unit as a library, with the header in place of the right one, whose name its line table has."""
    (command,) = (
        entry
        for entry in json.loads((build / "compile_commands.json").read_text())
        if entry["file"].endswith(f"/registry/{fault.unit}.cpp")
    )
    text = (ROOT / "src" / fault.header).read_text()
    if text.count(fault.right) == 0:
        sys.exit(f"planted.py: {fault.header} has no '{fault.right}'")
    patched = folder / "src" / fault.header
    patched.parent.mkdir(parents=True)
    patched.write_text(text.replace(fault.right, fault.wrong) if fault.right else text)
    words = shlex.split(command["command"])
    at = words.index("-o")
    words[at + 1] = str(folder / "unit.o")
    words += ["-w", *fault.flags]
    first = next(n for n, word in enumerate(words) if word.startswith("-I"))
    words[first:first] = [f"-I{folder}/src", f"-ffile-prefix-map={folder}={ROOT}"]
    subprocess.run(words, check=True, cwd=command["directory"])
    library = folder / "unit.so"
    subprocess.run(
        ["aarch64-linux-gnu-gcc", "-shared", "-Wl,--unresolved-symbols=ignore-all", "-o", library, folder / "unit.o"],
        check=True,
    )
    return library


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: planted.py BUILD", file=sys.stderr)
        return 2
    failures = 0
    for fault in FAULTS:
        with tempfile.TemporaryDirectory() as folder:
            library = compiled(Path(sys.argv[1]).resolve(), fault, Path(folder))
            judge = [sys.executable, Path(__file__).with_name("emitted.py"), library, "--only", fault.lock]
            said = subprocess.run(judge, capture_output=True, text=True, check=False)
        found = [line for line in said.stdout.splitlines() if line.startswith("FAILED")]
        good = (
            said.returncode == 1 and any(fault.found in line for line in found) if fault.found else said.returncode == 0
        )
        what = f"{fault.header}: {fault.wrong}" if fault.right else f"{fault.lock} as it is"
        what += "".join(f" {flag}" for flag in fault.flags)
        print(f"{'ok' if good else 'FAILED':7} {what}: {found[0] if found else 'nothing found'}", flush=True)
        if not good:
            print(said.stdout[-2000:], said.stderr[-2000:])
        failures += not good
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
