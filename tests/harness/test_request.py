"""What `lockswap compare` was asked for: each option exists once, and its help, the request and --resume follow."""

import dataclasses
import tomllib
from pathlib import Path

import click
import pytest
import tomli_w

from lockswap.campaign.request import Request, with_options
from lockswap.cli import cli
from lockswap.findings.stats import MIN_PAIRS

COMPARE = cli.commands["compare"]


def asked(*args: str) -> Request:
    """As the command line gives it."""

    @click.command(context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
    @with_options
    @click.argument("command", nargs=-1, type=click.UNPROCESSED)
    def command(**given: object) -> Request:
        return Request.from_command_line(given)

    return command.main(list(args), standalone_mode=False)


def test_nothing_said_is_the_same_as_nothing_stored():
    assert asked() == Request() == Request.from_stored({})


EVERY_OPTION = (
    "-w", "a,b", "-w", "c", "-l", "x", "--range", "r", "-m", "m,n", "--cond", "own", "--wait", "spin", "--against", "x",
    "--metric", "([0-9])", "--better", "lower", "--server", "srv -p {port}", "--ready", "8080", "--load", "ld",
    "--stop", "INT", "--prepare", "mk 'a b'", "--prepare", "two", "--cleanup", "rm x", "--ready-timeout", "5",
    "--stop-timeout", "6", "--quick", "-t", "1,2,2", "-r", "3", "-s", "4", "--timeout", "9", "--until", "5%",
    "--budget", "2", "--pin", "compact", "--numactl", "-i all", "--preload", "jemalloc",
    "--preload-first", "libfirst.so", "--seed", "0", "--per-cpu",
    "--fail-below", "0.97", "--name", "n", "--out", "o", "--perf-record", "--pairs", "--markdown", "--warmup", "2",
    "--versus", "old -x", "--peer", "q", "--scan", "A=1,2", "--policy", "p.policy", "--scheduler", "local",
    "--each-machine", "prog", "-x",
)  # fmt: skip


def test_a_quick_campaign_has_the_rounds_that_an_interval_needs():
    assert asked("--quick").rounds == MIN_PAIRS and asked("--quick", "-r", "9").rounds == 9


def test_what_is_stored_asks_for_the_same():
    request = dataclasses.replace(asked(*EVERY_OPTION), figure="f")  # which is the argument of `lockswap paper`
    unsaid = [
        one.name for one in dataclasses.fields(Request) if getattr(request, one.name) == getattr(Request(), one.name)
    ]
    assert not unsaid, "an option that is not in the list above"
    stored = tomllib.loads(tomli_w.dumps(request.stored()))
    assert Request.from_stored(stored) == dataclasses.replace(
        request, name=None, out=None, markdown=False, scheduler=None
    )
    assert request.prepare == [["mk", "a b"], ["two"]] and request.threads == [1, 2] and request.until == 0.05


def test_campaigns_of_today_find_their_keys():
    """The names in campaign.toml: docs/results.md promises that old campaigns go on."""
    names = (
        "workloads locks mutexes conds ranges wait threads repeats seconds timeout pin numactl preload quick seed "
        "command metrics better until budget against fail_below per_cpu server ready ready_timeout load stop "
        "stop_timeout prepare cleanup perf_record pairs warmup versus scan preload_first policies each_machine figure "
        "peers"
    )
    assert set(dataclasses.replace(asked(*EVERY_OPTION), figure="f").stored()) == set(names.split())
    flags = dict.fromkeys(("quick", "per_cpu", "perf_record", "pairs", "each_machine"), False)
    assert asked().stored() == {"better": "higher", **flags}


def test_what_an_older_or_newer_harness_stored_is_no_error():
    assert Request.from_stored({"locks": ["a"], "what_is_this": 1}) == Request(locks=["a"])


WITH_WORDS = ["command", "preload", "preload_first", "server", "load", "versus", "prepare", "cleanup", "policies"]


@pytest.mark.parametrize("name", WITH_WORDS)
def test_the_home_folder_is_not_written_down(name, monkeypatch):
    monkeypatch.setenv("HOME", "/home/somebody")
    word = str(Path("~/bin/x").expanduser())
    request = Request(**{name: [[word]] if name in ("prepare", "cleanup") else [word]})
    assert "somebody" not in str(request.stored())
    assert Request.from_stored(request.stored()) == request


def test_help_has_headings_and_what_the_registry_compares(lockswap):
    text = lockswap.inside("compare", "--help").stdout
    headings = [line for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings == [
        "What to compare:",
        "A command or server of your own:",
        "How often and how long:",
        "How runs are made:",
        "How locks are judged:",
        "What is recorded, and where:",
        "Help:",
    ]
    words = " ".join(text.split())
    assert "are always included. Default: ba, bravo-ba." in words and "nothing is named: ba." in words
    for option in COMPARE.params:
        if isinstance(option, click.Option):
            assert option.opts[0] in text


def test_help_needs_no_build(lockswap, tmp_path):
    lockswap.root = tmp_path
    assert "a selection of what 'lockswap list' shows" in " ".join(lockswap.inside("compare", "--help").stdout.split())
