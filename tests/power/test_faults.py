"""The list of planted faults fits the sources, and the table says of each what finds it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from faults import TIERS, read_faults, read_table, summary, write_table

FAULTS = read_faults()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_it_can_be_planted(fault):
    assert fault.planted_in() and fault.breaks.endswith(".")


def test_names_differ():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


def test_each_has_a_finder():
    rows = read_table()
    assert set(rows) == {fault.name for fault in FAULTS}, "run tests/power/power.py"
    for fault in FAULTS:
        row = rows[fault.name]
        assert row.edit == fault.edit, f"{fault.name} is another edit than the one that was found: run power.py"
        assert row.tier in TIERS and (row.finder == "-") == (row.tier == "none")
        assert row.tier == "test" or fault.reason, f"{fault.name}: found by {row.tier}, and no reason"


def test_most_of_what_any_tier_finds_is_found_by_test():
    tiers = [row.tier for row in read_table().values()]
    assert tiers.count("test") >= 0.95 * (len(tiers) - tiers.count("none"))


def test_the_readme_has_the_numbers():
    readme = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    assert summary(FAULTS, read_table())[-1] in readme


def test_the_table_reads_what_it_wrote(tmp_path):
    file = tmp_path / "found.tsv"
    write_table(read_table(), file)
    assert read_table(file) == read_table()


def test_an_edit_that_does_not_fit_is_refused(tmp_path):
    fault = FAULTS[0]
    (tmp_path / fault.file).parent.mkdir(parents=True)
    (tmp_path / fault.file).write_text(fault.old * 2)
    with pytest.raises(ValueError, match="2 times"):
        fault.planted_in(tmp_path)
