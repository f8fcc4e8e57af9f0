"""Texts that a person or another program wrote, damaged: an answer or a line that says what is wrong, nothing else."""

import random
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "harness"))

from lockswap.base.errors import UserError  # noqa: E402
from lockswap.findings import loading  # noqa: E402
from lockswap.profile.names import made_functions  # noqa: E402
from lockswap.recipes import reader  # noqa: E402
from lockswap.records.folder import Folder  # noqa: E402
from lockswap.vm import faults, processes, steps, strace_log  # noqa: E402

INPUTS, MANY_INPUTS = 150, 20_000
CAMPAIGN = ROOT / "results/2026-11-locktorture"
RECIPES = ["rwbench", "memcached", "kyoto"]  # with a build, with a server, with variants
PERF_MAP = "7f3a40000000 40 first\n7f3a40000040 1a0 void Second::run(int, char const*)\n7f3a400001e0 8 third\n"
STRACE = (ROOT / "tests/parse/samples/strace.txt").read_text()
FAULTS = "  811   1669.123456789:    7f3a40000000 \n  812   1669.123456999:    7fff10 \n"


def damaged(text: bytes, seed: int) -> bytes:
    """Cut, or with bytes, pieces and words that are changed, moved or gone."""
    draw = random.Random(seed)
    for _ in range(draw.randrange(1, 5)):
        at = draw.randrange(len(text) + 1)
        end = min(len(text), at + draw.randrange(1, 40))
        kind = draw.randrange(7)
        if kind == 0:
            text = text[:at]
        elif kind == 1:
            text = text[:at] + text[end:]
        elif kind == 2:
            text = text[:at] + bytes(draw.randrange(256) for _ in range(draw.randrange(1, 4))) + text[at:]
        elif kind == 3:
            place = draw.randrange(len(text) + 1)
            text = text[:place] + text[at:end] + text[place:]
        elif kind == 4:
            edge = draw.choice((b"-1", b"0", b"1e999", b"nan", b'""', b"[]", b"{}", b"null", b"true", b"9" * 30))
            text = text[:at] + edge + text[end:]
        elif kind == 5:
            lines = text.split(b"\n")
            del lines[draw.randrange(len(lines))]
            text = b"\n".join(lines)
        else:
            text = text.replace(draw.choice((b"=", b'"', b",", b"[", b" ")), b"", 1)
    return text


def inputs(text: bytes, count: int) -> Iterator[bytes]:
    yield text
    for seed in range(count):
        yield damaged(text, seed)


def of_file(file: Path, read: Callable[[Path], object]) -> Callable[[bytes], None]:
    """Reads the damaged text where the file was."""

    def each(text: bytes) -> None:
        file.write_bytes(text)
        try:
            read(file)
        except UserError as error:
            assert str(error)

    return each


def campaign(folder: Path, name: str) -> tuple[bytes, Callable[[bytes], None]]:
    copy = folder / "campaign"
    copy.mkdir()
    for file in ("campaign.toml", "env.json", "checks.json", "raw.csv"):
        shutil.copy(CAMPAIGN / file, copy)
    return (copy / name).read_bytes(), of_file(copy / name, lambda _: loading.load(Folder(copy)))


def read_strace(text: bytes) -> None:
    try:
        events = strace_log.read(text.decode(errors="replace").splitlines())
        list(processes.convert(events).lines(["server"]))
        steps.convert(events, [])
    except (IndexError, KeyError, ValueError) as error:  # which trace-vm turns into a line
        assert str(error)


def parsers(folder: Path) -> dict[str, tuple[bytes, Callable[[bytes], None]]]:
    def look_up(file: Path) -> None:
        made = made_functions(file)
        for address in (0, 0x7F3A40000010, 2**64):
            made.at(address)

    found = {
        "perf map": (PERF_MAP.encode(), of_file(folder / "perf.map", look_up)),
        "page faults": (FAULTS.encode(), lambda text: faults.parse(text.decode(errors="replace"))),
        "strace": (STRACE.encode(), read_strace),
    }
    for name in RECIPES:
        file = folder / f"{name}.toml"
        text = (ROOT / f"apps/recipes/{name}.toml").read_bytes()
        found[f"recipe {name}"] = (text, of_file(file, lambda file: reader.expanded(reader.load(file))))
    return found


NAMES = [*("perf map", "page faults", "strace"), *(f"recipe {name}" for name in RECIPES)]
FILES = ["campaign.toml", "env.json", "checks.json", "raw.csv"]


@pytest.mark.parametrize("name", NAMES)
def test_damaged_texts(name, tmp_path):
    text, read = parsers(tmp_path)[name]
    for changed in inputs(text, INPUTS):
        read(changed)


@pytest.mark.parametrize("name", FILES)
def test_damaged_campaigns(name, tmp_path):
    text, read = campaign(tmp_path, name)
    for changed in inputs(text, INPUTS):
        read(changed)


@pytest.mark.full
@pytest.mark.parametrize("name", [*NAMES, *FILES])
def test_many_damaged(name, tmp_path):
    text, read = campaign(tmp_path, name) if name in FILES else parsers(tmp_path)[name]
    for seed in range(MANY_INPUTS):
        read(damaged(text, seed))
