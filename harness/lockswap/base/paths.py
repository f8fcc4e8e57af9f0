"""Where things are.

In a checkout the harness lives in <root>/harness and uses <root>/build, <root>/apps and <root>/structures. An
installation has the same folders in LIBDIR/lockswap, without `build` between, and the preload libraries one level
above. A wheel has such an installation inside the Python package.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from lockswap.base.errors import UserError

HARNESS = Path(__file__).resolve().parents[2]
_IN_WHEEL = HARNESS / "lockswap/native/lib/lockswap"  # see pyproject.toml
_HOME = _IN_WHEEL if _IN_WHEEL.is_dir() else HARNESS.parent
# For valgrind: in a checkout, or in an installation.
_PLACES = (_HOME / "packaging/lockswap.supp", _HOME / "lockswap.supp")
SUPPRESSIONS = next((file for file in _PLACES if file.is_file()), _PLACES[1])
_INSTALLED = "installed"  # the file by which an installation is known
# Where an installation puts campaigns, in words.
OUTSIDE_OF_A_CHECKOUT = "lockswap-results/NAME here"


@dataclass(frozen=True)
class Paths:
    """The folders of one checkout or installation; `LOCKSWAP_HOME` names another one."""

    root: Path
    build: Path

    @classmethod
    def find(cls) -> "Paths":
        root = Path(os.environ.get("LOCKSWAP_HOME") or _HOME).resolve()
        if (root / _INSTALLED).is_file():
            return cls(root, root)
        build = (root / "build").resolve()
        started = os.environ.get("LOCKSWAP_BUILD")  # by the command in build/bin
        if started and not os.environ.get("LOCKSWAP_HOME") and Path(started).resolve() != build:
            raise UserError(
                f"{started} is a copy: its Python still uses {build}; start {build}/bin/lockswap, or build a copied "
                "source tree with './run.sh build'"
            )
        return cls(root, build)

    @property
    def installed_commit(self) -> str | None:
        """The commit that was installed; None in a checkout."""
        file = self.root / _INSTALLED
        return file.read_text(encoding="utf-8").strip() if file.is_file() else None

    @property
    def in_wheel(self) -> bool:
        """Whether pip brought all this."""
        return self.root == _IN_WHEEL

    @property
    def own_packages(self) -> Path:
        """Where an installation by CMake has the Python packages that the command needs."""
        return self.root / "packages"

    @property
    def _libraries(self) -> Path:
        return self.build if self.installed_commit is None else self.root.parent

    @property
    def apps(self) -> Path:
        """Executables of workloads."""
        return self.build / "apps"

    @property
    def recipes(self) -> Path:
        return self.root / "apps" / "recipes"

    @property
    def structure_recipes(self) -> Path:
        """Those of workloads that are about no lock, but about the structures beside them."""
        return self.root / "structures" / "apps" / "recipes"

    @property
    def policies(self) -> Path:
        """The ready-made ones."""
        return self.root / "packaging" / "policies" if self.installed_commit is None else self.root / "policies"

    @property
    def results(self) -> Path:
        """For campaigns about the workloads of recipes. An installation has no place for them; the user has."""
        return self.root / "results" if self.installed_commit is None else Path("lockswap-results").absolute()

    @property
    def own_results(self) -> Path:
        """For campaigns about the user's own programs, in the current folder."""
        return Path("lockswap-results")

    @property
    def results_in_words(self) -> str:
        """Where campaigns go without --out, for the help."""
        if self.installed_commit is not None:
            return OUTSIDE_OF_A_CHECKOUT
        of_workloads = self.workload_results_in_words
        return f"{OUTSIDE_OF_A_CHECKOUT} for a command or server of your own, {of_workloads} for workloads"

    @property
    def workload_results_in_words(self) -> str:
        return OUTSIDE_OF_A_CHECKOUT if self.installed_commit is not None else "results/NAME in lockswap's folder"

    @property
    def library(self) -> Path:
        return self._built(self._libraries / "liblockswap.so")

    @property
    def audit_library(self) -> Path:
        return self._built(self._libraries / "liblockswap-audit.so")

    @property
    def audit_reader(self) -> Path:
        """Turns what the audit library leaves behind into JSON."""
        return self._built(self.build / "bin" / "lockswap-audit-read")

    @property
    def fuzz_library(self) -> Path:
        return self._built(self._libraries / "liblockswap-fuzz.so")

    @property
    def profile_reader(self) -> Path:
        """Turns what LOCKSWAP_PROFILE leaves behind into JSON."""
        return self._built(self.build / "bin" / "lockswap-profile-read")

    @property
    def calls_reader(self) -> Path:
        """Turns what LOCKSWAP_RECORD leaves behind into JSON."""
        return self._built(self.build / "bin" / "lockswap-calls-read")

    @property
    def registry(self) -> Path:
        return self._built(self.build / "bin" / "lockswap-registry")

    @property
    def meter(self) -> Path:
        return self._built(self.build / "bin" / "lockswap-meter")

    @property
    def measure(self) -> Path:
        """Measures this machine, for `lockswap machine`."""
        return self._built(self.build / "bin" / "lockswap-measure")

    @property
    def stats_on_signal(self) -> Path:
        """A library that lets a program write its statistics before a signal ends it."""
        return self._built(self.build / "bin" / "lockswap-stats-on-signal.so")

    def _built(self, path: Path) -> Path:
        if not path.exists():
            cure = "build it with './run.sh build'" if self.installed_commit is None else "reinstall lockswap"
            raise UserError(f"{path} is not there; {cure}")
        return path
