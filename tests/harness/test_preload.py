"""`--preload LIB`: an allocator or the like beside our library."""

import csv
import subprocess
import tomllib

import pytest

from harness_support import compile_c, one_line_error
from lockswap.run.preload import ld_preload


@pytest.fixture
def library(tmp_path):
    """A library that says that it is loaded."""
    source = tmp_path / "beside.c"
    source.write_text(
        '#include <stdio.h>\n__attribute__((constructor)) static void start(void) { puts("beside: 7"); }\n'
    )
    compile_c(source, tmp_path / "libbeside.so", "-shared", "-fPIC")
    return tmp_path / "libbeside.so"


def test_the_order(tmp_path):
    ours = tmp_path / "liblockswap.so"
    assert ld_preload(ours, "/x/a.so", ["/m/libmalloc.so"]) == f"{ours}:/m/libmalloc.so:/x/a.so"
    assert ld_preload(ours, "/m/libmalloc.so", ["/m/libmalloc.so"]) == f"{ours}:/m/libmalloc.so"
    assert ld_preload(ours, "/l/libasan.so.8", ["/m/a.so"]) == f"/l/libasan.so.8:{ours}:/m/a.so"
    assert ld_preload(None, "/x/a.so", ["/m/a.so", "/m/b.so"]) == "/m/a.so:/m/b.so:/x/a.so"


def test_every_run_has_it_and_the_campaign_says_so(lockswap, repo, library):
    done = lockswap(
        "compare", "--out", "results/c", "-l", "ba", "-r", "2", "--preload", library, "--no-report", "--metric",
        "beside: ([0-9])", "--", repo / "build/apps/rwbench", "1", "1000",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with (repo / "results/c/raw.csv").open(newline="") as file:
        found = {(row["lock"], row["status"], row["metric.beside"]) for row in csv.DictReader(file)}
    assert found == {(lock, "ok", "7") for lock in ("none", "pthread", "ba")}
    about = tomllib.loads((repo / "results/c/campaign.toml").read_text())
    assert about["preload"] == about["request"]["preload"] == [str(library)]
    assert "libbeside.so preloaded" in done.stdout


def test_run_has_it_with_and_without_a_lock(lockswap, library):
    for lock in ("none", "ba"):
        assert "beside: 7" in lockswap("run", "--rwlock", lock, "--preload", library, "--", "true").stdout


def test_a_name_is_looked_up_as_the_loader_does(lockswap):
    known = subprocess.run("/sbin/ldconfig -p", shell=True, capture_output=True, text=True).stdout
    if "libjemalloc.so" not in known:
        pytest.skip("libjemalloc2 is not installed")
    done = lockswap("run", "--rwlock", "none", "--preload", "jemalloc", "--", "sh", "-c", "echo $LD_PRELOAD")
    assert "/libjemalloc.so" in done.stdout


@pytest.mark.parametrize(
    ("library", "says"),
    [
        ("no-such-allocator", "libno-such-allocator.so is installed"),
        ("/no/such/lib.so", "no such file"),
        ("/etc/passwd", "cannot be preloaded: invalid ELF header"),
    ],
)
def test_a_wrong_one_is_refused_before_the_campaign(lockswap, repo, library, says):
    program = repo / "build/apps/rwbench"
    assert says in one_line_error(lockswap.inside("run", "--rwlock", "ba", "--preload", library, "--", program))
    done = lockswap.inside("compare", "--out", "results/c", "--preload", library, "--", program, "1", "1")
    assert says in one_line_error(done)
    assert not (repo / "results/c").exists()
