#!/usr/bin/env python3
"""Check the form of what is written for people: Markdown, and comments in C++ and shell.

    check_prose.py [ROOT]

In Markdown each sentence has a line of its own, of at most 160 characters (120 for a table's cell), and links lead
somewhere. A line with a comment has at most 100 characters in C++ and 120 in shell; ruff checks Python.

Each finding is one line, `file:line: message`; the exit status is 1 if there is one.
"""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

MOST_IN_A_LINE = 160
MOST_IN_A_CELL = 120
# A line with a comment in it, by the language of the file. Clang-format leaves comments as they are.
C_COMMENT = (re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL), 100)
SHELL_COMMENT = (re.compile(r"(?<!\S)#[^\n]*"), 120)
COMMENTS = {
    **dict.fromkeys([".c", ".cc", ".cpp", ".h", ".hpp"], C_COMMENT),
    **dict.fromkeys([".sh", ".inc"], SHELL_COMMENT),
}

Finding = tuple[str, int, str]  # file, line, message


def tracked(root: Path) -> list[str]:
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    return sorted(name for name in names if name and (root / name).is_file())


CODE_SPAN = re.compile(r"(`+)(?:(?!\1).)+\1")
LINK_TARGET = re.compile(r"\]\(([^()\s]+)\)")
HTML_TARGET = re.compile(r"""\b(?:src|srcset|href)="([^"]+)\"""")
BARE_URL = re.compile(r"https?://[^\s)>]+")
LIST_MARK = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
LEAD_IN = re.compile(r"^\s*(\*\*[^*]+[.:?]\*\*|\*[^*]+[.:]\*)\s+")  # "**Fork.** A child ..." is one sentence
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|al|pp|Fig|No|Dr|St|[A-Z])\.$")
SENTENCE_END = re.compile(r"[.!?]['\")*_\]]*\s+(?=[\"'(*_\[]*[A-Z0-9])")
FENCE = re.compile(r"^\s*(```|~~~)")


def cells_of(line: str) -> list[str]:
    """The cells of a table's row; none if the line is no row."""
    if not line.lstrip().startswith("|"):
        return []
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def without_targets(line: str) -> str:
    return BARE_URL.sub("", HTML_TARGET.sub("", LINK_TARGET.sub("]()", line)))


def plain(line: str) -> str:
    """The words alone: code is one word, links are their text."""
    return re.sub(r"\[([^\]]*)\]\(\)", r"\1", without_targets(CODE_SPAN.sub("Code", line)))


def second_sentence(line: str) -> str:
    """Where a second sentence begins on the line, or nothing."""
    text = LEAD_IN.sub("", LIST_MARK.sub("", plain(line)), count=1)
    for end in SENTENCE_END.finditer(text):
        if not ABBREVIATION.search(text[: end.start() + 1]):
            return text[end.end() : end.end() + 30]
    return ""


def prose_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a document that are no code block."""
    in_fence = in_list = False
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            in_fence = not in_fence
        elif not in_fence:
            in_list = bool(LIST_MARK.match(line)) or (in_list and (not line.strip() or line.startswith(" ")))
            indented = line.startswith("    ") and not in_list
            if not (indented and (not before.strip() or before.startswith("    "))):
                yield number, line
        before = line


def check_form(name: str, text: str) -> Iterator[Finding]:
    for number, line in prose_lines(text):
        if cells := cells_of(line):
            for cell in cells:
                if (length := len(without_targets(cell))) > MOST_IN_A_CELL:
                    yield name, number, f"a cell of {length} characters, {MOST_IN_A_CELL} at most: '{cell[:40]}...'"
        else:
            if (length := len(without_targets(line))) > MOST_IN_A_LINE:
                yield name, number, f"a line of {length} characters, {MOST_IN_A_LINE} at most"
            if second := second_sentence(line):
                yield name, number, f"a second sentence on the line: '{second}...'"


def anchors_of(text: str) -> set[str]:
    """The anchors that GitHub makes of headings, and those that are written out."""
    anchors: set[str] = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
    seen: Counter[str] = Counter()
    for _, line in prose_lines(text):
        if match := re.match(r"#+\s+(.*)", line):
            words = re.sub(r"[`*]|\[|\]\([^)]*\)", "", match[1]).strip().lower()
            anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            anchors.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
            seen[anchor] += 1
    return anchors


def check_links(root: Path, name: str, text: str, there: set[str]) -> Iterator[Finding]:
    """`there` has the files and the folders of the tree."""
    for number, line in prose_lines(text):
        line = CODE_SPAN.sub("Code", line)
        for target in LINK_TARGET.findall(line) + HTML_TARGET.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            goal = ((root / name).parent / path).resolve() if path else root / name
            inside = goal.relative_to(root).as_posix() if goal.is_relative_to(root) else ""
            if inside not in there:
                yield name, number, f"the link '{target}' leads nowhere"
            elif anchor and anchor not in anchors_of(goal.read_text(encoding="utf-8")):
                yield name, number, f"the link '{target}' leads to no heading"


def check_comments(name: str, text: str) -> Iterator[Finding]:
    pattern, most = COMMENTS[Path(name).suffix]
    lines = text.splitlines()
    commented = set()
    for match in pattern.finditer(text):
        if match[0].startswith(("/", "#")):
            first = text.count("\n", 0, match.start())
            commented.update(range(first, first + match[0].count("\n") + 1))
    for number in sorted(commented):
        if (length := len(lines[number])) > most:
            yield name, number + 1, f"a comment line of {length} characters, {most} at most"


def findings_in(root: Path, files: list[str]) -> Iterator[Finding]:
    there = {parent.as_posix() for name in files for parent in Path(name).parents} | set(files)
    for name in files:
        if name.endswith(".md"):
            text = (root / name).read_text(encoding="utf-8")
            yield from check_form(name, text)
            yield from check_links(root, name, text, there)
        elif Path(name).suffix in COMMENTS:
            yield from check_comments(name, (root / name).read_text(encoding="utf-8"))


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    files = tracked(root)
    found = list(findings_in(root, files))
    for name, line, message in found:
        print(f"{name}:{line}: {message}")
    if not found:
        print(f"prose: {sum(name.endswith('.md') or Path(name).suffix in COMMENTS for name in files)} files")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
