"""Several programs on one boot of a machine: what each printed, and its status."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from machine import BUILD, Machine, MachineError, run

LIBRARY = BUILD / "liblockswap.so"
MINE = BUILD / "tests/machines"
PER_NODE = str(MINE / "per_node")
VIEW = str(MINE / "machine_view")
NO_LOCKS = str(MINE / "libno_locks.so")
REGISTRY = str(BUILD / "bin/lockswap-registry")
STRESS = str(BUILD / "tests/stress/rwlock_stress")
STEP_S = 240  # for a step, in the machine's time

RESULT = re.compile(r"^@@begin (\d+)\n(.*?)^@@end \1 (\d+)\n", re.M | re.S)


@dataclass(frozen=True)
class Result:
    output: str
    status: int

    @property
    def json(self) -> Any:
        """What it printed, between what the library says."""
        assert self.status == 0, f"status {self.status}: {self.output}"
        return json.JSONDecoder().raw_decode(self.output[self.output.index("{") :])[0]


@dataclass
class Steps:
    """What is to be done on one boot. Each step has a name, by which its result is found."""

    script: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    words: set[str] = field(default_factory=set)

    def add(self, name: str, *command: object, lock: str | None = None, **variables: str) -> None:
        """`lock`: with the library before it. Further variables are for its environment alone."""
        assert name not in self.names
        words = [str(word) for word in command]
        if lock:
            variables |= {"LD_PRELOAD": str(LIBRARY), "LOCKSWAP_RWLOCK": lock, "LOCKSWAP_VERBOSE": "1"}
        self.words |= {*words, *variables.values()}
        settings = [f"{name}={value}" for name, value in variables.items()]
        number = len(self.names)
        self.names.append(name)
        self.script += [
            f"echo '@@begin {number}'",
            shlex.join(["timeout", str(STEP_S), "env", *settings, *words]),
            f"echo '@@end {number}' $?",
        ]

    def shell(self, line: str) -> None:
        """Between steps."""
        self.script.append(line)

    def run(self, machine: Machine, limit_s: float) -> dict[str, Result]:
        files = {Path(word) for word in self.words if word.startswith("/") and Path(word).is_file()}
        output, status = run(machine, "\n".join(self.script), files, limit_s)
        results = {self.names[int(n)]: Result(text, int(code)) for n, text, code in RESULT.findall(output)}
        lost = [name for name in self.names if name not in results]
        if lost or status != 0:
            raise MachineError(f"steps without a result: {lost}; status {status}; the output: {output}")
        return results


def numactl() -> str:
    path = shutil.which("numactl")
    assert path is not None, "numactl is not there; './run.sh test --full' installs it"
    return path
