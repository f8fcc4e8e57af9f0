"""bpftrace, as tests use it: whether it may look, when it does, and how it is ended."""

import re
import shutil
import signal
import subprocess
import time
from functools import cache
from pathlib import Path


@cache
def why_no_tracer(library: Path) -> str:
    """Empty: the kernel lets bpftrace look."""
    if shutil.which("bpftrace") is None:
        return "no bpftrace"
    done = subprocess.run(
        ["bpftrace", "-e", f"uprobe:{library}:pthread_mutex_lock {{}} BEGIN {{ exit(); }}"],
        capture_output=True,
        text=True,
        timeout=600,
    )
    return "" if done.returncode == 0 else f"bpftrace may not look here: {done.stderr.strip().splitlines()[-1:]}"


def attached(tracer: subprocess.Popen, said: Path) -> bool:
    """Each place that it looks at is an open event of the tracer's. bpftrace 0.17 also has one for each processor, by
    which the kernel hands it what the probes say; these are mapped into its memory. 0.23 has none of them."""
    wanted = re.search(r"Attaching (\d+) probes?", said.read_text())
    if wanted is None:
        return False
    begin_and_end = 0 if "-e" in tracer.args else 2  # the scripts have them, what is given with -e doesn't
    own = Path(f"/proc/{tracer.pid}")
    events = sum("perf_event" in target_of(file) for file in (own / "fd").iterdir())
    mapped = (own / "maps").read_text().count("perf_event")
    return events - mapped >= int(wanted[1]) - begin_and_end


def target_of(file: Path) -> str:
    try:
        return str(file.readlink())
    except FileNotFoundError:  # closed meanwhile
        return ""


def end_tracer(tracer: subprocess.Popen) -> None:
    """bpftrace prints its maps and ends, but a signal that reaches it before it waits for events is lost on it."""
    for _ in range(24):
        if catches_interrupts(tracer.pid):
            tracer.send_signal(signal.SIGINT)
        try:
            tracer.wait(timeout=5)
            return
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError("bpftrace doesn't end")


def catches_interrupts(pid: int) -> bool:
    """Once it has taken one it takes the default action for the next, which would lose what it has to say."""
    caught = re.search(r"^SigCgt:\s+(\w+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return caught is not None and bool(int(caught[1], 16) >> (signal.SIGINT - 1) & 1)


def wait_until_attached(tracer: subprocess.Popen, said: Path) -> None:
    end = time.monotonic() + 120
    while not attached(tracer, said):
        assert tracer.poll() is None, said.read_text()
        assert time.monotonic() < end, said.read_text()
        time.sleep(0.1)
