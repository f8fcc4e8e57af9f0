"""What one run of the program came to, and whether that is a failure."""

import signal
from collections import Counter
from dataclasses import dataclass

from lockswap.run import children, ended
from lockswap.run.children import Child
from lockswap.run.signals import signal_name

# What the runtimes of GCC's and Clang's sanitizers begin a report with.
_REPORTS = (
    "WARNING: ThreadSanitizer",
    "ERROR: AddressSanitizer",
    "ERROR: LeakSanitizer",
    "FATAL: ThreadSanitizer",
    ": runtime error: ",
)


# A program that exits with 128 + one of these has seen another one crash, as shells do.
_CRASHES = tuple(
    128 + number
    for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP)
)
_OF_OTHERS = (ended.TIME_WAS_OVER, 128 + signal.SIGKILL, 128 + signal.SIGTERM)


@dataclass(frozen=True)
class Hang:
    """That a run did not go on, and how that was seen."""

    how: str
    report: str = ""  # of `lockswap why`, without its name


@dataclass(frozen=True)
class Outcome:
    status: int | None  # as subprocess has it, negative after a signal; None: the time was over
    seconds: float
    stdout: bytes
    stderr: bytes
    command: tuple[str, ...] = ()
    hang: Hang | None = None  # how it was seen that it would not end
    crashed: tuple[Child, ...] = ()  # processes of which it saw that

    @property
    def report(self) -> str | None:
        """The first line of a sanitizer's report."""
        lines = self.stderr.decode(errors="replace").splitlines()
        return next((line.strip() for line in lines if any(start in line for start in _REPORTS)), None)

    def in_words(self) -> str:
        if self.status is None:
            return f"hang: {self.hang.how}" if self.hang else f"hang: it had not ended after {self.seconds:.3g} s"
        if self.report is not None:
            return f"sanitizer: {self.report}"
        if self.status < 0:
            return f"crash: {signal_name(-self.status)}"
        if self.status == ended.TIME_WAS_OVER:
            return f"hang: {ended.how(self.status, list(self.command))}"
        if self.status in (*_CRASHES, *_OF_OTHERS):
            return f"crash: {ended.how(self.status, list(self.command))}"
        return f"exit status {self.status}"


def failure(seen: Outcome, undisturbed: Outcome, same_output: bool) -> str | None:
    """In a line, what is wrong with `seen`; None: nothing."""
    if seen.status is None or seen.report is not None or seen.status < 0 or seen.status in _CRASHES:
        return seen.in_words()
    if seen.status != undisturbed.status and seen.status in _OF_OTHERS:
        return seen.in_words()
    if not same_output:
        return None
    if seen.status != undisturbed.status:
        return f"differs: exit status {seen.status}, {undisturbed.status} without delays"
    if seen.stdout != undisturbed.stdout:
        return f"differs: stdout '{_short(seen.stdout)}', without delays '{_short(undisturbed.stdout)}'"
    return None


def passed_over(seen: Outcome, usual: Counter[int]) -> str | None:
    """The same of crashes of child processes; `usual`: the signals of those that a run without delays has, too."""
    if Counter(child.signal for child in seen.crashed) <= usual:
        return None
    return f"crash: {children.in_words(list(seen.crashed))}"


def _short(output: bytes) -> str:
    text = output.decode(errors="replace").strip().replace("\n", "\\n")
    return text if len(text) <= 60 else text[:57] + "..."
