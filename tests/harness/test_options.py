"""Options that several commands have mean the same in each; older spellings still work, and no help shows them."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from lockswap.base.duration import Duration
from lockswap.cli import cli
from lockswap.paper import export


def parsed(command: str, *words: str) -> dict:
    return cli.commands[command].make_context(command, list(words)).params


def commands(group: click.Group = cli) -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {below}", one) for below, one in commands(command))


@pytest.mark.parametrize(
    ("command", "unit", "bare"), [("compare", 1 / 60, 60), ("whatif", 1, 1), ("advise", 1, 1), ("fuzz", 1000, 0.001)]
)
def test_a_budget_has_a_unit_and_a_bare_number_that_of_before(command, unit, bare):
    for text, seconds in (("90s", 90), ("1.5m", 90), ("7", 7 * bare), ("4000ms", 4)):
        words = ["-w", "rw"] if command == "compare" else ["--", "./prog"]
        assert parsed(command, "--budget", text, *words)["budget"] == pytest.approx(seconds * unit)


@pytest.mark.parametrize(("text", "says"), [("soon", "write it like 30s"), ("0", "too short"), ("2h", "too long")])
def test_a_wrong_time_is_an_error(text, says):
    with pytest.raises(click.BadParameter, match=says):
        Duration("s", "1s", "1h").convert(text, None, None)


@pytest.mark.parametrize("command", ["whatif", "advise"])
def test_better_lower_was_lower_is_better(command):
    for words, is_lower in ((), False), (("--better", "lower"), True), (("--lower-is-better",), True):
        assert parsed(command, *words, "--", "./prog")["lower_is_better"] is is_lower


def test_out_of_export_was_to(monkeypatch):
    seen = []
    monkeypatch.setattr(export, "run", lambda paths, campaign, to: seen.append(to) or 0)
    for name in ("--to", "--out", "-o"):
        cli.commands["export"].main(["campaign", name, "kit"], standalone_mode=False)
    assert seen == [Path("kit")] * 3


@pytest.mark.parametrize("name", [name for name, _ in commands()])
def test_help_shows_no_placeholder_and_no_older_spelling(name):
    command = dict(commands())[name]
    text = command.get_help(click.Context(command, info_name=name))
    assert not re.search(r"<(rwlocks|mutexes|folder)>", text)
    assert not re.search(r"--(to|lower-is-better)\b", text)
    if "--out" in text:
        assert "-o, --out" in text
