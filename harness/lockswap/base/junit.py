"""Findings as a JUnit file, which CI systems show beside the tests."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from xml.etree import ElementTree

# XML 1.0 can't say these, not even as numbers.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
FAILURE, ERROR, SKIPPED = "failure", "error", "skipped"


@dataclass(frozen=True)
class Case:
    """A test that passed, unless there is an outcome: one of the above."""

    name: str
    outcome: str = ""
    message: str = ""  # one line
    text: str = ""


def document(suite: str, cases: Iterable[Case]) -> str:
    cases = list(cases)
    counts = {f"{what}s": sum(case.outcome == what for case in cases) for what in (FAILURE, ERROR)}
    counts["skipped"] = sum(case.outcome == SKIPPED for case in cases)
    numbers = {name: str(count) for name, count in {"tests": len(cases), **counts}.items()}
    root = ElementTree.Element("testsuites", {"name": "lockswap", **numbers})
    made = ElementTree.SubElement(root, "testsuite", {"name": _clean(suite), **numbers})
    for case in cases:
        one = ElementTree.SubElement(made, "testcase", {"name": _clean(case.name), "classname": _clean(suite)})
        if case.outcome:
            ElementTree.SubElement(one, case.outcome, {"message": _clean(case.message)}).text = _clean(case.text)
    ElementTree.indent(root, " ")
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _clean(text: str) -> str:
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
