"""What every command has in common: numbers and names that are wrong, files that can't be written, closed pipes."""

import errno
import os
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from harness_support import one_line_error
from lockswap.base import errors
from lockswap.base.errors import UserError
from lockswap.base.files import check_can_be_written
from lockswap.base.text import as_word
from lockswap.fuzz import serial
from lockswap.metrics import folder


@pytest.mark.parametrize("words", [["why"], ["top"], ["off"], ["profile", "--pid"]])
@pytest.mark.parametrize("name", ["redis-server", "0", "4711x"])
def test_a_name_is_no_process(lockswap, words, name):
    said = one_line_error(lockswap.inside(*words, name))
    assert said == f"lockswap: '{name}' is not a process id; `pgrep -a NAME` lists a program's processes"


@pytest.mark.parametrize(("words", "what"), [(["fuzz", "--runs"], "whole number"), (["fuzz", "--timeout"], "number")])
def test_numbers_are_called_numbers(lockswap, words, what):
    assert f"'many' is not a {what};" in one_line_error(lockswap.inside(*words, "many", "--", "true"))


def test_choices_are_a_list_on_one_line(lockswap):
    assert "\t" not in one_line_error(lockswap.inside("completion"))


def test_a_process_of_others_is_told_alike_by_all(monkeypatch):
    said = str(errors.may_not_be_inspected(os.getpid()))
    assert ("root lacks the right" in said) == (os.geteuid() == 0) and " belongs to " in said

    monkeypatch.setattr(folder, "folder_of", lambda _: Refusing())
    with pytest.raises(UserError) as raised:
        folder.mapped_by(os.getpid())
    assert str(raised.value) == said


class Refusing:
    """The folder of a process that may not be inspected."""

    def __truediv__(self, _: str) -> "Refusing":
        return self

    def read_text(self, **_: object) -> str:
        raise PermissionError


@pytest.mark.parametrize(
    "words",
    [
        ["machine", "--out"],
        ["predict", "--validate"],
        ["advise", "-o"],
        ["audit", "--out"],
        ["audit", "--junit"],
    ],
)
def test_where_a_file_cannot_be_written_is_said_before_anything_runs(lockswap, words):
    """They wrote it at their end, some after minutes."""
    command = [] if words[0] in ("machine", "predict") else ["--", "true"]
    said = one_line_error(lockswap.inside(*words, "/no/such/x.toml", *command))
    assert said == f"lockswap: {words[1]} /no/such/x.toml: there is no folder '/no/such'; make it first"


def test_what_may_not_be_written_is_said_before_too(tmp_path, monkeypatch):
    """As in a folder of another user, which stops nobody who is root."""
    check_can_be_written("--out", tmp_path / "new")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "old").touch()

    def refuse(path: Path, *_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(UserError, match=r"--out: cannot write .*/new: Permission denied; choose another folder"):
        check_can_be_written("--out", tmp_path / "new")
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(UserError, match="old: Permission denied"):
        check_can_be_written("--out", tmp_path / "old")


def test_what_the_machine_does_not_allow_is_a_line():
    refused = PermissionError(errno.EACCES, "Permission denied", "/x")
    assert errors.in_a_line(refused) == "/x: Permission denied; change its permissions, or name another file"
    assert "make room there" in errors.in_a_line(OSError(errno.ENOSPC, "No space left on device", "/x"))
    assert errors.in_a_line(FileNotFoundError(errno.ENOENT, "No such file or directory", "/x")) is None
    assert errors.in_a_line(FileNotFoundError(errno.ENOENT, "No such file or directory")) is None


def test_a_current_folder_that_is_gone_is_a_line(lockswap, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    command = shlex.join(lockswap.command("compare", "-l", "ba", "--", "/bin/true"))
    script = f"cd {shlex.quote(str(gone))} && rmdir ../gone && exec {command}"
    done = subprocess.run(["/bin/sh", "-c", script], env=lockswap.env, capture_output=True, text=True)
    assert "the current folder doesn't exist any more" in one_line_error(done)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(UserError, match="it is a folder; name a file in it"):
        check_can_be_written("--out", tmp_path)


@pytest.mark.parametrize("name", ["plain", "a b", "it's", "-x", "a b/$c", 'two "words"', "-a b"])
def test_a_path_in_a_message_is_one_word_of_a_shell(name):
    (word,) = shlex.split(as_word(Path(name)))
    assert not word.startswith("-") and Path(word) == Path(name)
    assert (as_word(name) == name) == (name == "plain")


@pytest.mark.parametrize("words", [["list"], ["list", "--json"], ["--help"], ["run", "--help"]])
def test_a_reader_that_had_enough_ends_the_command_like_a_signal(lockswap, words):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            lockswap.command(*words),
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            env=lockswap.env,
            cwd=lockswap.root,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


def test_what_an_encoding_lacks_is_no_traceback(lockswap):
    """The legend of a picture has signs that Latin-1 lacks."""
    plain = {"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    program = lockswap.root / "build/apps/tiny"
    done = lockswap("compare", "-l", "ba", "-r", "1", "--no-report", "--out", "results/x", "--", program, env=plain)
    assert "Traceback" not in done.stderr and "\\u" in done.stdout


def test_the_help_of_papers_says_where_results_go(lockswap):
    text = " ".join(lockswap.inside("paper", "--help").stdout.split())
    assert "The campaign's folder. Default: results/NAME" in text


def test_resuming_names_what_to_drop(lockswap):
    assert "drop the figure" in one_line_error(lockswap.inside("paper", "bravo-3", "--resume", "x"))


def test_an_empty_name_of_a_file_for_counts(lockswap):
    assert "--stats=: name a file" in one_line_error(lockswap.inside("run", "-l", "ba", "--stats=", "--", "true"))


def test_an_order_without_turns_has_no_count_of_them():
    order = {"steps": [], "by_time": 0, "turns": 0, "schedule": [], "fails_again": 10, "of": 10}
    assert serial.as_text(order)[-1] == "lockswap fuzz: this order fails in 10 of 10 more runs"
