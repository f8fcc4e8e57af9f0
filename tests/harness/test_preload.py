"""`--preload LIB` loads an allocator or the like together with our library."""

import csv
import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from harness_support import ROOT, compile_c, one_line_error
from lockswap.run import preload_order
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


def test_what_is_to_be_first_is_before_ours(tmp_path):
    ours, clock = tmp_path / "liblockswap.so", "/x/libfaketime.so.1"
    assert ld_preload(ours, "/x/a.so", ["/m/m.so"], [clock]) == f"{clock}:{ours}:/m/m.so:/x/a.so"
    assert ld_preload(ours, f"/x/a.so:{clock}", (), [clock]) == f"{clock}:{ours}:/x/a.so"
    assert ld_preload(ours, "/l/libasan.so.8", (), [clock]) == f"/l/libasan.so.8:{clock}:{ours}"
    assert ld_preload(None, "", ["/m/m.so"], [clock]) == f"{clock}:/m/m.so"


@pytest.fixture
def replaces(tmp_path):
    """A library that defines this function; or only calls it."""

    def make(name: str, function: str, calls: bool = False) -> Path:
        source = tmp_path / f"{name}.c"
        source.write_text(f"int {function}(void);\nint use(void) {{ return {function}(); }}\n" if calls else
                          f"int {function}(void) {{ return 0; }}\n")  # fmt: skip
        compile_c(source, tmp_path / f"lib{name}.so", "-shared", "-fPIC", "-fno-builtin")
        return tmp_path / f"lib{name}.so"

    return make


def test_a_library_behind_ours_that_replaces_clocks_or_locks_is_warned_of(tmp_path, replaces):
    ours = tmp_path / "liblockswap.so"
    clock, locks = replaces("clock", "clock_gettime"), replaces("locks", "pthread_mutex_trylock")
    harmless = replaces("harmless", "pthread_mutex_trylock", calls=True)
    found = preload_order.warnings(f"{ours}:{harmless}:{clock}:{locks}", ours)
    assert [line.split(" itself")[0] for line in found] == [
        "'libclock.so' replaces the clock",
        "'liblocks.so' replaces locks",
    ]
    assert f"'--preload-first {clock}'" in found[0]
    assert preload_order.warnings(f"{clock}:{locks}:{ours}:{harmless}", ours) == []
    assert preload_order.warnings(f"{clock}", ours) == []
    assert "the clock" in preload_order.warnings(f"{ours}:libfaketime.so.1", ours)[0]
    (tmp_path / "cut.so").write_bytes(clock.read_bytes()[:200])
    assert preload_order.warnings(f"{ours}:{tmp_path}/cut.so:/no/such.so:/etc/passwd", ours) == []


def test_allocators_and_our_own_helpers_are_not_warned_of():
    files = [*Path("/usr/lib").glob("*/libjemalloc.so*"), *Path("/usr/lib").glob("*/libtcmalloc*.so*")]
    assert preload_order.warnings(":".join(map(str, ["/x/ours.so", *files])), Path("/x/ours.so")) == []


def test_run_and_compare_warn_and_put_it_first(lockswap, repo, replaces):
    clock, ours = replaces("clock", "gettimeofday"), (repo / "build/liblockswap.so").resolve()
    program = ["--", "sh", "-c", "echo $LD_PRELOAD >>order"]
    for command in (
        ["run", "--rwlock", "ba"],
        ["compare", "-l", "ba", "-r", "1", "--no-report", "--out", "c"],
        ["audit"],
    ):
        for option, order in (("--preload", f"{ours}:{clock}"), ("--preload-first", f"{clock}:{ours}")):
            done = lockswap(*command, option, clock, *program, env={"LD_PRELOAD": ""})
            warned = [line for line in done.stderr.splitlines() if "replaces the clock" in line]
            assert len(warned) == (option == "--preload"), done.stderr
            order = order.replace("liblockswap", "liblockswap-audit") if command == ["audit"] else order
            assert order in (repo / "order").read_text().split(), done.stderr
            (repo / "order").unlink()
            shutil.rmtree(repo / "c", ignore_errors=True)


def test_every_run_has_it_and_the_campaign_says_so(lockswap, repo, library):
    done = lockswap(
        "compare", "--out", "results/c", "-l", "ba", "-r", "2", "--preload", library, "--no-report", "--verbose",
        "--metric", "beside: ([0-9])", "--", repo / "build/apps/rwbench", "1", "1000",
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
    before = one_line_error(lockswap.inside("run", "--rwlock", "ba", "--preload-first", library, "--", program))
    assert before.startswith(f"lockswap: --preload-first {library}: ") and says in before
    assert says in one_line_error(lockswap.inside("run", "--rwlock", "ba", "--preload", library, "--", program))
    done = lockswap.inside("compare", "--out", "results/c", "--preload", library, "--", program, "1", "1")
    assert says in one_line_error(done)
    assert not (repo / "results/c").exists()


@pytest.fixture
def bare(tmp_path):
    """bare(BEFORE, BEHIND, variables...): stderr of a program with our library preloaded between these by hand."""
    library = ROOT / "build/liblockswap.so"
    if not library.exists():
        pytest.skip("the library is not built")

    def run(before=(), behind=(), command=("true",), **variables: str) -> str:
        env = {key: value for key, value in os.environ.items() if not key.startswith(("LOCKSWAP_", "LD_"))}
        env["LD_PRELOAD"] = ":".join(map(str, [*before, library, *behind]))
        done = subprocess.run(command, env=env | variables, capture_output=True, text=True, timeout=600)
        assert (done.returncode, done.stdout) == (0, "")
        return done.stderr

    return run


RWLOCK, MUTEX = {"LOCKSWAP_RWLOCK": "ba"}, {"LOCKSWAP_MUTEX": "mcs"}


def test_without_the_command_the_library_warns_of_a_library_behind_it(bare, replaces):
    clock, locks = replaces("clock", "clock_gettime"), replaces("locks", "pthread_mutex_lock")
    said = bare(behind=[clock], **RWLOCK)
    assert said.startswith(f"lockswap: warning: {clock} replaces clock_gettime itself and is loaded after lockswap")
    assert "put it before lockswap in LD_PRELOAD" in said and said.count("\n") == 1
    said = bare(behind=[locks, clock], **MUTEX)
    assert said.startswith(f"lockswap: warning: {locks} replaces pthread_mutex_lock itself and is loaded after")
    assert "; 1 more like this (" in said and said.count("\n") == 1


def test_a_library_before_it_that_passes_nothing_on_is_warned_of(bare, replaces, tmp_path):
    locks = replaces("locks", "pthread_rwlock_wrlock")
    said = bare(before=[locks], **RWLOCK)
    assert said.startswith(f"lockswap: warning: {locks} replaces pthread_rwlock_wrlock itself, passes no call on")
    assert "put lockswap before it" in said and said.count("\n") == 1
    source = tmp_path / "wraps.c"
    source.write_text(
        "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <pthread.h>\n"
        "int pthread_rwlock_wrlock(pthread_rwlock_t* l) {\n"
        '  return ((int (*)(pthread_rwlock_t*))dlsym(RTLD_NEXT, "pthread_rwlock_wrlock"))(l);\n}\n'
    )
    compile_c(source, tmp_path / "libwraps.so", "-shared", "-fPIC")
    assert bare(before=[tmp_path / "libwraps.so"], **RWLOCK) == ""
    assert "after lockswap" in bare(behind=[tmp_path / "libwraps.so"], **RWLOCK)


def test_a_program_that_has_locks_of_its_own_is_warned_of(bare, tmp_path):
    source = tmp_path / "own.c"
    source.write_text("int pthread_mutex_lock(void* m) { return m != 0; }\nint main(void) { return 0; }\n")
    compile_c(source, tmp_path / "own", "-rdynamic")
    said = bare(command=(tmp_path / "own",), **MUTEX)
    assert said.startswith("lockswap: warning: the program itself replaces pthread_mutex_lock")
    assert "build it without" in said and said.count("\n") == 1
    assert bare(command=(tmp_path / "own",), **RWLOCK) == ""


def test_no_warning_without_a_reason_and_none_where_none_is_wanted(bare, replaces):
    clock, locks = replaces("clock", "gettimeofday"), replaces("locks", "pthread_mutex_lock")
    harmless = replaces("harmless", "pthread_mutex_trylock", calls=True)
    assert bare(**RWLOCK) == bare(behind=[harmless], **RWLOCK, **MUTEX) == ""
    assert bare(before=[clock], **RWLOCK) == ""  # as it should be
    assert bare(behind=[locks], **RWLOCK) == ""  # mutexes are not swapped
    assert bare(behind=[clock, locks]) == bare(behind=[clock, locks], LOCKSWAP_RWLOCK="pthread") == ""
    assert bare(behind=[clock], **RWLOCK, LOCKSWAP_VERBOSE="0") == ""
    assert bare(behind=[clock], **RWLOCK, LOCKSWAP_VERBOSE="1").count("lockswap: warning:") == 1


def test_what_a_shell_starts_does_not_warn_again(bare, replaces):
    clock = replaces("clock", "time")
    said = bare(behind=[clock], command=("sh", "-c", "true & env true; sh -c 'env true; :'; :"), **RWLOCK)
    assert said.count("lockswap: warning:") == 1


def test_run_warns_once(replaces):
    clock = replaces("clock", "clock_gettime")
    command = [ROOT / "build/bin/lockswap", "run", "--rwlock", "ba", "--preload", clock, "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert (done.stdout, done.stderr.count("lockswap: warning:")) == ("", 1)
