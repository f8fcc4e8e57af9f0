"""Placeholders in a user's command: which are ours, which are refused, and which braces are the command's."""

import pytest

from harness_support import one_line_error
from lockswap.base.errors import UserError
from lockswap.campaign.user_command import _lenient, _uses
from lockswap.recipes.recipe import fill

VALUES = {"threads": 4, "seconds": 2, "tmp": "/tmp/x", "port": 81}


@pytest.mark.parametrize(
    ("word", "becomes"),
    [
        ("{threads}", "4"),
        ("-t{threads}:{port}", "-t4:81"),
        ("{}", "{}"),
        ("{1,2}", "{1,2}"),
        ("x{2,3}y}", "x{2,3}y}"),
        ('{"key": {"a": 1}}', '{"key": {"a": 1}}'),
        ("{{.Id}}", "{{.Id}}"),
        ("{{print}}", "{print}"),
        ("{{threads}}", "{threads}"),
        ("echo {x} ${HOME} {threads}", "echo {x} ${HOME} 4"),
        ("$HOME/${USER}", "$HOME/${USER}"),
        ("awk '{print}' {tmp}/a", "awk '{print}' /tmp/x/a"),
    ],
)
def test_what_a_word_becomes(word, becomes):
    assert fill(_lenient(word), VALUES) == becomes


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("{thread}", "there is no placeholder {thread}; did you mean {threads}?"),
        ("--threads={Threads}", "did you mean {threads}?"),
        ("{sec}", "did you mean {seconds}?"),
        ("./prog {thread} | sort", "did you mean {threads}?"),
        ("{temp}/file", "did you mean {tmp}?"),
        ("{size}", "{threads}, {seconds}, {tmp} and {port} exist, and {{size}} is passed on as {size}"),
    ],
)
def test_what_is_nearly_a_placeholder_is_refused(word, says):
    with pytest.raises(UserError) as refused:
        _lenient(word)
    assert says in str(refused.value)


def test_a_doubled_brace_is_not_a_use():
    assert _uses(["-t", "{threads}"], "threads") and not _uses(["{{threads}}"], "threads")


@pytest.mark.parametrize(
    "args",
    [
        ["--", "true", "{thread}"],
        ["--prepare", "true {thread}", "--", "true"],
        ["--cleanup", "true {thread}", "--", "true"],
        ["--server", "true {thread}", "--ready", "x", "--load", "true"],
        ["--server", "true {port}", "--load", "true {thread}"],
    ],
)
def test_every_command_is_looked_at(lockswap, repo, args):
    assert "did you mean {threads}?" in one_line_error(lockswap.inside("compare", "--out", "c", *args))
    assert not (repo / "c").exists()
