"""What counting adds to a lock that is free, in instructions, as callgrind counts them. Samples are left out: they come
by time, and a program under callgrind is some fifty times as slow, or more where the machine is busy."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from subject import BUILD, PRELOAD, counting, environment

UNCONTENDED = BUILD / "apps/uncontended"
PAIRS = 20_000
pytestmark = pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")

AUTO = {"mutex": "LOCKSWAP_MUTEX", "read": "LOCKSWAP_RWLOCK", "write": "LOCKSWAP_RWLOCK"}
HOLDS = {"LOCKSWAP_METRICS_HOLDS": "1"}
CASES = [
    *((kind, {AUTO[kind]: "auto"}, 4) for kind in AUTO),
    *((kind, {}, 6) for kind in ("mutex", "read")),
    pytest.param("write", {}, 6, marks=pytest.mark.full),
    ("mutex", {AUTO["mutex"]: "auto"} | HOLDS, 8),
    *(pytest.param(kind, {AUTO[kind]: "auto"} | HOLDS, 8, marks=pytest.mark.full) for kind in ("read", "write")),
]


SAMPLED = 5  # instructions more of a sampled acquisition in the functions that are counted, where holds are counted


def calls_of(name: str, out: Path) -> int:
    """How often functions were called whose names begin like that, by callgrind's file."""
    names: dict[str, str] = {}
    calls, called = 0, ""
    for line in out.read_text(encoding="utf-8").splitlines():
        if function := re.match(r"c?fn=(\(\d+\))(?: (.+))?", line):
            called = names.setdefault(function[1], function[2] or "")
        elif (times := re.match(r"calls=(\d+)", line)) and called.startswith(name):
            calls += int(times[1])
    return calls


def of_a_pair(kind: str, out: Path, env: dict[str, str]) -> tuple[float, float]:
    """Instructions without those of the functions that take a sample, and what share of the pairs was sampled."""
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--toggle-collect=*measured_round*"]
    command += [UNCONTENDED, kind, str(PAIRS), "1"]
    subprocess.run(command, env=env, capture_output=True, check=True)
    annotate = ["callgrind_annotate", "--threshold=100", "--show-percs=no", "--auto=no", out]
    lines = subprocess.run(annotate, capture_output=True, text=True, check=True).stdout.splitlines()
    total = 0
    for line in lines:
        if (found := re.match(r"\s*([\d,]+)\s+\S*?:(.+)", line)) is None:
            continue
        function = found[2]
        is_sampling = "lockswap::metrics::" in function and "::call(" not in function
        if not is_sampling and "lockswap::recording::" not in function:
            total += int(found[1].replace(",", ""))
    return total / PAIRS, calls_of("lockswap::metrics::begin_sample", out) / PAIRS


@pytest.mark.parametrize(("kind", "variables", "most"), CASES)
def test_a_free_lock(kind: str, variables: dict[str, str], most: int, tmp_path: Path) -> None:
    env = environment(LD_PRELOAD=str(PRELOAD), **{k: v for k, v in variables.items() if "METRICS" not in k})
    without, _ = of_a_pair(kind, tmp_path / "without", env)
    (tmp_path / "files").mkdir()
    counted, sampled = of_a_pair(kind, tmp_path / "counted", counting(tmp_path / "files", **variables))
    print(f"{kind}, {variables}: {counted - without:.2f} more than {without:.2f}, {sampled:.1%} sampled")
    assert any((tmp_path / "files").iterdir())
    assert 0 < sampled < 0.4
    if variables.keys() >= HOLDS.keys():
        counted -= SAMPLED * sampled
    # A sample takes the place of some calls of the functions above: less than half an instruction a pair.
    assert most - 1 < counted - without <= most + 0.5
