"""Files that are cut, damaged or of another version: an answer, or one line that says what is wrong."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from subject import run

from lockswap.metrics.exposition import Scraped, render
from lockswap.metrics.labels import Labels
from lockswap.metrics.record import AT_RUNNING, HEAD, SCHEMA, SIZE, UnreadableError, parse

SAMPLE = Path(__file__).with_name("samples") / f"{SCHEMA}.lockmetrics.gz"
CONTENT = gzip.decompress(SAMPLE.read_bytes())
PATH = Path("/tmp/1.0.lockmetrics")


def test_the_sample_means_what_it_meant() -> None:
    """Of a process with glibc's locks: `metrics_subject mutex fail`."""
    record = parse(PATH, CONTENT)
    found = {
        (one.number, mode): (c.acquisitions, c.failed_tries, c.timeouts, sum(c.waits))
        for one in record.series
        for mode, c in one.counts.items()
    }
    assert json.loads(SAMPLE.with_suffix("").with_suffix(".json").read_text()) == {
        "program": record.program,
        "mutex": record.mutex,
        "version": record.version,
        "found": [[*key, *value] for key, value in found.items()],
    }


def test_the_format_is_the_samples(tmp_path: Path) -> None:
    """If this fails, the format has changed: give it another number and keep a sample of it, and of this one."""
    (record,) = run(tmp_path, "mutex")
    written = record.path.read_bytes()
    assert len(written) == len(CONTENT) == SIZE
    assert written[:16] == CONTENT[:16]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (CONTENT[:300], "is cut"),
        (CONTENT[: SIZE - 1], "is cut"),
        (b"x" + CONTENT[1:], "is not a file of LOCKSWAP_METRICS"),
        (CONTENT[:8] + (SCHEMA + 1).to_bytes(4, "little") + CONTENT[12:], "has format 2, not 1"),
    ],
)
def test_what_is_wrong_is_said(content: bytes, says: str) -> None:
    with pytest.raises(UnreadableError, match=says):
        parse(PATH, content)


def test_a_file_that_was_just_made_is_no_error() -> None:
    assert parse(PATH, b"") is None
    assert parse(PATH, bytes(SIZE)) is None


EDGES = st.sampled_from([0, 1, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 2**63, 2**64 - 1])
# The heads of what there is, most of all.
PLACES = st.one_of(st.integers(0, HEAD.size), st.integers(AT_RUNNING, AT_RUNNING + 2000), st.integers(0, SIZE - 9))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(PLACES, EDGES | st.integers(0, 2**64 - 1)), max_size=8), st.integers(0, SIZE) | st.just(SIZE))
def test_damage_never_crashes_a_scrape(changes: list, length: int) -> None:
    content = bytearray(CONTENT)
    for at, value in changes:
        content[at : at + 8] = value.to_bytes(8, "little")
    try:
        record = parse(PATH, bytes(content[:length]))
    except UnreadableError:
        return
    if record is not None:
        text = render([Scraped(record, None, Labels().of(record))], 0)
        assert list(text_string_to_metric_families(text))
