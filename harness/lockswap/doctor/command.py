"""What the files of a command say, before it runs. Nothing of it is started."""

import os
import struct
from collections.abc import Mapping
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.doctor.finding import Finding, note, ok, stops
from lockswap.run import executable, preload_order, program, reached, sanitizer
from lockswap.run.preload import ld_preload


def findings(library: Path, command: list[str], environ: Mapping[str, str]) -> list[Finding]:
    path = Path(program.resolve(command[0]))
    return [
        *of_files(path, command),
        *missing(command),
        *preloads(library, command, environ),
        *sanitizers(command),
    ]


def of_files(path: Path, command: list[str]) -> list[Finding]:
    """The program itself, and those that it starts as far as its words show."""
    from lockswap.audit import elf

    found = [stops("program", text) for text in elf.hindrances(path)]
    if shell := program.shell_of(path):
        found.append(note("program", f"{shell}: what it starts is preloaded, too"))
    others = [one.path for one in reached.programs(command) if not one.path.samefile(path)]
    for other in others:
        found += [stops("program", text) for text in elf.hindrances(other)]
    if not found:
        found.append(ok("program", f"'{path.name}' can be preloaded"))
    return found


def missing(command: list[str]) -> list[Finding]:
    return [stops("libraries", f"{text}; install what has them") for text in reached.missing(command)]


def preloads(library: Path, command: list[str], environ: Mapping[str, str]) -> list[Finding]:
    """What else is preloaded, and in which order."""
    existing = environ.get("LD_PRELOAD", "")
    try:
        together = ld_preload(library, existing, (), sanitizer.runtimes(command))
    except UserError as error:
        return [stops("preload", str(error))]
    found = [stops("preload", text) for text in preload_order.warnings(together, library)]
    others = [one for one in together.split(":") if one != str(library) and not executable.is_runtime(one)]
    for one in others:
        if os.sep in one and not Path(one).is_file():
            found.append(note("preload", f"LD_PRELOAD names '{one}', which is not there: take it out"))
    if others and not found:
        found.append(note("preload", f"also preloaded: {', '.join(others)}"))
    return found


def sanitizers(command: list[str]) -> list[Finding]:
    found = [stops("sanitizer", text) for text in sanitizer.warnings(command)]
    try:
        runtimes = sanitizer.runtimes(command)
    except (OSError, struct.error):
        runtimes = []
    for file in runtimes:
        found.append(
            note(
                "sanitizer",
                f"the program has a sanitizer, whose runtime must be first in LD_PRELOAD: 'lockswap run' puts "
                f"{Path(file).name} there; without it write LD_PRELOAD={file}:LIBRARY",
            )
        )
    return found
