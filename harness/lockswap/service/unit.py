"""A unit's drop-in: its name, its text by systemd's rules, and which files are ours."""

import contextlib
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lockswap.base.errors import UserError

NAME = "50-lockswap.conf"
MARKER = "# Written by `lockswap service enable`."
_UNIT = re.compile(r"[A-Za-z0-9:_.\\@-]+\.service")
_OTHER_KINDS = ("socket", "timer", "target", "mount", "path", "slice", "scope", "device", "swap", "automount")
_ESCAPED = {'"': '\\"', "\\": "\\\\", "%": "%%", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def full_name(unit: str) -> str:
    """With its suffix, as systemctl has it."""
    name = unit if unit.rpartition(".")[2] in ("service", *_OTHER_KINDS) else f"{unit}.service"
    if not _UNIT.fullmatch(name):
        raise UserError(f"'{unit}' is no service; 'systemctl list-units --type=service' lists them")
    return name


def assignment(name: str, value: str) -> str:
    """An Environment= line: quoted, with C's escapes, and no specifiers (systemd.syntax(7), systemd.exec(5))."""
    if any(ord(letter) < 32 and letter not in _ESCAPED for letter in value) or "\x7f" in value:
        raise UserError(f"{name} has a control character in its value, which systemd refuses; take it out")
    return f'Environment="{name}={"".join(_ESCAPED.get(letter, letter) for letter in value)}"'


def text_of(unit: str, variables: Mapping[str, str]) -> str:
    lines = [assignment(name, value) for name, value in variables.items()]
    return "\n".join([MARKER, f"# `lockswap service disable {unit}` removes it.", "[Service]", *lines, ""])


@dataclass(frozen=True)
class DropIn:
    """Its file, whether it is there or not."""

    unit: str
    file: Path

    def read(self) -> str | None:
        """Its text; None: there is none. Raises UserError if the file isn't ours."""
        try:
            with os.fdopen(os.open(self.file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), encoding="utf-8") as opened:
                text = opened.read()
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{self.file} can't be read ({getattr(error, 'strerror', error)}), so it is left alone; "
                            "move it away, or ask as root") from error  # fmt: skip
        if not text.startswith(f"{MARKER}\n"):
            raise UserError(f"{self.file} was not written by lockswap, so it is left alone; move it away first")
        return text

    def write(self, text: str) -> None:
        """Whole or not at all."""
        self.read()
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=".50-lockswap-", dir=self.file.parent)
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as opened:
                    opened.write(text)
                    os.fchmod(opened.fileno(), 0o644)
                Path(name).replace(self.file)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise UserError(f"cannot write {self.file}: {error.strerror}; {_cure(error)}") from error

    def remove(self) -> bool:
        """Returns whether it was there."""
        if self.read() is None:
            return False
        try:
            self.file.unlink()
        except OSError as error:
            raise UserError(f"cannot remove {self.file}: {error.strerror}; {_cure(error)}") from error
        with contextlib.suppress(OSError):  # others have files there
            self.file.parent.rmdir()
        return True


def _cure(error: OSError) -> str:
    if isinstance(error, PermissionError):
        return "do it as root, or use --user for a service of your own"
    return "see whether that folder can be written to"
