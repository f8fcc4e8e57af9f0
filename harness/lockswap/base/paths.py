"""Where things are. The harness lives in <root>/harness and uses <root>/build and <root>/apps."""

import os
from dataclasses import dataclass
from pathlib import Path

from lockswap.base.errors import UserError

HARNESS = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Paths:
    """The folders of one checkout; `LOCKSWAP_HOME` names another one."""

    root: Path
    build: Path

    @classmethod
    def find(cls) -> "Paths":
        root = Path(os.environ.get("LOCKSWAP_HOME") or HARNESS.parent).resolve()
        return cls(root, (root / "build").resolve())

    @property
    def apps(self) -> Path:
        """Executables of workloads."""
        return self.build / "apps"

    @property
    def recipes(self) -> Path:
        return self.root / "apps" / "recipes"

    @property
    def results(self) -> Path:
        """Of campaigns about the workloads of recipes."""
        return self.root / "results"

    @property
    def own_results(self) -> Path:
        """Of campaigns about the user's own programs: where the user is."""
        return Path("lockswap-results")

    @property
    def library(self) -> Path:
        return self._built(self.build / "liblockswap.so")

    @property
    def audit_library(self) -> Path:
        return self._built(self.build / "liblockswap-audit.so")

    @property
    def audit_reader(self) -> Path:
        """Turns what the audit library leaves behind into JSON."""
        return self._built(self.build / "bin" / "lockswap-audit-read")

    @property
    def registry(self) -> Path:
        return self._built(self.build / "bin" / "lockswap-registry")

    @property
    def meter(self) -> Path:
        return self._built(self.build / "bin" / "lockswap-meter")

    @property
    def stats_on_signal(self) -> Path:
        """A library that lets a program write its statistics before a signal ends it."""
        return self._built(self.build / "bin" / "lockswap-stats-on-signal.so")

    @staticmethod
    def _built(path: Path) -> Path:
        if not path.exists():
            raise UserError(f"{path} is not there; build it with './run.sh build'")
        return path
