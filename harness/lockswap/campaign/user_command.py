"""A recipe for the user's own command, or for a server and its load, as `lockswap compare` was given them."""

import difflib
import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path

from lockswap.base.choice import MUTEX, RANGE, RWLOCK, VERSUS
from lockswap.base.errors import UserError
from lockswap.base.text import words
from lockswap.campaign.job import Job, quick_count
from lockswap.campaign.request import Request
from lockswap.recipes.recipe import LockCheck, Metric, Recipe
from lockswap.recipes.server import Ready, Server, signal_of
from lockswap.records.scrub import scrub
from lockswap.run import program

_PLACEHOLDERS = ("threads", "seconds", "tmp", "port")
_BRACES = re.compile(r"\{\{([A-Za-z_]\w*)\}\}|\{([A-Za-z_]\w*)\}|[{}]")


def user_job(request: Request) -> tuple[list[Job], list[str]] | None:
    """The job with its hints; None if recipes are wanted. What does not fit together is a UserError."""
    _check_options(request)
    if request.server:
        server, load = _with_path(request.server), _with_path(request.load)
        return _job(request, load, Path(server[0]), _server(request, server))
    if request.command:
        command = _with_path(request.command)
        return _job(request, command, Path(program.resolve(command[0])), None)
    return None


def _check_options(request: Request) -> None:
    if request.versus and request.server:
        raise UserError(
            "--versus compares two commands, not two servers: measure each server in a campaign of its own (--name), "
            "and 'lockswap report A B' sets them side by side"
        )
    if request.versus and not request.command:
        raise UserError("--versus needs a command after '--': lockswap compare --versus './old' -- ./new")
    if request.server and request.command:
        raise UserError("give either --server with --load, or a command after '--', not both")
    if (request.server or request.command) and request.workloads:
        raise UserError("give either --workload or a command of your own, not both")
    if request.server:
        if not request.load:
            raise UserError("--server needs --load, the command that makes requests to it")
        if not request.ready and not _uses(request.server, "port"):
            raise UserError("--server needs --ready: a port, udp:PORT, or a regex that it prints when it is ready")
        return
    for_server = {"load": request.load, "ready": request.ready, "stop": request.stop}
    for_server |= {"ready-timeout": request.ready_timeout, "stop-timeout": request.stop_timeout}
    for option, value in for_server.items():
        if value:
            raise UserError(f"--{option} needs --server, the command that starts a server")
    if request.command:
        return
    for option, value in {"metric": request.metrics, "prepare": request.prepare, "cleanup": request.cleanup}.items():
        if value:
            example = f"lockswap compare --{option} {option.upper() if option != 'metric' else 'REGEX'} -- CMD..."
            raise UserError(f"--{option} is for a command of your own: {example}")


def _with_path(command: list[str]) -> list[str]:
    """With a name that means the same program in every folder; one that PATH has stays as it is."""
    path = program.absolute(command[0])
    return [path, *command[1:]] if "/" in command[0] else command


def _uses(line: list[str], name: str) -> bool:
    return any(found[2] == name for word in line for found in _BRACES.finditer(word))


def _server(request: Request, command: list[str]) -> Server:
    ready, stop = request.ready or "{port}", request.stop or Server.stop
    for option, check, text in (("ready", Ready.parse, ready.replace("{port}", "1")), ("stop", signal_of, stop)):
        try:
            check(text)
        except ValueError as error:
            raise UserError(f"--{option}: {error}") from None
    return Server(
        command=tuple(_lenient(word) for word in command),
        ready=_lenient(ready),
        ready_timeout=request.ready_timeout or Server.ready_timeout,
        stop=stop,
        stop_timeout=request.stop_timeout or Server.stop_timeout,
    )


def _job(request: Request, command: list[str], tested: Path, server: Server | None) -> tuple[list[Job], list[str]]:
    hints = program.hindrances(Path(program.resolve(str(tested))))
    for hint in hints:
        print(f"lockswap: warning: {hint}", file=sys.stderr)
    line = [*command, *request.server]
    scales = _uses(line, "threads")
    if request.threads and len(request.threads) > 1 and not scales:
        raise UserError(
            "--threads has several counts, but the command does not say where they go: write {threads} in it, "
            "as in -- ./prog --threads {threads}"
        )
    if request.seconds and not _uses(line, "seconds"):
        raise UserError(
            "--seconds has no effect, since the command does not use it: write {seconds} in it, as in "
            "-- ./prog --seconds {seconds}, or make it do more work"
        )
    threads = tuple(request.threads or ((1, 2, 4, 8) if scales else (1,)))
    if request.quick and not request.threads:
        threads = quick_count(threads)
    metrics = tuple(_metric(text, index, request.better) for index, text in enumerate(request.metrics))
    what = "load" if server else "command"
    recipe = Recipe(
        name=re.sub(r"[^A-Za-z0-9_-]+", "-", tested.name).strip("-") or "command",
        title=_title(request),
        source="the user's own command",
        measures="" if metrics else f"The time that the {what} takes, from start to end.",
        command=tuple(_lenient(word) for word in command),
        server=server,
        prepare=_commands(request.prepare),
        cleanup=_commands(request.cleanup),
        threads=threads,
        threads_label="threads" if scales else "threads (as the command sets them)",
        metrics=metrics or (Metric("time", "time", "s", "lower", source="wall"),),
        lock_check=LockCheck(),
        takes=_takes(request),
        fixed_work=not _uses(line, "seconds"),
    )
    job = Job(recipe, threads, request.seconds or 2, {}, user_command=True)
    return [replace(job, versus=_versus(request))], hints


def _versus(request: Request) -> tuple[str, ...]:
    if not request.versus:
        return ()
    other = _with_path(request.versus)
    for hint in program.hindrances(Path(program.resolve(other[0]))):
        print(f"lockswap: warning: --versus: {hint}", file=sys.stderr)
    for name in ("threads", "seconds"):
        if _uses(request.command, name) != _uses(other, name):
            raise UserError(f"--versus: {{{name}}} is in one of the two commands only; write it in both, or in neither")
    return tuple(_lenient(word) for word in other)


def _title(request: Request) -> str:
    title = shlex.join(scrub(word) for word in request.server or request.command)
    if not request.versus:
        return title
    return f"{title}, and as @{VERSUS} {shlex.join(scrub(word) for word in request.versus)}"


def _takes(request: Request) -> tuple[str, ...]:
    """What the user wants swapped is what the command takes: where range locks are not named, one of the others."""
    if not request.ranges:
        return RWLOCK, MUTEX
    return *((RWLOCK,) if request.locks else ()), *((MUTEX,) if request.mutexes or request.conds else ()), RANGE


def _commands(commands: list[list[str]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(_lenient(word) for word in _with_path(command)) for command in commands)


def _metric(text: str, index: int, better: str) -> Metric:
    """A REGEX with one group; its literal text before the group names the metric: 'ops/s: ([0-9.]+)' is ops/s."""
    try:
        groups = re.compile(text, re.MULTILINE).groups
    except re.error as error:
        raise UserError(f"--metric '{text}' is not a valid regex: {error}") from None
    if groups != 1:
        raise UserError(f"--metric '{text}' needs exactly one group (...) around the number; it has {groups}")
    literal = re.sub(r"\\.|[\[\](){}^$.*+?|]", " ", text[: text.index("(")]).strip(" :=,")
    label = " ".join(literal.split()) or ("metric" if index == 0 else f"metric-{index + 1}")
    role = next((role for role in ("reads", "writes") if role.rstrip("s") in label.lower()), "total")
    return Metric(label, role, "", better, regex=text)


def _lenient(word: str) -> str:
    """A word of the user's command as a recipe has it: our placeholders count, other braces are the command's.

    {{name}} is the command's {name}. What looks like a placeholder and is none is refused: a single word '{thread}', or
    in the text of a script what is nearly one of ours.
    """
    return _BRACES.sub(lambda found: _brace(found, word), word)


def _brace(found: re.Match, word: str) -> str:
    text, escaped, name = found[0], found[1], found[2]
    if escaped:
        return "{{" + escaped + "}}"
    if name in _PLACEHOLDERS:
        return text
    if name and not word[: found.start()].endswith("$"):
        is_script = any(letter.isspace() for letter in word)
        near = difflib.get_close_matches(name.lower(), _PLACEHOLDERS, 1, 0.7 if is_script else 0.5)
        if near or not is_script:
            guess = f"did you mean {{{near[0]}}}? " if near else ""
            there = words(f"{{{one}}}" for one in _PLACEHOLDERS)
            raise UserError(
                f"there is no placeholder {text}; {guess}{there} exist, and {{{text}}} is passed on as {text}"
            )
    return text.replace("{", "{{").replace("}", "}}")
