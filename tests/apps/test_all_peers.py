"""The benchmark `peers` with the locks of all libraries that can be had: built as a user's request builds it, but in a
folder of its own, tested, compared through the harness, and held against the page."""

import csv
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/tests/all-peers"
# In docs/locks.md, behind the name and the type.
COLUMNS = ("bytes", "thread_bytes", "sleeps", "timed", "conditions", "recursive", "any_thread")


@pytest.fixture(scope="module")
def program() -> Path:
    configure = ["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", "-DLOCKSWAP_TESTS=OFF", "-DLOCKSWAP_STRUCTURES=OFF"]
    subprocess.run(configure, check=True, capture_output=True)
    env = os.environ | {"LOCKSWAP_BUILD": str(BUILD)}
    done = subprocess.run(["bash", ROOT / "apps/fetch/peers.sh"], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return BUILD / "apps/peers"


@pytest.fixture(scope="module")
def facts(program) -> list[dict[str, str]]:
    out = subprocess.check_output([program, "--facts"], text=True)
    found = list(csv.DictReader(out.splitlines(), delimiter="\t"))
    if len(found) <= 2:
        pytest.skip("no library of others could be installed")
    return found


def test_each_lock_does_each_of_its_works(program, facts):
    script = [sys.executable, ROOT / "tests/apps/peers.py", ROOT / "build/liblockswap.so", program.parent]
    done = subprocess.run(script, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_has_the_facts(facts):
    page = (ROOT / "docs/locks.md").read_text()
    rows = re.findall(r"^\| `([\w-]+)` \| `([\w:]+)` \| ([^|]+(?:\| [^|]+){6}) \|$", page, re.MULTILINE)
    said = {(name, kind): dict(zip(COLUMNS, cells.split(" | "), strict=True)) for name, kind, cells in rows}
    for row in facts:
        expected = {column: row[column] for column in COLUMNS}
        assert {key: value or "no" for key, value in said[row["lock"], row["type"]].items()} == expected, row["type"]


def test_a_comparison_has_all_of_them(program, facts, tmp_path):
    """A checkout of one's own, whose program is this one."""
    (tmp_path / "build/apps").mkdir(parents=True)
    for part in ("bin", "liblockswap.so", "venv"):
        (tmp_path / "build" / part).symlink_to(ROOT / "build" / part)
    shutil.copytree(ROOT / "apps", tmp_path / "apps")
    (tmp_path / "build/apps/peers").symlink_to(program)
    for workload in ("peers-pairs-1in10", "peers-queue"):
        out = tmp_path / workload
        words = ("compare", "--out", out, "-w", workload, "-t", "2", "-r", "1", "-s", "1", "--no-report")
        env = os.environ | {"PYTHONPATH": str(ROOT / "harness"), "LOCKSWAP_HOME": str(tmp_path)}
        command = [sys.executable, "-m", "lockswap", *map(str, words)]
        done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        with (out / "raw.csv").open(newline="") as file:
            statuses = {row["lock"]: row["status"] for row in csv.DictReader(file)}
        work = "queue" if workload == "peers-queue" else "pairs"
        expected = {f"peer:{row['lock']}" for row in facts if work in row["works"].split(",") and row["lock"] != "std"}
        assert {lock for lock, status in statuses.items() if status == "ok"} >= {"none", *expected}
        assert "wrong result" not in statuses.values()
