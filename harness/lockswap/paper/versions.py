"""versions.json: what was measured, on what, and with which versions."""

import platform
from collections.abc import Mapping
from typing import Any

from lockswap.base.version import VERSION, python_packages

SCHEMA = 1


def versions(about: Mapping[str, Any], env: Mapping[str, Any]) -> dict[str, Any]:
    """`measured_on` is the campaign's env.json, which has packages since lockswap 0.2."""
    return {
        "schema": SCHEMA,
        "campaign": {key: about.get(key) for key in ("name", "started", "command_line", "seed", "finished")},
        "measured_on": dict(env),
        "exported_with": {"lockswap": VERSION, "python": platform.python_version(), "packages": python_packages()},
    }
