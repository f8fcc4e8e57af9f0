#!/usr/bin/env python3
"""Programs that have more rights than their user: no variable is read there, and no file written.

    privilege.py LIBRARY REGISTRY FOLDER

Exit status 1 if a test fails; 77 where no program can have more rights.
"""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

from under import Skip, emulated, need, run_tests, run_to_the_end, under_test

under = under_test("LIBRARY REGISTRY FOLDER")
LIBRARIES = ("lockswap", "lockswap-audit", "lockswap-fuzz")
listed = json.loads(subprocess.run(under.registry, check=True, capture_output=True, text=True).stdout)
VARIABLES = [one["name"] for one in listed["config"]]


def other_group() -> int:
    """One that this user may give a file to, and that a process doesn't have by itself."""
    mine = [group for group in os.getgroups() if group != os.getegid()]
    if os.geteuid() == 0:
        return 65534
    if not mine:
        raise Skip("this user is in one group alone, so no program can be made setgid")
    return mine[0]


def run(library: str, secure: bool, place: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs the program that is linked to a library in `place`, with the rights of another group if `secure`."""
    if emulated.EMULATOR:
        raise Skip("the emulator is not setgid")
    program = place / "program"
    shutil.copy(under.folder / f"privileged_{library}", program)
    if secure:
        os.chown(program, -1, other_group())
        program.chmod(0o755 | stat.S_ISGID)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_") and k != "LD_PRELOAD"}
    done = run_to_the_end([program], f"{library} {variables}", env=environment | variables, cwd=place)
    program.unlink()
    if secure and done.returncode == 0 and done.stdout == "0\n":
        raise Skip("setgid has no effect here (a mount with nosuid, or no_new_privs)")
    return done


def need_untouched(done: subprocess.CompletedProcess[str], place: Path, what: str) -> None:
    good = done.returncode == 0 and done.stdout == "1\n" and done.stderr == ""
    need(good, f"{what}: status {done.returncode}, {done.stdout!r}, {done.stderr!r}")
    need(not any(place.iterdir()), f"{what}: wrote {[file.name for file in place.iterdir()]}")


def test_each_variable_is_ignored() -> None:
    """A value that no variable takes stops any other program."""
    for variable in [*VARIABLES, "LOCKSWAP_NO_SUCH_VARIABLE"]:
        for library in LIBRARIES:
            with tempfile.TemporaryDirectory() as name:
                done = run(library, True, Path(name), **{variable: "no,value"})
                need_untouched(done, Path(name), f"{library}, {variable}")


def test_otherwise_they_are_read() -> None:
    with tempfile.TemporaryDirectory() as name:
        done = run("lockswap", False, Path(name), LOCKSWAP_RWLOCK="none")
        need(done.returncode == 2 and "LOCKSWAP_RWLOCK=none" in done.stderr, done.stderr)
        done = run("lockswap-fuzz", False, Path(name), LOCKSWAP_FUZZ="none")
        need(done.returncode == 2 and "LOCKSWAP_FUZZ" in done.stderr, done.stderr)


def files(place: Path) -> dict[str, tuple[str, str]]:
    """For each variable that names a file, a library that writes it and a value."""
    return {
        "LOCKSWAP_STATS": ("lockswap", f"{place}/out"),
        "LOCKSWAP_PROFILE": ("lockswap", str(place)),
        "LOCKSWAP_METRICS": ("lockswap", str(place)),
        "LOCKSWAP_AUDIT": ("lockswap-audit", f"{place}/out"),
        "LOCKSWAP_FUZZ": ("lockswap-fuzz", f"7,trace={place}/out"),
    }


def test_no_file_is_written() -> None:
    with tempfile.TemporaryDirectory() as name:
        for variable, (library, value) in files(Path(name)).items():
            done = run(library, True, Path(name), **{variable: value})
            need_untouched(done, Path(name), variable)


def test_otherwise_a_file_is_written() -> None:
    with tempfile.TemporaryDirectory() as name:
        for variable, (library, value) in files(Path(name)).items():
            done = run(library, False, Path(name), **{variable: value})
            need(done.returncode == 0, f"{variable}: {done.stderr}")
            written = list(Path(name).iterdir())
            need(len(written) == 1, f"{variable}: {len(written)} files")
            written[0].unlink()


def test_glibcs_locks_run() -> None:
    """Nothing that the user chooses says anything either."""
    lock, mutex = under.plain, under.mutex.removeprefix("mutex:")
    with tempfile.TemporaryDirectory() as name:
        chosen = {"LOCKSWAP_RWLOCK": lock, "LOCKSWAP_MUTEX": mutex, "LOCKSWAP_VERBOSE": "1"}
        need_untouched(run("lockswap", True, Path(name), **chosen), Path(name), "LOCKSWAP_VERBOSE")
        need(lock in run("lockswap", False, Path(name), **chosen).stderr, "LOCKSWAP_VERBOSE says nothing")


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
