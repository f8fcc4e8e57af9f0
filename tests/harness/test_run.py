"""`lockswap run` and `lockswap list`: real processes."""

import contextlib
import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from harness_support import LOCKS, MUTEXES, ROOT, Lockswap, compile_c, one_line_error
from lockswap import listing
from lockswap.base.errors import UserError
from lockswap.base.registry import Lock, Registry
from lockswap.cli import TASKS, cli
from lockswap.run.preload import ld_preload


def test_the_programs_own_status(lockswap):
    assert lockswap("run", "--rwlock", "ba", "--", "sh", "-c", "exit 7").returncode == 7
    assert lockswap("run", "--rwlock", "none", "--", "true").returncode == 0


def test_death_by_a_signal_stays_one(lockswap):
    # The shell reports 128+n for it, as without lockswap.
    done = lockswap("run", "--rwlock", "ba", "--", "sh", "-c", "kill -SEGV $$")
    assert done.returncode == -signal.SIGSEGV


def test_sigpipe_is_not_ignored_in_the_program(lockswap):
    done = lockswap("run", "--rwlock", "ba", "--", "sh", "-c", "grep SigIgn /proc/$$/status")
    ignored = int(done.stdout.split()[1], 16)
    assert not ignored & 1 << (signal.SIGPIPE - 1)


def test_the_lock_is_in_the_environment(lockswap, repo):
    done = lockswap("run", "--rwlock", "pf-q", "--wait", "SPIN", "--verbose", "--", "env", env={"LD_PRELOAD": ""})
    env = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    assert env["LOCKSWAP_RWLOCK"] == "ba" and env["LOCKSWAP_WAIT"] == "spin" and env["LOCKSWAP_VERBOSE"] == "1"
    assert env["LD_PRELOAD"] == str((repo / "build/liblockswap.so").resolve())
    assert "PYTHONPATH" not in env and "LOCKSWAP_HOME" not in env


@pytest.mark.parametrize(
    ("args", "runs"),
    [
        (["--mutex", "MCS"], {"LOCKSWAP_RWLOCK": "pthread", "LOCKSWAP_MUTEX": "mcs"}),
        (["--mutex", "glibc"], {"LOCKSWAP_RWLOCK": "pthread", "LOCKSWAP_MUTEX": "pthread"}),
        (["--rwlock", "pf-q", "--mutex", "mcs"], {"LOCKSWAP_RWLOCK": "ba", "LOCKSWAP_MUTEX": "mcs"}),
        (["--rwlock", "ba"], {"LOCKSWAP_RWLOCK": "ba"}),
        (["--cond", "OWN"], {"LOCKSWAP_RWLOCK": "pthread", "LOCKSWAP_COND": "own"}),
        (
            ["--mutex", "glibc", "--cond", "glibc"],
            {"LOCKSWAP_RWLOCK": "pthread", "LOCKSWAP_MUTEX": "pthread", "LOCKSWAP_COND": "pthread"},
        ),
        (["--mutex", "none"], {}),
        (["--mutex", "none", "--rwlock", "none"], {}),
    ],
)
def test_what_runs_is_what_was_named(lockswap, args, runs):
    # Whatever the environment says beside it.
    set_before = {"LOCKSWAP_RWLOCK": "crashes", "LOCKSWAP_MUTEX": "bypassed", "LOCKSWAP_COND": "pthread"}
    done = lockswap("run", *args, "--", "env", env=set_before)
    found = dict(line.split("=", 1) for line in done.stdout.splitlines() if line.startswith("LOCKSWAP_"))
    # Never glibc's locks in place of these.
    assert found.pop("LOCKSWAP_STRICT", None) == ("1" if runs else None)
    assert found == runs, done.stderr
    assert ("liblockswap.so" in done.stdout) == bool(runs)


@pytest.mark.parametrize(("difference", "options"), [("rwlock-kind", ["--rwlock"]), ("cond-unknown", ["--mutex"])])
def test_a_glibc_of_an_unknown_layout_is_an_error(difference, options):
    lockswap = Lockswap(ROOT)  # with the library of the build
    built = ROOT / "build/tests/layouts"
    command = ["--preload", built / "libpthread.so.other", "--", built / "uses", "private"]
    done = lockswap("run", *options, "ba", *command, env={"OTHER_GLIBC": difference})
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot run here: glibc's pthread_" in done.stderr
    assert lockswap("run", *options, "none", *command, env={"OTHER_GLIBC": difference}).stdout == "right\n"


def test_none_is_really_none(lockswap):
    done = lockswap("run", "--rwlock", "none", "--", "env", env={"LOCKSWAP_RWLOCK": "ba", "LOCKSWAP_STATS": "1"})
    assert "LOCKSWAP_" not in done.stdout and "liblockswap" not in done.stdout


def test_an_existing_preload_is_kept(tmp_path):
    library = tmp_path / "liblockswap.so"
    assert ld_preload(library, "") == str(library)
    assert ld_preload(library, "/x/libjemalloc.so") == f"{library}:/x/libjemalloc.so"
    # A sanitizer wants to be first; a second copy of ourselves is left out.
    assert ld_preload(library, f"/x/a.so {library}:/l/libasan.so.8") == f"/l/libasan.so.8:{library}:/x/a.so"


def test_a_path_that_ld_preload_cannot_carry_is_refused():
    with pytest.raises(UserError, match="space or a colon"):
        ld_preload(Path("/a b/liblockswap.so"), "")


def test_stats_go_to_a_file_per_process(lockswap, repo, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    done = lockswap(
        "run", "--rwlock", "ba", "--stats", "counts", "--",
        "sh", "-c", f"cd {tmp_path}/elsewhere; exec {repo}/build/apps/rwbench 2 1000",
    )  # fmt: skip
    assert done.returncode == 0
    counts = [json.loads(file.read_text()) for file in repo.glob("counts.*")]
    assert [count["totals"]["reads"] for count in counts if count["program"] == "rwbench"] == [1800]


@pytest.mark.parametrize(("words", "heading"), [((), "Try other locks:"), (("policy",), "Commands:")])
def test_without_a_command_the_help_is_shown_as_it_is(lockswap, words, heading):
    done = lockswap.inside(*words)
    assert done.returncode == 2 and done.stdout == ""
    lines = done.stderr.splitlines()
    assert lines[0].startswith("Usage: lockswap") and heading in lines
    assert done.stderr.rstrip() == lockswap.inside(*words, "--help").stdout.rstrip()


def test_each_command_stands_under_one_heading_of_the_help(lockswap):
    listed = [name for names in TASKS.values() for name in names]
    assert sorted(listed) == sorted(cli.commands)
    said = lockswap.inside("--help").stdout
    for heading in TASKS:
        assert f"\n{heading}:\n" in said
    assert "..." not in said.split("Options:")[1]  # what doesn't fit would be cut


def test_a_copied_build_folder_is_noticed(tmp_path):
    command, python = tmp_path / "build/bin/lockswap", tmp_path / "build/venv/bin/python"
    for file, text in (
        (command, (ROOT / "scripts/lockswap").read_text()),
        (python, f'#!/bin/sh\nexec {sys.executable} "$@"\n'),  # in a venv it finds the modules of the first tree
    ):
        file.parent.mkdir(parents=True)
        file.write_text(text)
        file.chmod(0o755)
    env = {key: value for key, value in os.environ.items() if not key.startswith("LOCKSWAP_")}
    env["PYTHONPATH"] = str(ROOT / "harness")
    error = one_line_error(subprocess.run([command, "list"], env=env, capture_output=True, text=True))
    assert f"{tmp_path}/build is a copy: its Python still uses {(ROOT / 'build').resolve()}" in error


def test_stats_are_written_before_a_signal_ends_the_program(lockswap, repo):
    done = lockswap("run", "--rwlock", "ba", "--stats", "counts", "--", "sh", "-c", "kill -TERM $$")
    assert done.returncode == -signal.SIGTERM
    assert [json.loads(file.read_text())["program"] for file in repo.glob("counts.*")] == ["sh"]


def test_stats_without_a_file_go_to_stderr(lockswap, repo):
    done = lockswap("run", "--rwlock", "ba", "--stats", "--", repo / "build/apps/rwbench", 1, 10)
    assert '"reads":9' in done.stderr and "reads/s" in done.stdout


@pytest.mark.parametrize(
    "args",
    [
        ["--stats", "true"],
        ["--stats", "sh", "-c", "exit 0"],
        ["--stats", "true", "--", "false"],
        ["--stats", "./counts", "sh"],
    ],
)
def test_a_program_is_not_taken_for_the_file_of_stats(lockswap, repo, args):
    error = one_line_error(lockswap.inside("run", "--rwlock", "ba", *args))
    assert f"'--stats -- {args[1]}'" in error and f"'--stats={args[1]} --'" in error
    assert not list(repo.glob("true.*"))


@pytest.mark.parametrize(
    ("args", "file"),
    [
        (["--stats=counts", "--", "true"], True),
        (["--stats=counts", "true"], True),
        (["--stats", "counts", "--rwlock", "ba", "--", "true"], True),
        (["--stats", "--rwlock", "ba", "--", "true"], False),
        (["--stats", "--", "true"], False),
        (["--", "sh", "-c", "exit 0", "--stats", "true"], None),
        (["sh", "-c", "exit 0", "--stats", "true"], None),
    ],
)
def test_stats_and_what_stands_behind_it(lockswap, repo, args, file):
    done = lockswap("run", "--rwlock", "ba", *args)
    assert done.returncode == 0, done.stderr
    assert len(list(repo.glob("counts.*"))) == (file is True)
    assert ('"reads":0' in done.stderr) == (file is False)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["run", "--rwlock", "bravo", "--", "true"], "did you mean 'bravo-ba'"),
        (["run", "--rwlock", "zzz", "--", "true"], "no rwlock 'zzz'; 'lockswap list' shows all"),
        (["run", "--rwlock", "br", "--", "true"], "no rwlock 'br', did you mean 'bravo-ba'? 'lockswap list' shows"),
        (["run", "--rwlock", "slow", "--", "true"], "did you mean 'slow5' or 'slow20'?"),
        (["run", "--rwlock", "mcs", "--", "true"], "no rwlock 'mcs': mcs is a mutex, so write --mutex mcs"),
        (["run", "--rwlock", "ba", "--wait", "sleep", "--", "true"], "park, spin"),
        (["run", "--rwlock", "ba", "--", "no-such-program"], "not found in PATH"),
        (["run", "--rwlock", "ba", "--", "./nothing"], "no such file"),
        (["run", "--rwlock", "ba", "--", "/etc"], "is a folder"),
        (["run", "--rwlock", "ba", "--", "/etc/passwd"], "not executable"),
        (["run", "--rwlock", "ba"], "Missing argument"),
        (["run", "--", "true"], "--rwlock LOCK, --mutex MUTEX or both"),
        (["run", "--mutex", "msc", "--", "true"], "no mutex 'msc', did you mean 'mcs'?"),
        (["run", "--mutex", "zzz", "--", "true"], "no mutex 'zzz'; 'lockswap list' shows all"),
        (["run", "--mutex", "bravo-ba", "--", "true"], "bravo-ba is an rwlock, so write --rwlock bravo-ba"),
        (["run", "--rwlock", "none", "--mutex", "mcs", "--", "true"], "no other lock can run beside it: drop --rwlock"),
        (["run", "--rwlock", "ba", "--mutex", "none", "--", "true"], "drop --mutex, and mutexes stay glibc's"),
        (["compare", "-l", "ba", "-m", "none", "--", "true"], "'lockswap audit -- CMD' shows which locks"),
        (["compare", "--mutex", "msc", "--", "true"], "did you mean 'mcs'"),
        (["compare", "--mutex", "mcs", "--against", "mutex:clh", "--", "true"], "no mutex 'clh'"),
        (["compare", "--mutex", "mcs", "--against", "ba+mcs", "--", "true"], "write 'ba', 'mutex:mcs'"),
        (["run", "--rwlock", "ba", "--stats", "/no/such/folder/x", "--", "true"], "no folder"),
        (["run", "--rwlok", "ba", "--", "true"], "--rwlok"),
        (["nonsense"], "nonsense"),
        (["list", "bravo-bb"], "did you mean 'bravo-ba'"),
        (["list", "workload"], "did you mean 'workloads'? 'lockswap list' shows all"),
        (["list", "ba", "--json"], "drop 'ba'"),
    ],
)
def test_bad_input(lockswap, args, says):
    assert says in one_line_error(lockswap.inside(*args))


def test_an_error_is_one_line_from_outside_too(lockswap):
    assert "did you mean" in one_line_error(lockswap("run", "--rwlock", "bravo", "--", "true"))


def test_without_a_build_it_says_how_to_build(lockswap, repo):
    (repo / "build").unlink()
    assert "./run.sh build" in one_line_error(lockswap.inside("list"))


def test_programs_out_of_reach_are_warned_about(lockswap, tmp_path):
    source = tmp_path / "x.c"
    source.write_text("int main(void) { return 3; }\n")
    try:
        compile_c(source, tmp_path / "static", "-static")
    except subprocess.CalledProcessError:
        pytest.skip("no static libc here")
    done = lockswap("run", "--rwlock", "ba", "--", tmp_path / "static")
    assert done.returncode == 3 and "statically linked" in done.stderr and "dynamically linked" in done.stderr
    compile_c(source, tmp_path / "dynamic")
    assert lockswap("run", "--rwlock", "ba", "--", tmp_path / "dynamic").stderr == ""

    shim = tmp_path / "shims" / "tool"
    shim.parent.mkdir()
    shim.write_text("#!/usr/bin/env bash\nexec pyenv exec tool\n")
    shim.chmod(0o755)
    assert "shim of pyenv" in lockswap("run", "--rwlock", "ba", "--", shim).stderr


def test_list_has_a_line_for_each_lock_and_mutex(lockswap, recipe):
    recipe("rw")
    lines = lockswap("list").stdout.splitlines()
    named = [line.split()[0] for line in lines if line.startswith("  ")]
    assert named == ["none", *LOCKS, *MUTEXES]
    assert "'list workloads' (1)" in lines[-1]


def test_list_of_one_has_everything(lockswap, recipe):
    recipe("rw")
    text = lockswap("list", "BA").stdout
    for word in (
        "ba, a reader-writer lock (--rwlock ba)",
        "the lock ba",
        "56",
        "try",
        "ba, a mutex (--mutex ba)",
        "40",
    ):
        assert word in text
    assert "the lock bravo-ba" not in text
    assert "Acquisitions of one rwlock." in lockswap("list", "rw").stdout
    for what, word in {"ranges": "list-rw", "workloads": "The test's own program", "waits": "sleeps"}.items():
        assert word in lockswap("list", what).stdout
    assert "LOCKSWAP_SPIN" in lockswap("list", "variables").stdout
    assert "50" in lockswap("list", "lockswap_spin").stdout


def test_list_in_json_has_all_of_it(lockswap, recipe):
    recipe("rw")
    data = json.loads(lockswap("list", "--json").stdout)
    assert data["schema"] == 1
    assert [mutex["name"] for mutex in data["mutexes"]] == MUTEXES and data["mutexes"][1]["footprint_bytes"] == 40
    assert data["workloads"][0]["name"] == "rw" and data["workloads"][0]["built"] is True


def test_locks_over_others_are_one_line_a_family():
    names = ["ba", "per-node", "node", "row", "row-asym", "bravo-ba", "bravo-per-node", "bravo-row-asym", "odd-ba"]
    names += ["bravo-asym-ba", "bravo-asym-row"]
    families = Registry.families([Lock(name, summary=f"bias over {name.removeprefix('bravo-')}") for name in names])
    assert {family.prefix: family.bases for family in families} == {
        "bravo-": ("ba", "per-node", "row-asym"),
        "bravo-asym-": ("ba", "row"),
    }
    assert listing.summary_of(families[0]) == "bias over <L>"


def terminal(command, env, columns):
    """What a command prints on a terminal so wide."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(command, stdout=theirs, env=env) as child:
        os.close(theirs)
        text = b""
        with contextlib.suppress(OSError):  # EIO: the other side is closed
            while part := os.read(ours, 65536):
                text += part
    os.close(ours)
    assert child.returncode == 0
    return text.decode().splitlines()


def test_list_fits_a_terminal_and_does_not_wrap_a_pipe(lockswap, repo):
    """With as many locks as this tree has, and long summaries."""
    rows = [
        {"name": prefix + name, "summary": f"{prefix}{name}, " + "a lock with much to be said of it " * 4}
        for prefix in ("", "bravo-", "bravo-asym-")
        for name in ("pthread", *(f"lock-{number}" for number in range(9)))
    ]
    program = repo / "build/bin/lockswap-registry"
    real = program.parents[1].resolve()
    (repo / "build").unlink()
    program.parent.mkdir(parents=True)
    for file in real.glob("bin/*"):
        if file.name != program.name:
            (program.parent / file.name).symlink_to(file)
    data = json.dumps({"schema": 1, "rwlocks": rows, "mutexes": rows[:10]})
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{data}\nEND\n")
    program.chmod(0o755)

    env = {key: value for key, value in lockswap.env.items() if key != "COLUMNS"}
    shown = terminal(lockswap.command("list"), env, 80)
    assert len(shown) <= 60 and max(map(len, shown)) <= 80
    assert sum(line.startswith("  bravo-") for line in shown) == 2 and any(line.endswith("…") for line in shown)
    piped = lockswap("list", env={"COLUMNS": "40"}).stdout.splitlines()
    assert any(len(line) > 120 for line in piped) and not any("…" in line for line in piped)
    assert len(piped) <= len(shown)


def test_list_names_a_broken_recipe(lockswap, recipe):
    recipe("rw", replace={"title =": "titel ="})
    assert "titel" in one_line_error(lockswap.inside("list"))


@pytest.mark.parametrize(
    ("modules", "loads_none_of"),
    [
        (
            "lockswap.cli, lockswap.run.launch",
            ["rich", "numpy", "scipy", "matplotlib", "jinja2", "elftools", "tomli_w"],
        ),
        (
            "lockswap.cli, lockswap.listing",
            ["rich", "numpy", "scipy", "matplotlib", "jinja2", "elftools", "tomli_w"],
        ),
        ("lockswap.cli, lockswap.campaign.compare", ["numpy", "scipy", "matplotlib", "jinja2", "elftools"]),
    ],
)
def test_a_command_loads_what_it_needs(modules, loads_none_of):
    """`run` stands before a program's start, people wait for `list`, and `compare` is not to wait for what draws."""
    code = f"import sys, {modules}; print(*[name for name in {loads_none_of} if name in sys.modules])"
    env = os.environ | {"PYTHONPATH": str(ROOT / "harness")}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
