"""What processes leave behind, read after it was damaged: an answer or a line that says what is wrong, nothing else."""

import gzip
import json
import random
import struct
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "harness"))

from lockswap.audit import report, verdict  # noqa: E402
from lockswap.audit.findings import Audit  # noqa: E402
from lockswap.profile import output, summary, trace  # noqa: E402
from lockswap.profile import report as text  # noqa: E402
from lockswap.profile.profile import Run  # noqa: E402

BUILD = ROOT / "build/tests/parse"  # readers with sanitizers
SAMPLES = sorted((ROOT / "tests/parse/samples").glob("*.gz"))
NAMES = [sample.stem for sample in SAMPLES]
INPUTS, MANY_INPUTS = 60, 3000
# Values that counts, offsets and lengths don't like.
EDGES = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**63, 2**64 - 1]


def sample(name: str) -> bytes:
    with gzip.open(ROOT / f"tests/parse/samples/{name}.gz") as file:
        return file.read()


def damaged(record: bytes, seed: int) -> bytes:
    draw = random.Random(seed)
    changed = bytearray(record)
    if draw.randrange(8) == 0:
        return bytes(changed[: draw.randrange(len(changed))])
    written = [i for i, byte in enumerate(record) if byte]
    for _ in range(draw.randrange(1, 9)):
        # What isn't 0 is what a reader looks at, mostly. The head stays: another version is refused at once.
        at = draw.choice(written) if draw.randrange(4) else draw.randrange(len(record))
        width = draw.choice((1, 4, 8))
        at = max(16, min(at - at % width, len(record) - width))
        value = draw.choice((draw.choice(EDGES), draw.getrandbits(64), at, at + width))
        changed[at : at + width] = struct.pack("<Q", value % 2**64)[:width]
    return bytes(changed)


def read(name: str, file: Path) -> dict | None:
    """None: it is refused, in one line."""
    reader = BUILD / f"parse_{name.partition('-')[0]}_read"
    done = subprocess.run([reader, file], capture_output=True, timeout=300)
    if done.returncode == 2:
        said = done.stderr.decode()
        assert said.count("\n") == 1 and "of this version" in said, said
        return None
    assert done.returncode == 0 and done.stderr == b"", (done.returncode, done.stderr.decode(errors="replace"))
    return json.loads(done.stdout.decode())


def judge(name: str, found: dict) -> None:
    if name.startswith("calls"):
        assert all(one["locks"] + one["reads"] + one["writes"] >= 0 for one in found["processes"])
    elif name.startswith("profile"):
        profile = summary.summarise(found, Run([]))
        json.dumps(output.as_data(profile))
        output.as_folded(profile)
        trace.encoded(profile, None)
        text.as_text(profile, 10)
    else:
        audit = Audit(["server"], 0, [one | {"running": False} for one in found["processes"]], [])
        report.as_text(audit, False)
        json.loads(report.as_json(audit))
        verdict.summary(audit)


def plan(file: Path) -> None:
    """What a replay makes of it."""
    done = subprocess.run([BUILD / "parse_calls_plan", file], capture_output=True, timeout=300)
    assert done.returncode in (0, 2) and done.stderr == b"", done.stderr.decode(errors="replace")


def inputs(record: bytes, count: int) -> Iterator[tuple[int, bytes]]:
    for seed in range(count):
        yield seed, damaged(record, seed)


def survives(name: str, folder: Path, count: int) -> int:
    """How many were not refused."""
    record, good = sample(name), 0
    for seed, changed in inputs(record, count):
        file = folder / f"seed-{seed}"
        file.write_bytes(changed)
        if (found := read(name, file)) is not None:
            judge(name, found)
            good += 1
        if name.startswith("calls"):
            plan(file)
        file.unlink()
    return good


@pytest.mark.parametrize("name", NAMES)
def test_a_kept_sample_is_read(name, tmp_path):
    file = tmp_path / "record"
    file.write_bytes(sample(name))
    found = read(name, file)
    (process,) = found["processes"]
    assert process["program"]
    if name.startswith("calls"):
        assert (process["locks"], process["unlocks"], process["threads"]) == (1000, 1000, 1)
        return
    assert process["modules"] and process["stacks"]
    if name.startswith("profile"):
        assert process["pairs"] and {lock["kind"] for lock in process["locks"]} >= {"mutex"}
        assert not any(wait["has_deadline"] for thread in process["threads_now"] for wait in thread["waits"])
    else:
        (one,) = process["findings"]
        assert one["name"] == "opposite_orders" and len(one["examples"][0]["more_places"]) == 2
        assert len(process["shared_locks"]) == (0 if name == "audit-8" else 2)
    judge(name, found)


def test_there_is_a_sample_of_each_version_that_is_read():
    for kind in ("profile", "audit", "calls"):
        text = (ROOT / kind / "record.h").read_text()
        now = int(text.partition("kSchema = ")[2].partition(";")[0])
        read = [f"{kind}-{version}" for version in (now - 1, now) if version]
        assert [name for name in NAMES if name.startswith(kind)] == read


@pytest.mark.parametrize("name", NAMES)
def test_other_versions_are_refused(name, tmp_path):
    record = bytearray(sample(name))
    file = tmp_path / "record"
    number = int(name.partition("-")[2])
    for version in {0, 1, number + 2} - {number}:
        struct.pack_into("<I", record, 8, version)
        file.write_bytes(record)
        assert read(name, file) is None


@pytest.mark.parametrize("name", NAMES)
def test_damaged_ones(name, tmp_path):
    assert survives(name, tmp_path, INPUTS) > INPUTS // 2


@pytest.mark.parametrize("name", NAMES)
def test_stacks_that_could_not_be_walked(name, tmp_path):
    file = tmp_path / "record"
    file.write_bytes(sample(name))
    found = read(name, file)
    for process in found["processes"]:
        for stack in process.get("stacks", ()):
            stack["frames"] = []
    judge(name, found)


def read_corpus(kind: str, folder: Path, step: int) -> None:
    """Inputs that together take every way through the reader that libFuzzer has found."""
    good = 0
    with tarfile.open(ROOT / f"tests/parse/corpus/{kind}.tar.xz") as corpus:
        members = [member for member in corpus.getmembers() if member.isfile()][::step]
        for member in members:
            file = folder / "record"
            file.write_bytes(corpus.extractfile(member).read())
            good += read(kind, file) is not None
            if kind == "calls":
                plan(file)
    assert len(members) > 100 // step and good > len(members) // 2


@pytest.mark.parametrize("kind", ["profile", "audit", "calls"])
def test_some_inputs_that_a_fuzzer_found(kind, tmp_path):
    read_corpus(kind, tmp_path, step=8)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["profile", "audit", "calls"])
def test_all_inputs_that_a_fuzzer_found(kind, tmp_path):
    read_corpus(kind, tmp_path, step=1)


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_many_damaged_ones(name, tmp_path):
    assert survives(name, tmp_path, MANY_INPUTS) > MANY_INPUTS // 2
