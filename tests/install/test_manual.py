"""The manual pages: mandoc has nothing to complain of, and nothing that a user can name is left out of them."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from lockswap.cli import cli

ROOT = Path(__file__).resolve().parents[2]
MAKER = ROOT / "packaging/manual/make_manual.py"
PARTS = {"command": 1, "preload": 7, "development": 3, "structures": 3}
needs_mandoc = pytest.mark.skipif(shutil.which("mandoc") is None, reason="skipped: mandoc is not installed")
needs_doxygen = pytest.mark.skipif(shutil.which("doxygen") is None, reason="skipped: doxygen is not installed")


def make(out: Path, *parts: str, status: int = 0, **settings: str) -> str:
    words = [word for name, value in settings.items() for word in (f"--{name}", value)]
    done = subprocess.run(
        [sys.executable, MAKER, out, *parts, "--build", ROOT / "build", *words], capture_output=True, text=True
    )
    assert done.returncode == status, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All pages; those of section 3 where doxygen is."""
    out = tmp_path_factory.mktemp("man")
    parts = [part for part, section in PARTS.items() if section != 3 or shutil.which("doxygen")]
    assert make(out, *parts) == ""
    return out


def pages(manual: Path) -> list[Path]:
    return sorted(path for path in manual.rglob("*") if path.is_file() and not path.is_symlink())


def plain(page: Path) -> str:
    """The page as a reader sees it, on lines of any length."""
    done = subprocess.run(["mandoc", "-Tascii", "-O", "width=1000", page], capture_output=True, text=True, check=True)
    return re.sub(r".\x08", "", done.stdout)


def commands(command: click.Command = cli, name: str = "lockswap") -> Iterator[tuple[str, click.Command]]:
    yield name, command
    for below, one in (command.commands if isinstance(command, click.Group) else {}).items():
        if not one.hidden:
            yield from commands(one, f"{name}-{below}")


@needs_mandoc
def test_mandoc_has_nothing_to_complain_of(manual: Path) -> None:
    done = subprocess.run(["mandoc", "-Tlint", "-W", "warning", *pages(manual)], capture_output=True, text=True)
    assert done.stdout == "" and done.returncode == 0


@needs_mandoc
def test_mandoc_complains_of_a_bad_page(manual: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.1"
    bad.write_text((manual / "man1/lockswap.1").read_text() + ".TP\n.NOTHING\n")
    done = subprocess.run(["mandoc", "-Tlint", "-W", "warning", bad], capture_output=True, text=True)
    assert "NOTHING" in done.stdout and done.returncode != 0


@needs_mandoc
def test_each_command_has_a_page_with_each_of_its_options(manual: Path) -> None:
    there = dict(commands())
    assert sorted(page.stem for page in (manual / "man1").iterdir()) == sorted(there)
    for name, command in there.items():
        text = plain(manual / f"man1/{name}.1")
        for heading in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "SEE ALSO"):
            assert f"\n{heading}\n" in text, (name, heading)
        section = text.partition("\nOPTIONS\n")[2].partition("\nEXIT STATUS\n")[0]
        options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
        for option in [word for one in options for word in (*one.opts, *one.secondary_opts)]:
            assert re.search(rf"^ +.*{re.escape(option)}(?![\w-])", section, re.MULTILINE), (name, option)


@needs_mandoc
def test_the_statuses_of_compare_are_a_section(manual: Path) -> None:
    text = plain(manual / "man1/lockswap-compare.1")
    statuses = re.findall(r"^ +(\d+) {2,}\S", text.partition("\nEXIT STATUS\n")[2].partition("\nENV")[0], re.MULTILINE)
    assert statuses == ["0", "2", "3", "4", "130"]


@needs_mandoc
def test_the_page_of_the_library_has_each_variable_lock_and_function(manual: Path) -> None:
    text = plain(manual / "man7/liblockswap.7")
    registry = json.loads(subprocess.check_output([ROOT / "build/bin/lockswap-registry"], text=True))
    environment = text.partition("\nENVIRONMENT\n")[2].partition("\nFILES\n")[0]
    assert len(registry["config"]) > 10
    for option in registry["config"]:
        assert re.search(rf"^ +{option['name']}$", environment, re.MULTILINE), option["name"]
    listed = (ROOT / "interpose/symbols.txt").read_text().splitlines()
    exported = {line.split()[0] for line in listed if re.match(r"\w+ +\S+ +lockswap\b", line)}
    assert "pthread_rwlock_rdlock" in exported
    assert [name for name in sorted(exported) if not re.search(rf"\b{name}\b", text)] == []
    for heading in ("SYNOPSIS", "DESCRIPTION", "FILES", "EXIT STATUS", "SIGNALS", "EXAMPLES", "LIMITS", "SEE ALSO"):
        assert f"\n{heading}\n" in text, heading


@needs_mandoc
@needs_doxygen
def test_each_function_of_the_linked_libraries_finds_its_page(manual: Path) -> None:
    listed = (ROOT / "interpose/symbols.txt").read_text()
    functions = re.findall(r"^(lockswap_\w+) +LOCKSWAP_1 +\S*\bapi\b", listed, re.MULTILINE)
    exported = (ROOT / "structures/src/library/liblockswap_structures.map").read_text()
    functions += re.findall(r"\b(lockswap_\w+);", exported)
    assert len(functions) > 30
    private = private_names()
    assert set(functions) - private <= {path.stem for path in (manual / "man3").iterdir()}
    for name in set(functions) - private:
        text = plain(manual / f"man3/{name}.3")
        assert re.search(rf"\b{name}\(", text.partition("\nSYNOPSIS\n")[2].partition("\nDESCRIPTION\n")[0]), name


def private_names() -> set[str]:
    """What the headers declare between @cond private and @endcond."""
    texts = [path.read_text() for path in (ROOT / "structures/include/lockswap").glob("*.h")]
    hidden = [part for text in texts for part in re.findall(r"@cond private(.*?)@endcond", text, re.DOTALL)]
    return set(re.findall(r"\b(lockswap_\w+)\b", " ".join(hidden)))


@needs_doxygen
def test_each_public_header_has_a_page(manual: Path) -> None:
    there = {path.stem for path in (manual / "man3").iterdir()}
    headers = [path for tree in ("", "structures") for path in (ROOT / tree / "include/lockswap").glob("*.h*")]
    assert len(headers) > 10
    for header in headers:
        assert f"lockswap_{header.name.removesuffix('.h')}" in there, header


def test_references_lead_to_pages(manual: Path) -> None:
    """Between pages of ours; and links to other pages are no broken ones."""
    assert [path for path in manual.rglob("*") if not path.exists()] == []
    for page in pages(manual):
        named = re.findall(r"\\fB\\%((?:lib)?lockswap[^\\]*(?:\\-[^\\]*)*)\\fR\((\d)\)", page.read_text())
        for name, section in named:
            if section != "3" or shutil.which("doxygen"):
                assert (manual / f"man{section}/{name.replace(chr(92), '')}.{section}").exists(), (page, name)


def test_two_runs_write_the_same(manual: Path, tmp_path: Path) -> None:
    make(tmp_path, "command", "preload")
    for page in pages(tmp_path):
        assert page.read_bytes() == (manual / page.relative_to(tmp_path)).read_bytes()


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    said = make(tmp_path / "man", "development", status=3, doxygen="no-such-doxygen")
    assert said == "no manual pages of section 3: doxygen is not installed\n"
    assert not (tmp_path / "man").exists()
    done = subprocess.run(
        ["/usr/bin/python3", "-S", MAKER, tmp_path / "man", "preload"], capture_output=True, text=True
    )
    assert done.returncode == 3 and done.stderr.startswith("no manual pages: this Python (") and "has no" in done.stderr
