"""The servers that have recipes, with the library as it was built. Gets their packages: only with --full."""

import csv
import json

import pytest

from harness_support import ROOT, Lockswap

built = all((ROOT / "build" / file).exists() for file in ("liblockswap.so", "bin/lockswap-registry"))
pytestmark = [pytest.mark.full, pytest.mark.skipif(not built, reason="build/liblockswap.so is not built")]


def compare(folder, workload, *locks):
    """One round with one lock; its rows and counts by lock."""
    locks = locks or ("-l", "bravo-ba")
    done = Lockswap(ROOT)(
        "compare", "-w", workload, *locks, "-t", "1", "-r", "1", "-s", "1", "--out", folder, "--no-report",
        timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with (folder / "raw.csv").open(newline="") as file:
        rows = {row["lock"]: row for row in csv.DictReader(file)}
    return rows, {check["lock"]: check for check in json.loads((folder / "checks.json").read_text())["checks"]}


@pytest.mark.parametrize(("workload", "metric"), [("unbound", "queries"), ("openssl-s-server", "connections")])
def test_servers_with_rwlocks(tmp_path, workload, metric):
    rows, checks = compare(tmp_path / "c", workload)
    assert {lock: (row["status"], row["detail"]) for lock, row in rows.items()} == dict.fromkeys(rows, ("ok", ""))
    assert all(float(row["cpu_s"]) > 0 and float(row[f"metric.{metric}"]) > 10 for row in rows.values())
    assert checks["bravo-ba"]["totals"]["reads"] > 1000


def test_a_server_with_mutexes(tmp_path):
    rows, checks = compare(tmp_path / "c", "memcached", "-m", "mcs")
    assert {lock: (row["status"], row["detail"]) for lock, row in rows.items()} == dict.fromkeys(rows, ("ok", ""))
    assert set(rows) == {"none", "mutex:pthread", "mutex:mcs"}
    assert all(float(row["metric.operations"]) > 100 for row in rows.values())
    assert checks["mutex:mcs"]["mutex_totals"]["acquisitions"] > 1000
