"""JUnit files: well formed whatever a message has in it, with counts that fit."""

from xml.etree import ElementTree

from lockswap.base.junit import ERROR, FAILURE, SKIPPED, Case, document
from lockswap.findings.gate import Gate


def test_counts_and_texts():
    cases = [
        Case("fine"),
        Case("a < b", FAILURE, 'says "no"', "a\nb & c\x00\x1b[1m"),
        Case("?", SKIPPED),
        Case("x", ERROR),
    ]
    root = ElementTree.fromstring(document("a & b", cases).encode())
    (suite,) = root
    assert root.tag == "testsuites" and suite.get("name") == "a & b"
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["4", "1", "1", "1"]
    fine, bad, *_ = suite
    assert len(fine) == 0 and bad.get("name") == "a < b"
    assert bad[0].tag == "failure" and bad[0].get("message") == 'says "no"' and bad[0].text.startswith("a\nb & c")


def test_a_gate():
    gate = Gate(
        0.97, ["gate: w, 2 threads, ba, ops: 1.2× slower: below"], ["gate: w, 4 threads, ba: not measured: hung"]
    )
    gate.open_.append("gate: w, 8 threads, ba, ops: 1.01× slower: can't tell")
    gate.shown.append("gate: w, 1 thread, ba, ops: 1.3× faster than pthread")
    (suite,) = ElementTree.fromstring(gate.as_junit().encode())
    assert [(case.get("name"), [one.tag for one in case]) for case in suite] == [
        ("w, 2 threads, ba, ops", ["failure"]),
        ("w, 4 threads, ba", ["error"]),
        ("w, 8 threads, ba, ops", ["skipped"]),
        ("w, 1 thread, ba, ops", []),
    ]
