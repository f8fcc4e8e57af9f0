#!/usr/bin/env python3
"""Files that the library writes, where others may write too, and where there is no room.

    files.py LIBRARY REGISTRY FOLDER

Exit status 1 if a test fails.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import termios
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from under import Skip, emulated, finish, need, run_tests, under_test

under = under_test("LIBRARY REGISTRY FOLDER")
SECRET, OLD = "not yours\n", "old\n" * 10_000
NOBODY = 65534
LIBC = ctypes.CDLL(None, use_errno=True)
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1


@dataclass(frozen=True)
class Writer:
    """What makes a library write a file, where the program's number is known before it starts."""

    name: str
    library: str
    variable: str
    value: str  # after the folder
    file: str
    message: str  # where it cannot
    ends: bool = False  # whether the program doesn't run then
    again: bool = False  # whether it writes to a file of its own that is there


WRITERS = [
    Writer("statistics", "liblockswap.so", "LOCKSWAP_STATS", "/out", "out.PID", "cannot write LOCKSWAP_ST", again=True),
    Writer("a profile", "liblockswap.so", "LOCKSWAP_PROFILE", "", "PID.0.lockprof", "no file can be made in"),
    Writer("a record", "liblockswap.so", "LOCKSWAP_RECORD", "", "PID.0.lockcalls", "no file can be made in"),
    Writer("metrics", "liblockswap.so", "LOCKSWAP_METRICS", "", "PID.0.lockmetrics", "no file can be made in"),
    Writer("an audit", "liblockswap-audit.so", "LOCKSWAP_AUDIT", "/out", "out.PID.0", "nothing is recorded"),
    Writer(
        "a trace", "liblockswap-fuzz.so", "LOCKSWAP_FUZZ", "/trace", "trace", "a file that can be written",
        ends=True, again=True,
    ),
]  # fmt: skip


@dataclass(frozen=True)
class Ran:
    status: int
    stderr: str
    file: Path


@contextlib.contextmanager
def folder(root: Path | None = None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=root) as name:
        place = Path(name)
        place.chmod(0o777)  # as /tmp
        yield place


def nothing(file: Path) -> None:
    pass


def run(writer: Writer, place: Path, before: Callable[[Path], None] = nothing) -> Ran:
    """Runs a program that takes locks, after `before`, which is given the file that the library is going to write."""
    program, library = under.folder / "known_mutexes", under.library.parent / writer.library
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    value = f"{place}{writer.value}"
    environment[writer.variable] = f"7,trace={value}" if writer.variable == "LOCKSWAP_FUZZ" else value
    if writer.variable == "LOCKSWAP_STATS":
        environment["LOCKSWAP_MUTEX"] = under.mutex.removeprefix("mutex:")

    def in_child() -> None:
        os.umask(0)
        before(place / writer.file.replace("PID", str(os.getpid())))

    process = subprocess.Popen(
        emulated.command(program), env=environment | {"LD_PRELOAD": str(library)}, preexec_fn=in_child, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        said, complaint = finish(process, f"known_mutexes for {writer.name}")
    finally:
        process.kill()  # if it hangs
    if not (writer.ends and process.returncode == 2):
        need(process.returncode == 0 and said == "done\n", f"{writer.name}: status {process.returncode}, {complaint!r}")
    return Ran(process.returncode, complaint, place / writer.file.replace("PID", str(process.pid)))


def need_refused(writer: Writer, ran: Ran) -> None:
    need(writer.message in ran.stderr, f"{writer.name}: {ran.stderr!r}")
    need(ran.status == (2 if writer.ends else 0), f"{writer.name}: status {ran.status}")


def need_good(writer: Writer, file: Path) -> None:
    if writer.name == "statistics":
        need(json.loads(file.read_text())["mutexes"]["calls"] > 1000, "statistics: too few calls")
    else:
        need(file.stat().st_size > 100, f"{writer.name}: {file.stat().st_size} bytes")


def numbered(file: Path) -> Path:
    """What a recording is called if there is a file of its name."""
    return file.with_name(file.name.replace(".0", ".1"))


def test_files_are_readable_for_their_user_alone() -> None:
    for writer in WRITERS:
        with folder() as place:
            ran = run(writer, place)
            mode = stat.S_IMODE(ran.file.stat().st_mode)
            need(mode == 0o600, f"{writer.name}: mode {mode:o}")
            need_good(writer, ran.file)


def need_left_alone(plant: Callable[[Path, Path], None]) -> None:
    """What stands in the way is neither written to nor removed. Recordings take the next number."""
    for writer in WRITERS:
        with folder() as place, folder() as elsewhere:
            secret = elsewhere / "secret"
            secret.write_text(SECRET)
            ran = run(writer, place, lambda file, secret=secret: plant(file, secret))
            need(secret.read_text() == SECRET, f"{writer.name}: wrote to what was planted")
            need(os.path.lexists(ran.file), f"{writer.name}: removed what was planted")
            if numbered(ran.file) != ran.file:
                need_good(writer, numbered(ran.file))
            else:
                need_refused(writer, ran)


def test_a_planted_symbolic_link() -> None:
    need_left_alone(lambda file, secret: file.symlink_to(secret))


def test_a_symbolic_link_to_nothing() -> None:
    for writer in WRITERS:
        with folder() as place, folder() as elsewhere:
            run(writer, place, lambda file, elsewhere=elsewhere: file.symlink_to(elsewhere / "new"))
            need(not any(elsewhere.iterdir()), f"{writer.name}: made a file elsewhere")


def test_a_planted_hard_link() -> None:
    need_left_alone(lambda file, secret: file.hardlink_to(secret))


def test_a_planted_pipe() -> None:
    """Whose reader would stop the program, or learn what is in there."""
    need_left_alone(lambda file, secret: os.mkfifo(file))


def test_a_planted_folder() -> None:
    need_left_alone(lambda file, secret: file.mkdir())


def test_another_users_file() -> None:
    if os.geteuid() != 0 or emulated.EMULATOR:
        raise Skip("only root can make a file of another user")

    def plant(file: Path, secret: Path) -> None:
        file.write_text(SECRET)
        os.chown(file, NOBODY, NOBODY)

    need_left_alone(plant)
    for writer in WRITERS:
        with folder() as place:
            ran = run(writer, place, lambda file: plant(file, file))
            need(ran.file.read_text() == SECRET, f"{writer.name}: changed another user's file")


def write_old(file: Path) -> None:
    file.write_text(OLD)


def test_a_file_of_ones_own() -> None:
    """Statistics replace those of an earlier process of this number, a trace goes on."""
    for writer in WRITERS:
        with folder() as place:
            ran = run(writer, place, write_old)
            text = ran.file.read_bytes().decode(errors="replace")
            if not writer.again:
                need(text == OLD, f"{writer.name}: changed an older file")
                need_good(writer, numbered(ran.file))
            elif writer.name == "a trace":
                need(text.startswith(OLD) and len(text) > 41_000, "a trace doesn't go on")
            else:
                need_good(writer, ran.file)


def write_only_what_is_allowed(file: Path) -> None:
    """Modes hold for root too, in the program that is started next. Another user might not read the build."""
    if os.access(file.parent, os.W_OK) and LIBC.prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "CAP_DAC_OVERRIDE can't be dropped")


def test_a_folder_that_may_not_be_written() -> None:
    for writer in WRITERS:
        with folder() as place:
            place.chmod(0o555)
            need_refused(writer, run(writer, place, write_only_what_is_allowed))
            place.chmod(0o755)
            need(not any(place.iterdir()), f"{writer.name}: left something")


def test_a_folder_that_is_not_there() -> None:
    for writer in WRITERS:
        with folder() as place:
            need_refused(writer, run(writer, place / "none"))


def need_survives(writer: Writer, ran: Ran) -> None:
    """Without room the program runs as ever; the library says so, and leaves no half of a report."""
    if writer.name == "a trace":
        need("the trace is incomplete" in ran.stderr, f"{writer.name}: {ran.stderr!r}")
        need(ran.stderr.count("\n") == 1, f"{writer.name}: {ran.stderr!r}")
    else:
        need_refused(writer, ran)
        need(not ran.file.exists(), f"{writer.name}: left a file")


def test_a_limit_of_files() -> None:
    """The signal by which a file at its limit ends programs is as the program left it."""

    def limit(file: Path, action: signal.Handlers) -> None:
        signal.signal(signal.SIGXFSZ, action)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))

    for action in (signal.SIG_IGN, signal.SIG_DFL):
        for writer in WRITERS:
            with folder() as place:
                need_survives(writer, run(writer, place, lambda file, action=action: limit(file, action)))


def test_messages_that_nobody_reads() -> None:
    """The other end of stderr is closed, as after `|& head`."""

    def close_the_other_end(file: Path) -> None:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        read, write = os.pipe()
        os.close(read)
        os.dup2(write, 2)

    for writer in WRITERS:
        with folder() as place:
            run(writer, place / "none", close_the_other_end)


def test_messages_from_the_background() -> None:
    """Nor is a program stopped that doesn't write to the terminal itself (`stty tostop`)."""
    if emulated.EMULATOR:
        raise Skip("the emulator's process group would be the program's")

    def in_the_background(file: Path) -> None:
        os.setsid()
        master, terminal = os.openpty()
        os.set_inheritable(master, True)
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
        modes = termios.tcgetattr(terminal)
        modes[3] |= termios.TOSTOP
        termios.tcsetattr(terminal, termios.TCSANOW, modes)
        os.dup2(terminal, 2)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        if (child := os.fork()) != 0:
            _, status = os.waitpid(child, os.WUNTRACED)
            if os.WIFSTOPPED(status):
                os.kill(child, signal.SIGKILL)
            os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 255)
        os.setpgid(0, 0)

    for writer in WRITERS:
        with folder() as place:
            run(writer, place / "none", in_the_background)


def test_a_full_disk() -> None:
    """Each in a mount namespace of its own, so that nothing stays mounted."""
    unshare = shutil.which("unshare")
    namespace = [unshare, "--mount"] if os.geteuid() == 0 else [unshare, "--map-root-user", "--mount"]
    with folder() as place:
        mount = ["sh", "-c", 'mount -t tmpfs -o size=64k none "$0" && exec "$@"', str(place)]
        if unshare is None or subprocess.run([*namespace, *mount, "true"], capture_output=True).returncode != 0:
            raise Skip("nothing can be mounted here")
        inside = subprocess.run(
            [*namespace, *mount, sys.executable, __file__, *sys.argv[1:4], f"full={place}"],
            capture_output=True, text=True,
        )  # fmt: skip
        need(inside.returncode == 0, inside.stdout + inside.stderr)


def on_the_full_disk(place: Path) -> None:
    for writer in WRITERS:
        filler = place / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass
        need_survives(writer, run(writer, place))
        for left in place.iterdir():
            left.unlink()


if __name__ == "__main__":
    if sys.argv[-1].startswith("full="):
        on_the_full_disk(Path(sys.argv[-1].removeprefix("full=")))
        sys.exit(0)
    sys.exit(run_tests(globals()))
