"""The version of the harness, and of the packages that it is made of."""

from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

VERSION = "0.2.0"
# What figures, statistics and plots depend on.
_PACKAGES = ("click", "jinja2", "matplotlib", "numpy", "pyelftools", "rich", "tomli_w")


def python_packages() -> dict[str, str]:
    """The versions of those that are installed."""
    found = {}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
