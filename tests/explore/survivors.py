"""What survivors.toml lists, and how it names places in the sources."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

from explorer import LOCKS, Explored

LISTED = "survivors.toml"
HEAD = re.compile(r"\s*[\w:<>,&*\s]*\s[&*]*(\w+)\(")
NO_HEAD = re.compile(r"\s*(if|for|while|switch|else|do|return|case|using|throw|new)\b")
CONSTANT = re.compile(r"\s*(?:static |inline |constexpr )+[\w:<>]+ (\w+) =")


def read_list(explored: Explored = LOCKS) -> dict[str, list[dict]]:
    return tomllib.loads((explored.folder / LISTED).read_text(encoding="utf-8"))


def is_file(path: str, name: str) -> bool:
    """The path is the file of that name: "a/rw/cohort.h" is "rw/cohort.h", and not "hort.h"."""
    return path == name or path.endswith("/" + name)


def without_comment(line: str) -> str:
    return re.sub(r"//.*", "", line).rstrip()


def begins_function(lines: list[str], i: int) -> str:
    """The name of the function whose body begins in this line or, if its head takes several, below; or ""."""
    code = re.sub(r"\[\[.*?\]\]", "", without_comment(lines[i]))
    head = HEAD.match(code)
    if head is None or NO_HEAD.match(code):
        return ""
    rest = " ".join(map(without_comment, [code, *lines[i + 1 : i + 8]]))
    end = re.search(r"[{;]", rest)
    return head[1] if end is not None and end[0] == "{" else ""


def function_at(lines: list[str], i: int) -> str:
    """The function around a line; outside of all functions, the constant that the line defines; or ""."""
    margin = len(lines[i]) - len(lines[i].lstrip()) + 1
    for above in range(i, -1, -1):
        own = len(lines[above]) - len(lines[above].lstrip())
        if not lines[above].strip() or lines[above].startswith("#") or own >= margin:
            continue
        margin = own
        if name := begins_function(lines, above):
            return name
    constant = CONSTANT.match(lines[i])
    return constant[1] if constant else ""


def survivors(listed: dict) -> Iterator[str]:
    """A line for each survivor, as `lockswap-explore mutate --known` takes them."""
    for group in listed["survivors"]:
        for o in group["orders"]:
            number = f" #{o['number']}" if "number" in o else ""
            yield f"{o['file']} {o['function']}: {o['operation']} {o['from']}{number} -> {o['to']}"
