"""Which programs a command leads to, as far as its words show, and what the loader will say of each."""

import itertools
import mmap
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from lockswap.run import executable

# They become the program that they start, and do nothing that matters themselves.
_BECOME = ("env", "timeout", "nice", "ionice", "chrt", "taskset", "stdbuf", "setsid", "nohup", "numactl", "setarch")
_START = ("make", "gmake", "xargs", "time", "watch", "strace", "ltrace", "perf", "ctest", "ninja")
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
# In front of a shell's simple command.
_BEFORE = ("if", "then", "else", "elif", "while", "until", "do", "!", "{", "(", "exec", "command", "eval", "-", "@")
_MOST_BYTES = 1 << 16  # of a script
_MOST_PROGRAMS = 32
_MOST_DEPTH = 5


@dataclass(frozen=True)
class Reached:
    """A program of the loader's."""

    path: Path
    directly: bool  # the command is this program, or becomes it: no shell or the like stays between


@dataclass(frozen=True)
class Needs:
    """The libraries of a program, by the loader's word."""

    found: dict[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


def is_wrapper(name: str) -> bool:
    """Whether a program of this name only starts others."""
    return name in (*executable.SHELLS, *_BECOME, *_START)


def programs(command: list[str]) -> list[Reached]:
    """At most some, each once. A word that a shell would only find out is not followed."""
    found: dict[Path, Reached] = {}
    for one in itertools.islice(_command(command, [Path()], True, 0), _MOST_PROGRAMS):
        known = found.get(one.path)
        if known is None or one.directly:
            found[one.path] = one
    return list(found.values())


def missing(command: list[str], but: Iterable[str] = ()) -> list[str]:
    """Which of the command's programs the loader would refuse, a clause each, `but` those of some names."""
    found = []
    for one in programs(command):
        if one.path.name not in but and (lacks := needs(one.path).missing):
            what = "libraries are" if len(lacks) > 1 else "a library is"
            found.append(f"'{one.path.name}' cannot start, since {what} not found: {', '.join(lacks)}")
    return found


def mentions(path: Path, names: Iterable[bytes]) -> bool:
    """Whether one of `names` is anywhere in the file. Faster than to ask the loader."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return any(data.find(name) >= 0 for name in names)
    except (OSError, ValueError):
        return False


@lru_cache
def needs(path: Path) -> Needs:
    """The program does not run: its loader lists what it would load.

    Asked of the file itself, since the kernel follows links before the loader puts a folder in place of $ORIGIN.
    """
    loader = executable.loader_of(path)
    if loader is None:
        return Needs()
    try:
        listed = subprocess.run(
            [loader, "--list", str(path.resolve())], capture_output=True, text=True, errors="replace", timeout=60,
            stdin=subprocess.DEVNULL, env=_without_preload(),
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return Needs()
    lines = [line.split() for line in listed.stdout.splitlines()]
    pairs = [(words[0], words[2]) for words in lines if len(words) > 2 and words[1] == "=>"]
    lost = [name for name, file in pairs if file == "not"]
    said = f"{listed.stdout}\n{listed.stderr}"
    lost += re.findall(r"error while loading shared libraries: ([^:\s]+): cannot", said)
    lost += [f"{file} of version {version}" for file, version in _VERSION.findall(said)]
    return Needs({name: file for name, file in pairs if file != "not"}, tuple(dict.fromkeys(lost)))


_VERSION = re.compile(r"(\S+?)(?:\.so[.\d]*)?: version [`'](\S+?)' not found")


def _without_preload() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "LD_AUDIT")}


def _command(words: list[str], folders: list[Path], directly: bool, depth: int) -> Iterator[Reached]:
    """The first word is a program's name."""
    found = _file(words[0], folders) if words and depth < _MOST_DEPTH else None
    if found is None:
        return
    head = executable.head_of(found)
    if head.startswith(b"#!"):
        yield from _interpreter_of(head, folders, depth)
        if executable.names_a_shell(head):
            yield from _shell(_text(found), folders, depth)
        return
    if head.startswith(b"\x7fELF"):
        yield Reached(found.absolute(), directly)
    name, rest = found.name, words[1:]
    if name in executable.SHELLS:
        yield from _of_shell(rest, folders, depth)
    elif name in ("make", "gmake"):
        yield from _of_make(rest, folders, depth)
    elif name in (*_BECOME, *_START):
        stays = name in _START
        at = next((n for n, word in enumerate(rest) if not word.startswith("-") and _file(word, folders)), None)
        if at is not None:
            yield from _command(rest[at:], folders, directly and not stays, depth + 1)


def _interpreter_of(head: bytes, folders: list[Path], depth: int) -> Iterator[Reached]:
    words = head[2:].split(b"\n", 1)[0].decode("utf-8", "replace").split()
    yield from _command(words, folders, False, depth + 1)


def _of_shell(words: list[str], folders: list[Path], depth: int) -> Iterator[Reached]:
    for n, word in enumerate(words):
        if re.fullmatch(r"-[a-zA-Z]*c", word):
            yield from _shell(words[n + 1] if n + 1 < len(words) else "", folders, depth)
            return
        if not word.startswith(("-", "+")):
            if (script := _file(word, folders)) is not None or (script := Path(word)).is_file():
                yield from _shell(_text(script), folders, depth)
            return


def _of_make(words: list[str], folders: list[Path], depth: int) -> Iterator[Reached]:
    """The recipes of its makefile, whatever the goal: a program too many does no harm."""
    options = dict(itertools.pairwise(words))
    folder = Path(options.get("-C", "."))
    named = [options["-f"]] if "-f" in options else list(_MAKEFILES)
    file = next((folder / name for name in named if (folder / name).is_file()), None)
    if file is not None:
        lines = [line.strip().lstrip("@-+") for line in _text(file).splitlines() if line.startswith("\t")]
        yield from _shell("\n".join(lines), [folder, *folders], depth)


def _shell(text: str, folders: list[Path], depth: int) -> Iterator[Reached]:
    folders = list(folders)
    for line in text.replace("\\\n", " ").splitlines():
        for words in _simple_commands(line):
            if words[0] == "cd" and len(words) > 1:
                folders += [folder / words[1] for folder in list(folders)]
            else:
                yield from _command(words, folders, False, depth + 1)


def _simple_commands(line: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        tokens = list(lexer)
    except ValueError:  # a quotation that goes on in the next line
        tokens = line.split()
    for is_end, group in itertools.groupby(tokens, lambda token: not set(token) - set(";&|()")):
        words = list(group)
        while words and (words[0] in _BEFORE or re.match(r"[A-Za-z_]\w*=", words[0])):
            del words[0]
        if words and not is_end:
            yield words


def _file(word: str, folders: list[Path]) -> Path | None:
    if not word:
        return None
    if "/" not in word:
        found = shutil.which(word)
        return Path(found) if found else None
    tried = (folder / word for folder in folders)
    return next((file for file in tried if file.is_file() and shutil.which(str(file.absolute()))), None)


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
