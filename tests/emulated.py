"""Programs of another architecture: TESTS_EMULATOR names what runs them, and QEMU_LD_PREFIX the root of their system.
Without the former they are this machine's."""

import os
from pathlib import Path

EMULATOR = os.environ.get("TESTS_EMULATOR", "")
_LEFT_OUT = set(filter(None, os.environ.get("TESTS_WITHOUT", "").split(":")))


def command(program: object, *arguments: object) -> list[str]:
    """What starts the program."""
    return [word for word in (EMULATOR, str(program), *map(str, arguments)) if word]


def root() -> Path:
    """Where the programs' libraries are."""
    return Path(os.environ["QEMU_LD_PREFIX"]) if EMULATOR else Path("/")


def is_left_out(test: str) -> bool:
    """Whether TESTS_WITHOUT, names between ':', has this one."""
    return test in _LEFT_OUT
