"""What a workload's program needs is installed when the workload is named, and a line says so; `scripts` stand in."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def missing(repo, recipe, tmp_path) -> Path:
    """A workload whose program is not on PATH; the place where it would be."""
    recipe("new", replace={"{apps}/rwbench": "newbench"})
    (tmp_path / "bin").mkdir()
    (repo / "scripts").mkdir()
    return tmp_path / "bin/newbench"


def compare(lockswap, missing: Path):
    env = {"PATH": f"{missing.parent}:{os.environ['PATH']}"}
    return lockswap("compare", "-w", "new", "-l", "ba", "-t", "1", "--repeats", "1", "--no-report", env=env)


def installer(repo: Path, *lines: str) -> None:
    (repo / "scripts/need_workloads.sh").write_text("\n".join(lines) + "\n")


def test_a_package_is_installed_and_said(repo, lockswap, missing) -> None:
    installer(repo, f"cp {repo}/build/apps/rwbench {missing}", "echo bench-tools")
    done = compare(lockswap, missing)
    assert "new: " not in done.stderr, done.stderr
    assert "installed bench-tools, for newbench and other programs of workloads" in done.stderr


def test_what_cannot_be_installed_is_said(repo, lockswap, missing) -> None:
    installer(repo, "exit 1")
    done = compare(lockswap, missing)
    assert done.returncode == 4
    assert "new: 'newbench' is not installed: './run.sh' installs what workloads need" in done.stderr
