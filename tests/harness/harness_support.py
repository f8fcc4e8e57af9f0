"""What the harness's tests share. Not in conftest.py: other folders of tests have one as well."""

import contextlib
import io
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NATIVE = Path(__file__).parent / "native"
FAKES = Path(__file__).parent / "fakes"  # programs, for PATH
sys.path[:0] = [str(ROOT / "harness"), str(ROOT / "tests")]

import command_server  # noqa: E402
from lockswap.__main__ import main  # noqa: E402

LOCKS = ["pthread", "ba", "bravo-ba", "crashes", "hangs", "bypassed", "slow5", "slow20"]
MUTEXES = ["pthread", "mcs", "ba", "bypassed"]

RECIPE = """
schema = 1
name = "{name}"
title = "The test's own program"
source = "tests/harness"
measures = "Acquisitions of one rwlock."
command = ["{{apps}}/rwbench", "{{threads}}", "{{count}}"{extra}]
threads = [1, 2]
fixed_work = true
tags = ["quick"]
timeout = {timeout}
params.default.count = 20000
params.quick.count = 5000
[[metric]]
name = "reads"
role = "reads"
unit = "reads/s"
regex = 'reads/s: ([0-9.]+)'
better = "higher"
[[metric]]
name = "writes"
role = "writes"
unit = "writes/s"
regex = 'writes/s: ([0-9.]+)'
better = "higher"
[[expect]]
match = '^result: ok'
why = "its own check of its result"
[lock_check]
operations = 'operations: ([0-9]+)'
acquisitions_per_operation = 1.0
"""


MUTEX_RECIPE = """
schema = 1
name = "{name}"
title = "The test's own mutexes"
source = "tests/harness"
measures = "Acquisitions of one mutex."
command = ["{{apps}}/mutexbench", "{{threads}}", "{{count}}"]
takes = ["mutex"]
threads = [1, 2]
fixed_work = true
tags = ["quick"]
params.default.count = 20000
[[metric]]
name = "locks"
role = "total"
unit = "locks/s"
regex = 'locks/s: ([0-9.]+)'
better = "higher"
[[expect]]
match = '^result: ok'
why = "its own check of its result"
[lock_check]
operations = 'operations: ([0-9]+)'
mutex_acquisitions_per_operation = 1.0
"""


def stays_after(runs: int, folder: Path) -> str:
    """A preparation for `sh -c`: of the next run after so many of FOLDER/raw.csv, it takes until the harness is
    interrupted; and no time once `goes_on` was called."""
    raw = folder / "raw.csv"
    return f"[ -e {folder}/goes-on ] || [ ! -e {raw} ] || [ $(wc -l <{raw}) -le {runs} ] || exec sleep 600"


def goes_on(folder: Path) -> None:
    (folder / "goes-on").touch()


def compile_c(source: Path, target: Path, *options: str) -> None:
    subprocess.run(["cc", "-O1", "-g0", "-o", target, source, *options], check=True)


class Lockswap:
    """The command, as a user runs it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.env = os.environ | {
            "PYTHONPATH": str(ROOT / "harness"),
            "LOCKSWAP_HOME": str(root),
            "PATH": f"{FAKES}:{os.environ['PATH']}",
            "COLUMNS": "160",
            "TERM": "dumb",
        }

    def command(self, *args: object) -> list[str]:
        return [sys.executable, "-m", "lockswap", *map(str, args)]

    def __call__(self, *args: object, **more) -> subprocess.CompletedProcess:
        more.setdefault("timeout", 600)  # a guard: the machine may be very busy
        more.setdefault("cwd", self.root)
        return command_server.run(*args, env=self.env | more.pop("env", {}), **more)

    def inside(
        self, *args: object, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess:
        """The same within this process: quick, for input that is refused before anything is started."""
        before, folder = dict(os.environ), Path.cwd()
        out, err = io.StringIO(), io.StringIO()
        os.environ |= {"LOCKSWAP_HOME": str(self.root), **(env or {})}
        os.chdir(cwd or self.root)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = main([str(arg) for arg in args])
        finally:
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(before)
        return subprocess.CompletedProcess(args, status, out.getvalue(), err.getvalue())

    def start(self, *args: object) -> subprocess.Popen:
        return subprocess.Popen(
            self.command(*args),
            env=self.env,
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A runner may have been started with Ctrl-C ignored, as a shell's background jobs are.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )


def one_line_error(done: subprocess.CompletedProcess) -> str:
    """Bad input: exit status 2, one line on stderr, nothing on stdout."""
    assert done.returncode == 2, done
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("lockswap: ")
    return lines[0]
