"""The tables of the explorer of the structures fit their sources, as those of the locks do."""

from pathlib import Path

import orders
import survivors
from explorer import Explored
from quick_cases import finders, to_the_end
from structural_faults import edited, read_tables

STRUCTURES = Explored.read(Path(__file__).with_name("explorer.toml"))


def test_all_edits_of_planted_faults_fit_their_sources():
    edits, faults = read_tables(STRUCTURES)
    assert len(edited(edits, faults, STRUCTURES)) > 10


def test_what_finds_a_planted_fault_goes_to_its_end():
    _, faults = read_tables(STRUCTURES)
    named = {fault["found_by"] for fault in faults if "found_by" in fault}
    assert len(named) > 50
    assert named <= finders(STRUCTURES)
    assert set(to_the_end(sorted(named), STRUCTURES)) == named


def test_a_listed_file_is_one_file():
    headers = [STRUCTURES.name_of(header) for header in STRUCTURES.explored_headers()]
    listed = survivors.read_list(STRUCTURES)
    entries = [order for group in listed["survivors"] for order in group["orders"]]
    assert entries
    for entry in [*entries, *listed["untried"]]:
        assert len([name for name in headers if survivors.is_file(name, entry["file"])]) == 1, entry


def test_each_header_is_explored():
    """All sources are, and those headers for programs that have orders: each of these orders must be tried."""
    names = {statement.file.partition("/")[0] for statement in orders.statements_with_orders(STRUCTURES)}
    assert names == {"address_space", "lockswap", "rlu", "variants"}


def test_an_order_that_is_not_tried_is_reported():
    statements = orders.statements_with_orders(STRUCTURES)
    places = "\n".join(f"place    {s.file} f: load  {s.file}:{s.last}" for s in statements)
    assert orders.never_tried(places, [], STRUCTURES) == []
    without = "\n".join(line for line in places.splitlines() if "quiescence.hpp:" not in line)
    missing = orders.never_tried(without, [], STRUCTURES)
    assert missing
    assert all(line.startswith("NOT TRIED, NOT LISTED  lockswap/quiescence.hpp:") for line in missing)
