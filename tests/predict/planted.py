"""Builds a program of the model from sources with an edit in one file. The tree stays as it is."""

import os
import shlex
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"


@dataclass(frozen=True)
class Fault:
    file: str
    old: str
    new: str


def _ninja(*words: str) -> str:
    return subprocess.run(["ninja", "-C", BUILD, *words], check=True, capture_output=True, text=True).stdout


def _precompiled(words: list[str]) -> list[str]:
    """What the command includes before its source, if anything."""
    return words[words.index("-include") : words.index("-include") + 2] if "-include" in words else []


def _reached(fault: Fault, compiled: dict[str, list[str]]) -> list[str]:
    """The objects that are compiled from the file, or from a source that includes it, also by precompiled headers."""
    wanted = os.path.relpath(ROOT / fault.file, BUILD), str(ROOT / fault.file)

    @cache
    def includes_it(name: str) -> bool:
        return any(line.strip() in wanted for line in _ninja("-t", "deps", name).splitlines())

    headers = {
        name: [os.path.relpath(f"{file}.gch", BUILD) for file in _precompiled(words)[1:]]
        for name, words in compiled.items()
    }
    return [name for name in compiled if name.endswith(".o") and any(map(includes_it, [name, *headers[name]]))]


def build(target: str, program: str, fault: Fault, folder: Path) -> Path:
    """`program` is where the build leaves the target, which must be there already, relative to the build tree."""
    text = (ROOT / fault.file).read_text(encoding="utf-8")
    assert text.count(fault.old) == 1, f"this stands {text.count(fault.old)} times in {fault.file}: {fault.old}"
    commands = [shlex.split(line) for line in _ninja("-t", "commands", target).splitlines()]
    compiled = {words[words.index("-o") + 1]: words for words in commands if "-c" in words}
    changed = {}
    for number, name in enumerate(_reached(fault, compiled)):
        changed[name] = str(folder / f"{number}.o")
        _compile(compiled[name], fault, text, folder, changed[name])
    assert changed, f"nothing of {target} is compiled from {fault.file}"
    links = [words for words in commands if "-o" in words and words[words.index("-o") + 1] == program]
    words = links[-1][links[-1].index("&&") + 1 :] if "&&" in links[-1] else links[-1]
    words = words[: words.index("&&")] if "&&" in words else words
    out = folder / Path(program).name
    command = [changed.get(word, str(out) if word == program else word) for word in words]
    subprocess.run(command, cwd=BUILD, check=True, capture_output=True, text=True)
    return out


def _compile(words: list[str], fault: Fault, text: str, folder: Path, out: str) -> None:
    """A header comes first by a folder of its own; a source is compiled from its copy, beside which its headers are."""
    source = words[words.index("-c") + 1]
    edited = text.replace(fault.old, fault.new)
    copy = folder / "edited" / fault.file.removeprefix("src/")
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(edited, encoding="utf-8")
    if (BUILD / source).resolve() == ROOT / fault.file:
        source = str(copy)
    skipped = {"-o", "-MF", "-MT", "-MD", *_precompiled(words)}  # the last are the tree's own headers
    kept = [
        word
        for before, word in zip(["", *words], words, strict=False)
        if word not in skipped and before not in {"-o", "-MF", "-MT", "-c"} and word != "-c"
    ]
    options = next(n for n, word in enumerate(kept) if word.startswith("-"))  # behind the compiler, and its launcher
    kept[options:options] = [f"-I{folder / 'edited'}"]
    command = [*kept, "-w", "-c", source, "-o", out]
    subprocess.run(command, cwd=BUILD, check=True, capture_output=True, text=True)
