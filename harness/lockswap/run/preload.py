"""The environment in which a program meets the library under test."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from lockswap.base.choice import POLICY, Choice
from lockswap.base.errors import UserError
from lockswap.base.paths import HARNESS
from lockswap.run.executable import is_runtime

# Variables for this harness and for build scripts; the library would complain of those that it does not know.
_OF_HARNESS = ("LOCKSWAP_HOME", "LOCKSWAP_ROOT", "LOCKSWAP_BUILD", "LOCKSWAP_APPS")
# Glibc's locks in place of those that were asked for would falsify what is measured.
STRICT = "LOCKSWAP_STRICT"


def ld_preload(library: Path | None, existing: str, extra: Iterable[str] = (), before: Iterable[str] = ()) -> str:
    """LD_PRELOAD, in this order: sanitizer runtimes, what `--preload-first` named, `library`, what `--preload` named,
    what was preloaded already.
    """
    if library and re.search(r"[\s:]", str(library)):
        raise UserError(
            f"'{library}' has a space or a colon in its path, and the loader splits LD_PRELOAD there; "
            "move the checkout or the installation to a path without"
        )
    ours = library.name if library else None
    others = [entry for entry in existing.replace(":", " ").split() if Path(entry).name != ours]
    before = list(before)
    others = list(dict.fromkeys([*before, *extra, *others]))
    first = [entry for entry in others if is_runtime(entry)]
    first += [entry for entry in before if entry not in first]
    rest = [entry for entry in others if entry not in first]
    return ":".join([*first, *([str(library)] if library else []), *rest])


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The user's environment without what started this harness (its launcher sets PYTHONPATH)."""
    env = {key: value for key, value in environ.items() if key not in _OF_HARNESS}
    if "PYTHONPATH" in env:
        kept = [entry for entry in env["PYTHONPATH"].split(os.pathsep) if entry and not _is_harness(entry)]
        env["PYTHONPATH"] = os.pathsep.join(kept)
        if not kept:
            del env["PYTHONPATH"]
    return env


def _is_harness(entry: str) -> bool:
    return Path(entry).resolve() == HARNESS


def lock_variables(
    library: Path,
    choice: Choice,
    wait: str | None,
    existing_preload: str,
    stats: str | None = None,
    extra: Iterable[str] = (),
    before: Iterable[str] = (),
    policies: Mapping[str, Path] | None = None,
) -> dict[str, str]:
    """The variables that put `choice` under a program; for 'none' only what is to be preloaded all the same."""
    if not choice.variables:
        return {"LD_PRELOAD": ld_preload(None, existing_preload, extra, before)} if extra or before else {}
    variables = {"LD_PRELOAD": ld_preload(library, existing_preload, extra, before), **choice.variables, STRICT: "1"}
    if choice.policy is not None:
        variables[POLICY] = str((policies or {})[choice.policy])
    if wait:
        variables["LOCKSWAP_WAIT"] = wait
    if stats:
        variables["LOCKSWAP_STATS"] = stats
    return variables
