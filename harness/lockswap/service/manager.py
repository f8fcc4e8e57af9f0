"""The service manager: of the system, of the user, or none, where a root folder is prepared."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.service.unit import NAME, DropIn

_PLACES = ("etc/systemd/system", "run/systemd/system", "usr/lib/systemd/system", "lib/systemd/system")


@dataclass(frozen=True)
class Manager:
    user: bool = False
    root: Path | None = None  # nothing runs there

    def drop_in(self, unit: str) -> DropIn:
        return DropIn(unit, self._folder() / f"{unit}.d" / NAME)

    def cat(self, unit: str) -> str:
        """The unit's file with its drop-ins, in their order. Raises UserError if there is no such unit."""
        done = None if self.root else self._ask("cat", "--no-pager", unit)  # which takes no --root
        if done is None:
            return self._read(unit)
        if done.returncode != 0:
            raise UserError(f"there is no unit {unit} {self._where()}; 'systemctl list-unit-files' lists them")
        return done.stdout

    def show(self, unit: str, key: str) -> str:
        """A property of the running unit; empty: it isn't known."""
        done = None if self.root else self._ask("show", f"--property={key}", "--value", unit)
        return done.stdout.strip() if done is not None and done.returncode == 0 else ""

    def restart(self, unit: str) -> None:
        """Reloads the unit files, and restarts the unit if it runs. Raises UserError."""
        for words in (("daemon-reload",), ("try-restart", unit)):
            done = self._ask(*words)
            if done is None or done.returncode != 0:
                said = "systemctl is not installed" if done is None else done.stderr.strip().split("\n")[0]
                raise UserError(f"'{self.command(*words)}' failed: {said}; the drop-in stays as it is now")

    def command(self, *words: str) -> str:
        return " ".join(["systemctl", *(["--user"] if self.user else []), *words])

    def _folder(self) -> Path:
        if self.user:
            home = os.environ.get("XDG_CONFIG_HOME") or os.environ.get("HOME")
            if not home:
                raise UserError("--user needs HOME, which is not set")
            below = Path(home) if os.environ.get("XDG_CONFIG_HOME") else Path(home) / ".config"
            return below / "systemd/user"
        return (self.root or Path("/")) / "etc/systemd/system"

    def _where(self) -> str:
        return f"below {self.root}" if self.root else "of this user" if self.user else "here"

    def _ask(self, *words: str) -> subprocess.CompletedProcess | None:
        """None: there is no systemctl."""
        if shutil.which("systemctl") is None:
            return None
        return subprocess.run(
            self.command(*words).split(), capture_output=True, text=True, errors="replace", timeout=120
        )

    def _read(self, unit: str) -> str:
        """The same without a manager that runs, as where an image is made."""
        names = [unit, re.sub(r"@[^.]*\.", "@.", unit)]
        places = [(self.root or Path("/")) / place for place in _PLACES]
        file = next((place / name for name in names for place in places if (place / name).is_file()), None)
        if file is None:
            raise UserError(f"there is no unit {unit} {self._where()}")
        more: dict[str, Path] = {}  # by name: the first place hides the others
        for folder in (place / f"{name}.d" for place in places for name in [*dict.fromkeys(names), "service"]):
            for one in folder.glob("*.conf"):
                more.setdefault(one.name, one)
        files = [file, *(more[name] for name in sorted(more))]
        return "\n".join(f"# {one}\n{one.read_text(encoding='utf-8', errors='replace')}" for one in files)
