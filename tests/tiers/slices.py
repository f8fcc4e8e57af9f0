"""Cuts a set of entries into slices of the same cost."""

from __future__ import annotations

import re

import costs
from entries import Entry


def parse(text: str) -> tuple[int, int]:
    """3/8: the third of eight slices."""
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise ValueError(f"--slice takes K/N, as 3/8: '{text}' is neither")
    return int(match[1]), int(match[2])


def cut(entries: list[Entry], n: int, known: costs.Costs) -> list[list[Entry]]:
    """Balances the slices by cost: each entry, the most expensive first, goes into the cheapest slice so far."""
    loads, slices = [0.0] * n, [[] for _ in range(n)]
    for entry in sorted(entries, key=lambda e: (-costs.cost_of(e, "full", known), e.name)):
        least = min(range(n), key=lambda i: (loads[i], i))
        loads[least] += costs.cost_of(entry, "full", known)
        slices[least].append(entry)
    return slices
