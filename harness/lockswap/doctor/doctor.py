"""`lockswap doctor [PID | -- CMD]`: every check, a line each."""

import os

from lockswap.base.errors import FIND, UserError
from lockswap.base.paths import Paths
from lockswap.doctor import loads, machine
from lockswap.doctor.finding import Finding, show


def run(paths: Paths, words: list[str], as_json: bool) -> int:
    """Returns the exit status."""
    if words and words[0].lstrip("-").isdecimal():
        as_json |= words[1:] == ["--json"]  # options stand before a command, but people write them behind a number
        if words[1:] not in ([], ["--json"]) or int(words[0]) <= 0:
            raise UserError(f"'{' '.join(words)}' is not a process id; {FIND}")
        words = words[:1]
    return show(findings(paths, words), as_json)


def findings(paths: Paths, words: list[str]) -> list[Finding]:
    """`words`: none, one that is a process's number, or a command."""
    if len(words) == 1 and words[0].isdecimal():
        from lockswap.doctor import process

        return process.findings(paths, int(words[0]))
    found = [*machine.findings(), *loads.findings(paths.library, os.environ)]
    if words:
        from lockswap.doctor import command

        found += command.findings(paths.library, words, os.environ)
    return found
