"""Each test of a GoogleTest program passes whatever ran before it, so one that fails can be run by itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from entries import ROOT, all_entries

BUILD = ROOT / "build"
SEEDS = (1, 2, 3)
pytestmark = [pytest.mark.full, pytest.mark.skipif(not (BUILD / "CTestTestfile.cmake").exists(), reason="not built")]


def commands() -> list[tuple[tuple[str, ...], Path]]:
    """Of each GoogleTest program the first command that `./run.sh test` runs, with its folder."""
    found = {}
    for entry in all_entries(BUILD):
        program = Path(entry.words[0]) if entry.words and entry.tier == "test" else None
        if program is not None and program.is_file() and b"--gtest_shuffle" in program.read_bytes():
            found.setdefault(program, (entry.words, BUILD / entry.folder))
    return list(found.values())


def test_googletest_programs_pass_in_any_order():
    ran = commands()
    assert len(ran) > 20
    failed = []
    for words, folder in ran:
        for seed in SEEDS:
            command = [*words, "--gtest_shuffle", f"--gtest_random_seed={seed}"]
            if subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode != 0:
                failed.append(" ".join(command))
    assert failed == []
