"""debian/ agrees with what it is made from."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("package", "symbols"),
    [
        ("liblockswap1", "interpose/symbols.txt"),
        ("liblockswap-structures1", "structures/src/library/liblockswap_structures.map"),
    ],
)
def test_the_symbols_files_have_each_function_that_programs_are_linked_with(package, symbols):
    said = re.findall(r"^ (lockswap_\w+)@LOCKSWAP_1 ", (ROOT / f"debian/{package}.symbols").read_text(), re.MULTILINE)
    lines = (ROOT / symbols).read_text().splitlines()
    exported = [
        found[1] for line in lines if (found := re.match(r" *(lockswap_\w+)(;$| +LOCKSWAP_1 +(\w+,)*api\b)", line))
    ]
    assert len(said) > 10
    assert sorted(said) == sorted(exported)
