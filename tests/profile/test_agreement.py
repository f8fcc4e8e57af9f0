"""What a profile counts in real programs is what gdb counts there, by breakpoints on glibc's own functions.

gdb looks at a run without the profile, so nothing of it can be in both counts. The programs do the same in each run.
"""

import json
import re
import shutil
import subprocess

import pytest
from test_profile import environment, lockswap

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed"),
]

# The share that may be missing: libc takes some mutexes inside, which are not the program's.
ASKED = {
    "pthread_rwlock_rdlock": ("rwlock", "shared", 0),
    "pthread_rwlock_wrlock": ("rwlock", "exclusive", 0),
    "pthread_mutex_lock": ("mutex", "exclusive", 0.02),
}
PROGRAMS = {
    "db_bench": [
        *("db_bench", "--threads=1", "--num=300", "--benchmarks=fillseq,readrandom", "--memtablerep=hash_linkedlist"),
        *("--prefix_size=8", "--keys_per_prefix=4", "--inplace_update_support=1", "--inplace_update_num_locks=1"),
        *("--allow_concurrent_memtable_write=0", "--db={tmp}/db"),
        *("--stats_dump_period_sec=0", "--stats_persist_period_sec=0"),  # a thread of its own does these, at any moment
    ],
    "kyoto": ["kccachetest", "order", "-th", "1", "2000"],
    "openssl": ["openssl", "dgst", "-sha256", "/proc/self/cmdline"],
}


def counted_by_gdb(command: list[str], script) -> dict[str, int]:
    lines = ["set breakpoint pending on", "set confirm off"]
    for number, name in enumerate(ASKED, 1):
        lines += [f"break {name}", f"ignore {number} 1000000000"]
    script.write_text("\n".join([*lines, "run", "info breakpoints"]) + "\n")
    done = subprocess.run(
        ["gdb", "-nx", "-batch", "-x", script, "--args", *command],
        capture_output=True,
        text=True,
        env=environment(),
    )
    if "exited normally" not in done.stdout:
        pytest.skip(f"gdb cannot run the program: {done.stderr[-300:]}")
    table = done.stdout[done.stdout.index("Num  ") :]
    found = dict.fromkeys(ASKED, 0)
    for part in re.split(r"^(?=\d+ +breakpoint)", table, flags=re.MULTILINE)[1:]:
        hits = re.search(r"already hit (\d+) time", part)
        found[list(ASKED)[int(part.split()[0]) - 1]] = int(hits[1]) if hits else 0
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_gdb_counts_the_same(name, tmp_path):
    if shutil.which(PROGRAMS[name][0]) is None:
        pytest.skip(f"{PROGRAMS[name][0]} is not installed")

    def command(run: str) -> list[str]:
        (tmp_path / run).mkdir()
        return [word.replace("{tmp}", str(tmp_path / run)) for word in PROGRAMS[name]]

    want = counted_by_gdb(command("gdb"), tmp_path / "count.gdb")
    done = lockswap("profile", "-o", tmp_path / "out", "--", *command("profile"))
    assert done.returncode == 0, done
    found = json.loads((tmp_path / "out/profile.json").read_text())
    assert sum(want.values()) > 1000
    for function, (kind, mode, slack) in ASKED.items():
        got = sum(lock["modes"][mode]["acquisitions"] for lock in found["locks"] if lock["kind"] == kind)
        assert got == pytest.approx(want[function], rel=slack, abs=1 if slack else 0), (function, got, want)
