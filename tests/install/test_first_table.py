"""From a clone to the first table of one's own program: the README's first block, done and counted."""

import sys

import first_table
import pytest

sys.path.insert(0, str(first_table.ROOT / "tests"))
from git_files import need_checkout


def test_the_block_has_few_commands_and_ends_in_a_comparison_of_three_locks() -> None:
    line = first_table.commands((first_table.ROOT / "README.md").read_text())
    assert line[0] == first_table.BUILD and " compare " in line[-1]
    assert len(first_table.for_own_program(line, first_table.ROOT)) <= first_table.MOST_COMMANDS


def test_it_leads_to_a_table() -> None:
    """With the build of this tree, and a round instead of seven."""
    need_checkout()
    first_table.main(built=True, more=" --repeats 1 --no-report")


@pytest.mark.alone
def test_it_takes_four_minutes_at_most() -> None:
    """With a build of its own, without the compiler's cache."""
    need_checkout()
    first_table.main(built=False)
