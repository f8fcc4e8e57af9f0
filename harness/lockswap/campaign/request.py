"""What the user asked `lockswap compare` for. Each option is written once, here: the command line, its help, the
request and what --resume reads from the campaign's folder all follow from the fields of Request."""

# ruff: noqa: RUF009 (the functions that make fields call dataclasses.field)

import shlex
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

import click

from lockswap.base.duration import Duration
from lockswap.base.errors import UserError
from lockswap.campaign.headings import HeadedOption
from lockswap.records.scrub import scrub

COMPARE = "What to compare"
OWN_COMMAND = "A command or server of your own"
LENGTH = "How often and how long"
RUNS = "How runs are made"
VERDICTS = "How locks are judged"
RECORDS = "What is recorded, and where"

# In help texts, for what the registry and the installation say; see HeadedCommand.
DEFAULT_RWLOCKS, DEFAULT_MUTEXES, DEFAULT_FOLDER = "<rwlocks>", "<mutexes>", "<folder>"
PRELOAD_HELP = "Also preload this library, after ours: 'jemalloc', 'tcmalloc', or a path."
PRELOAD_FIRST_HELP = "Preload this library before ours: for one that replaces clocks or locks, such as libfaketime."

QUICK_ROUNDS = 6  # MIN_PAIRS of findings/stats.py, which is slow to load

_POSITIVE = click.FloatRange(min=0, min_open=True)
_AT_LEAST_1 = click.IntRange(min=1)

# From what click gives for an option to the field's value; the option's name is for complaints.
Reader = Callable[[Any, str], Any]


def _as_it_is(value: Any, _: str) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _names(values: tuple[str, ...], _: str) -> list[str]:
    """Names given as `--x a,b` or `--x a --x b`."""
    return [name for value in values for name in (part.strip() for part in value.split(",")) if name]


def _share(text: str, option: str) -> float:
    """'5%' and '0.05' are the same."""
    try:
        value = float(text.rstrip("% ")) / 100 if text.rstrip().endswith("%") else float(text)
    except ValueError:
        value = 0.0
    if not 0.001 <= value <= 1:
        raise UserError(f"{option}: '{text}' is not a share from 0.1% to 100%; write it like 5%")
    return value


def _words(text: str, option: str) -> list[str]:
    """A command that was given as one argument; no shell looks at it."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UserError(f"{option} '{text}': {error}") from None
    if not words:
        raise UserError(f"{option}: it is empty; give a command")
    return words


def _commands(texts: tuple[str, ...], option: str) -> list[list[str]]:
    return [_words(text, option) for text in texts]


def _counts(text: str, option: str) -> list[int]:
    try:
        counts = [int(part) for part in text.split(",")]
    except ValueError:
        raise UserError(f"{option}: '{text}' is not a list of numbers; write it like 1,2,4,8") from None
    if min(counts) < 1:
        raise UserError(f"{option}: every count must be 1 or more")
    return list(dict.fromkeys(counts))


def _field(unsaid: Any, **metadata: Any) -> Any:
    """A field; `unsaid` is its value where the user says nothing."""
    if isinstance(unsaid, list):
        return field(default_factory=list, metadata=metadata)
    return field(default=unsaid, metadata=metadata)


def _option(
    heading: str,
    *names: str,
    unsaid: Any = None,
    read: Reader = _as_it_is,
    stored: bool = True,
    has_words: bool = False,
    **settings: Any,
) -> Any:
    """A field that is an option of the command line.

    `stored`: --resume finds it in the campaign's folder. `has_words`: it has words of commands or paths, in which the
    user's home folder is not written down. `settings` are click's.
    """
    shape = {"names": names, "heading": heading, "settings": settings}
    return _field(unsaid, option=shape, read=read, stored=stored, has_words=has_words)


def _list(heading: str, *names: str, read: Reader = _as_it_is, **settings: Any) -> Any:
    return _option(heading, *names, unsaid=[], read=read, multiple=True, **settings)


def _flag(heading: str, name: str, **settings: Any) -> Any:
    return _option(heading, name, unsaid=False, is_flag=True, **settings)


@dataclass(frozen=True)
class Request:
    """What the user said, and what stands for it where the user said nothing."""

    workloads: list[str] = _list(
        COMPARE, "--workload", "-w", read=_names, metavar="NAME",
        help="Built-in workloads, comma-separated or repeated. 'all' leaves out those that must be named explicitly.",
    )  # fmt: skip
    locks: list[str] = _list(
        COMPARE, "--rwlock", "-l", read=_names, metavar="LOCK",
        help="Reader-writer locks, comma-separated or repeated. none (without lockswap) and pthread "
        "(lockswap with glibc's lock) are always included. "
        f"Default: {DEFAULT_RWLOCKS}.",
    )  # fmt: skip
    ranges: list[str] = _list(
        COMPARE, "--range", read=_names, metavar="LOCK",
        help="Range locks for programs that call them, comma-separated or repeated. --against takes range:LOCK.",
    )  # fmt: skip
    mutexes: list[str] = _list(
        COMPARE, "--mutex", "-m", read=_names, metavar="MUTEX",
        help="Mutexes, comma-separated or repeated. With --rwlock, each is measured on its own. Default, if a workload "
        f"takes mutexes and nothing is named: {DEFAULT_MUTEXES}.",
    )  # fmt: skip
    conds: list[str] = _list(
        COMPARE, "--cond", read=_names, metavar="own",
        help="Also measure our condition variables with glibc's mutexes.",
    )  # fmt: skip
    policies: list[str] = _list(
        COMPARE, "--policy", has_words=True, metavar="FILE",
        help="Measure a policy: a file, or the name of one that comes with lockswap, such as libcrypto. Repeatable.",
    )  # fmt: skip
    peers: list[str] = _list(
        COMPARE, "--peer", read=_names, metavar="NAME",
        help="In workloads that are built with the locks of other libraries (peers), compare only NAME. Default: all.",
    )  # fmt: skip
    pairs: bool = _flag(COMPARE, "--pairs", help="Also measure each --rwlock together with each --mutex.")
    wait: str | None = _option(
        COMPARE, "--wait", metavar="HOW", help="How threads wait: spin, yield or park.  [default: park]"
    )
    against: str | None = _option(
        COMPARE, "--against", metavar="CHOICE",
        help="The baseline of the ratios: LOCK, mutex:MUTEX or LOCK+mutex:MUTEX. Default: pthread, glibc's own lock "
        "with lockswap loaded.",
    )  # fmt: skip

    scan: list[str] = _list(
        COMPARE, "--scan", metavar="NAME=V,V...",
        help="Measure with each value of an environment variable of the library (LOCKSWAP_SPIN=0,50,500) or of the "
        "program. Repeatable.",
    )  # fmt: skip

    figure: str | None = _field(None, read=_as_it_is, stored=True, has_words=False)  # of `lockswap paper`
    command: list[str] = _field([], read=_as_it_is, stored=True, has_words=True)
    metrics: list[str] = _list(
        OWN_COMMAND, "--metric", metavar="REGEX",
        help="Judge a run by the number in its output that the parentheses in REGEX capture (the last match counts). "
        "Repeatable. Default: its time.",
    )  # fmt: skip
    better: str = _option(
        OWN_COMMAND, "--better", unsaid="higher", type=click.Choice(["higher", "lower"]), default="higher",
        show_default=True, help="Whether a higher or a lower --metric is better.",
    )  # fmt: skip
    versus: list[str] = _option(
        OWN_COMMAND, "--versus", unsaid=[], read=_words, has_words=True, metavar="'CMD'",
        help="Also run CMD, and compare the two commands, with each named --rwlock and --mutex.",
    )  # fmt: skip
    server: list[str] = _option(
        OWN_COMMAND, "--server", unsaid=[], read=_words, has_words=True, metavar="'CMD'",
        help="Compare a server, started before each run of --load. {port} is a free port, {threads} a thread count.",
    )  # fmt: skip
    ready: str | None = _option(
        OWN_COMMAND, "--ready", metavar="REGEX|PORT",
        help="The server is ready when it prints REGEX, or listens on PORT (such as {port}, 8080 or udp:{port}). "
        "Default: {port}.",
    )  # fmt: skip
    load: list[str] = _option(
        OWN_COMMAND, "--load", unsaid=[], read=_words, has_words=True, metavar="'CMD'",
        help="Run CMD to send requests to the server, and wait for it to exit; --metric reads its output.",
    )  # fmt: skip
    stop: str | None = _option(
        OWN_COMMAND, "--stop", metavar="SIGNAL", help="Stop the server with SIGNAL. Default: TERM."
    )
    prepare: list[list[str]] = _list(
        OWN_COMMAND, "--prepare", read=_commands, has_words=True, metavar="'CMD'",
        help="Run CMD before each run, on glibc's locks. Repeatable.",
    )  # fmt: skip
    cleanup: list[list[str]] = _list(
        OWN_COMMAND, "--cleanup", read=_commands, has_words=True, metavar="'CMD'",
        help="Run CMD after each run, however it ended. Repeatable.",
    )  # fmt: skip
    ready_timeout: float | None = _option(
        OWN_COMMAND, "--ready-timeout", type=_POSITIVE, metavar="S",
        help="A server that is not ready after S seconds counts as hung.  [default: 30]",
    )  # fmt: skip
    stop_timeout: float | None = _option(
        OWN_COMMAND, "--stop-timeout", type=_POSITIVE, metavar="S",
        help="A server that has not stopped after S seconds is killed and counts as hung.  [default: 10]",
    )  # fmt: skip

    quick: bool = _flag(
        LENGTH,
        "--quick",
        help="Measure less: only quick workloads with one thread count (for a figure: fewer points), shorter runs and "
        f"{QUICK_ROUNDS} rounds.",
    )
    threads: list[int] | None = _option(
        LENGTH, "--threads", "-t", read=_counts, metavar="N,N...", help="Thread counts. Default: the workload's own."
    )
    repeats: int | None = _option(
        LENGTH, "--repeats", "-r", type=_AT_LEAST_1, metavar="N",
        help="Number of rounds, or the minimum with --until. A 95 % interval needs 6. Default: 7.",
    )  # fmt: skip
    warmup: int | None = _option(
        LENGTH, "--warmup", type=_AT_LEAST_1, metavar="N",
        help="First make N runs per workload and thread count without lockswap, and discard their results.",
    )  # fmt: skip
    seconds: int | None = _option(
        LENGTH, "--seconds", "-s", type=_AT_LEAST_1, metavar="S",
        help="Length of each run. Default: the workload's own.",
    )  # fmt: skip
    timeout: float | None = _option(
        LENGTH, "--timeout", type=_POSITIVE, metavar="S", help="After S seconds a run counts as hung."
    )
    until: float | None = _option(
        LENGTH, "--until", read=_share, metavar="SHARE",
        help="Keep running until every 95 % interval of a rate or time is within SHARE (such as 5%) of its estimate.",
    )  # fmt: skip
    budget: float | None = _option(
        LENGTH, "--budget", type=Duration("m"), metavar="TIME",
        help="Start no new round after TIME (such as 30m) of measuring. Default: 30m with --until, else no limit.",
    )  # fmt: skip

    pin: str | None = _option(
        RUNS, "--pin", type=click.Choice(["compact", "scatter"]),
        help="Confine each run to as many CPUs as it has threads, close together or far apart.",
    )  # fmt: skip
    numactl: str = _option(
        RUNS, "--numactl", unsaid="", metavar="'ARGS'", help="Start each run through numactl with these arguments."
    )
    preload: list[str] = _list(
        RUNS,
        "--preload",
        has_words=True,
        metavar="LIB",
        help=f"{PRELOAD_HELP} Also applies to the runs without lockswap. Repeatable.",
    )
    preload_first: list[str] = _list(
        RUNS, "--preload-first", has_words=True, metavar="LIB",
        help=f"{PRELOAD_FIRST_HELP} Also applies to the runs without lockswap. Repeatable.",
    )  # fmt: skip
    scheduler: str | None = _option(
        RUNS, "--scheduler", stored=False, metavar="ADDRESS",
        help="Measure on a Dask cluster, each workload on one of its machines. ADDRESS is the scheduler's, such as "
        "tcp://host:8786, or 'local' for a single worker on this machine.",
    )  # fmt: skip
    each_machine: bool = _flag(
        RUNS, "--each-machine", help="With --scheduler: measure every workload on every machine."
    )
    seed: int | None = _option(
        RUNS, "--seed", type=click.IntRange(min=0), metavar="N",
        help="Seed for the order of the locks in each round. Default: a random one, which is recorded.",
    )  # fmt: skip

    per_cpu: bool = _flag(
        VERDICTS, "--per-cpu",
        help="Judge by operations per CPU second instead of by the clock, for machines shared with others.",
    )  # fmt: skip
    fail_below: float | None = _option(
        VERDICTS, "--fail-below", type=_POSITIVE, metavar="RATIO",
        help="A gate for CI: exit with 3 if a lock is shown to be worse than RATIO of the baseline (such as 0.97), and "
        "with 4 if one could not be measured. Also writes gate.xml (JUnit).",
    )  # fmt: skip

    name: str | None = _option(
        RECORDS, "--name", stored=False, metavar="CAMPAIGN", help="The campaign's name. Default: date and time."
    )
    out: Path | None = _option(
        RECORDS, "--out", "-o", stored=False, type=click.Path(path_type=Path), metavar="DIR",
        help=f"The campaign's folder. Default: {DEFAULT_FOLDER}.",
    )  # fmt: skip
    markdown: bool = _option(
        RECORDS, "--markdown", unsaid=False, stored=False, is_flag=True,
        help="Print the tables and conclusions as Markdown.",
    )  # fmt: skip
    perf_record: bool = _flag(
        RECORDS, "--perf-record",
        help="After the measured runs, run each lock once more under perf, for futex calls and off-CPU time.",
    )  # fmt: skip

    @property
    def rounds(self) -> int:
        return self.repeats or (QUICK_ROUNDS if self.quick else 7)

    @classmethod
    def from_command_line(cls, given: Mapping[str, Any]) -> Self:
        """From what click gives for each field, by its name."""
        given = dict.fromkeys(one.name for one in fields(cls)) | given
        # `-- CMD... --metric REGEX` is understood as well, unless --metric was given before the command.
        if (given["command"] or ())[-2:-1] == ("--metric",) and not given["metrics"]:
            given |= {"metrics": given["command"][-1:], "command": given["command"][:-2]}
        said = [one for one in fields(cls) if given[one.name] is not None]
        return cls(**{one.name: one.metadata["read"](given[one.name], _first_name(one)) for one in said})

    def stored(self) -> dict[str, Any]:
        """For campaign.toml, so that --resume asks for the same."""
        found = {one.name: _changed(one, scrub, getattr(self, one.name)) for one in fields(self) if _is_stored(one)}
        return {name: value for name, value in found.items() if value not in (None, [], "")}

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> Self:
        known = [one for one in fields(cls) if one.name in stored]
        return cls(**{one.name: _changed(one, _at_home, stored[one.name]) for one in known})


def with_options(function: Callable) -> Callable:
    """Decorate a command's function with the options of Request."""
    return with_some_options(*(one.name for one in fields(Request)))(function)


def with_some_options(*names: str) -> Callable[[Callable], Callable]:
    """The same with those of these fields."""

    def decorated(function: Callable) -> Callable:
        for one in reversed(fields(Request)):
            if one.name in names and (shape := one.metadata.get("option")):
                add = click.option(
                    *shape["names"], one.name, cls=HeadedOption, heading=shape["heading"], **shape["settings"]
                )
                function = add(function)
        return function

    return decorated


def _first_name(one: Field) -> str:
    option = one.metadata.get("option")
    return option["names"][0] if option else one.name


def _is_stored(one: Field) -> bool:
    return one.metadata["stored"]


def _changed(one: Field, change: Callable[[str], str], value: Any) -> Any:
    """The value with each of its words changed, if it is a field with words."""
    return _each_word(change, value) if one.metadata["has_words"] else value


def _each_word(change: Callable[[str], str], words: list) -> list:
    return [change(word) if isinstance(word, str) else _each_word(change, word) for word in words]


def _at_home(word: str) -> str:
    return str(Path(word).expanduser()) if word.startswith("~") else word
