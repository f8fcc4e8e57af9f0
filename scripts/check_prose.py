#!/usr/bin/env python3
"""Check the words of the tree: Markdown, and comments in C++, Python and shell.

    check_prose.py [--list | --regenerate] [ROOT]

Markdown: one sentence a line, no line over 160 characters, no table cell over 120, links that lead
somewhere. Comments: no line over 100 characters in C++, 120 elsewhere. Everywhere: the words that the
table of docs/glossary.md forbids.

Each finding is one line, `file:line: message`; the exit status is 1 if there is one.
scripts/prose_allowed.toml has what is allowed, and why: findings that a file had when the rules came,
by their number, which may only become smaller. --list prints those too; --regenerate writes the
numbers anew.
"""

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

GLOSSARY = "docs/glossary.md"
ALLOWED = "scripts/prose_allowed.toml"
MOST_IN_A_LINE = 160
MOST_IN_A_CELL = 120
MOST_IN_A_COMMENT = {"c": 100, "python": 120, "shell": 120}

LANGUAGE = {
    **dict.fromkeys([".c", ".cc", ".cpp", ".h", ".hpp"], "c"),
    **dict.fromkeys([".sh", ".inc"], "shell"),
    ".py": "python",
    ".md": "markdown",
}

Finding = tuple[str, int, str]  # file, line, message


@dataclass
class Rule:
    word: str
    instead: str
    where: str  # words: prose; names: code without its comments and texts; files: paths
    pattern: re.Pattern[str]


class Rules:
    """Those of one place. Most texts break none, which one search shows."""

    def __init__(self, rules: list[Rule], where: str) -> None:
        self.rules = [rule for rule in rules if rule.where == where]
        joined = "|".join(f"(?:{rule.pattern.pattern})" for rule in self.rules)
        self.any_of = re.compile(joined or r"(?!)", re.IGNORECASE)


@dataclass
class Allowed:
    """What scripts/prose_allowed.toml has."""

    loose: dict[str, str] = field(default_factory=dict)  # documents without rules of form: why
    links: dict[str, str] = field(default_factory=dict)  # "document: target": why
    counts: dict[str, int] = field(default_factory=dict)  # file: findings it still has


def tracked(root: Path) -> list[str]:
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    return sorted(name for name in names if name and (root / name).is_file())


def parents_of(name: str) -> Iterator[str]:
    """The folders that a file is in, also the root."""
    yield "."
    for place, letter in enumerate(name):
        if letter == "/":
            yield name[:place]


# The glossary


def rules_of(text: str) -> list[Rule]:
    """The rows of the table under "Forbidden words": word, what to write instead, where, pattern."""
    rules = []
    for line in text.partition("## Forbidden words")[2].splitlines():
        cells = cells_of(line)
        if len(cells) == 4 and cells[3].startswith("`"):
            pattern = cells[3].strip("`").replace("\\|", "|")
            rules.append(Rule(cells[0], cells[1], cells[2], re.compile(pattern, re.IGNORECASE)))
    return rules


# Markdown


CODE_SPAN = re.compile(r"(`+)(?:(?!\1).)+\1")
LINK_TARGET = re.compile(r"\]\(([^()\s]+)\)")
BARE_URL = re.compile(r"https?://[^\s)>]+")
LIST_MARK = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
LEAD_IN = re.compile(r"^\s*(\*\*[^*]+[.:?]\*\*|\*[^*]+[.:]\*)\s+")  # "**Fork.** A child ..." is one sentence
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|al|pp|Fig|No|Dr|St|[A-Z])\.$")
SENTENCE_END = re.compile(r"[.!?]['\")*_\]]*\s+(?=[\"'(*_\[]*[A-Z0-9])")
PUNCTUATION = " .,;:()"
FENCE = re.compile(r"^\s*(```|~~~)")


def cells_of(line: str) -> list[str]:
    """The cells of a table's row; none if the line is no row."""
    if not line.lstrip().startswith("|"):
        return []
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def without_targets(line: str) -> str:
    return BARE_URL.sub("", LINK_TARGET.sub("]()", line))


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


def check_links(root: Path, name: str, text: str, there: set[str], allowed: Allowed) -> Iterator[Finding]:
    """`there` has the files and the folders of the tree."""
    for number, line in prose_lines(text):
        for target in LINK_TARGET.findall(CODE_SPAN.sub("Code", line)):
            if re.match(r"[a-z]+:", target) or f"{name}: {target}" in allowed.links:
                continue
            path, _, anchor = target.partition("#")
            goal = ((root / name).parent / path).resolve() if path else root / name
            inside = goal.relative_to(root).as_posix() if goal.is_relative_to(root) else ""
            if inside not in there:
                yield name, number, f"the link '{target}' leads nowhere"
            elif anchor and anchor not in anchors_of(goal.read_text(encoding="utf-8")):
                yield name, number, f"the link '{target}' leads to no heading"


# Comments


C_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def c_comments(text: str) -> Iterator[tuple[int, str]]:
    for match in C_TOKEN.finditer(text):
        if match[0].startswith("/"):
            first = text.count("\n", 0, match.start()) + 1
            yield from enumerate(match[0].strip("/*").splitlines(), first)


def python_comments(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("#")
    for node in ast.walk(ast.parse(text)):
        has_body = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if has_body and ast.get_docstring(node) is not None:
            yield from enumerate(node.body[0].value.value.splitlines(), node.body[0].lineno)


def shell_comments(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.search(r"(?:^|\s)#(?!!)(.*)", line):
            yield number, match[1]


COMMENTS = {"c": c_comments, "python": python_comments, "shell": shell_comments}


def without_comments(language: str, text: str) -> str:
    """The code alone, its lines kept: names are looked for there."""

    def blank(match: re.Match[str]) -> str:
        return "\n".join(" " * len(line) for line in match[0].split("\n"))

    if language == "c":
        return C_TOKEN.sub(blank, text)
    texts = r'""".*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|(?:(?<=\s)|^)#[^\n]*'
    return re.sub(texts, blank, text, flags=re.DOTALL | re.MULTILINE)


def paragraphs(lines: list[tuple[int, str]]) -> Iterator[tuple[list[int], str]]:
    """Lines that follow each other, as one text: each character's line, and the text."""
    numbers: list[int] = []
    text = ""
    for number, line in lines:
        words = CODE_SPAN.sub("Code", line.strip())
        if numbers and (not words or number != numbers[-1] + 1):
            yield numbers, text
            numbers, text = [], ""
        if words:
            text += words + " "
            numbers += [number] * (len(words) + 1)
    if numbers:
        yield numbers, text


def check_words(name: str, lines: list[tuple[int, str]], rules: Rules) -> Iterator[Finding]:
    for numbers, text in paragraphs(lines):
        if not rules.any_of.search(text):
            continue
        for rule in rules.rules:
            for match in rule.pattern.finditer(text):
                start = match.start() + len(match[0]) - len(match[0].lstrip(PUNCTUATION))
                word = match[0].strip(PUNCTUATION)
                yield name, numbers[start], f"'{word}': write {rule.instead}"


# All of it


def check_document(root: Path, name: str, there: set[str], rules: Rules, allowed: Allowed) -> Iterator[Finding]:
    text = (root / name).read_text(encoding="utf-8")
    if name not in allowed.loose:
        yield from check_form(name, text)
    yield from check_links(root, name, text, there, allowed)
    words = text.partition("## Forbidden words")[0] if name == GLOSSARY else text
    for number, line in prose_lines(words):
        yield from check_words(name, [(number, plain(LIST_MARK.sub("", line)))], rules)


def check_source(root: Path, name: str, language: str, rules: Rules, of_names: Rules) -> Iterator[Finding]:
    text = (root / name).read_text(encoding="utf-8")
    comments = list(COMMENTS[language](text))
    most = MOST_IN_A_COMMENT[language]
    lines = text.splitlines()
    for number in sorted({number for number, _ in comments}):
        if (length := len(lines[number - 1])) > most:
            yield name, number, f"a comment line of {length} characters, {most} at most"
    yield from check_words(name, comments, rules)
    for number, line in enumerate(without_comments(language, text).splitlines(), 1):
        if "`" in line or of_names.any_of.search(f"{line.strip()} "):
            yield from check_words(name, [(number, line)], of_names)


def findings_in(root: Path, allowed: Allowed) -> list[Finding]:
    files = tracked(root)
    glossary = root / GLOSSARY
    rules = rules_of(glossary.read_text(encoding="utf-8")) if glossary.exists() else []
    of_words, of_names, of_files = (Rules(rules, where) for where in ("words", "names", "files"))
    there = {parent for name in files for parent in parents_of(name)} | set(files)
    found: list[Finding] = [] if rules else [(GLOSSARY, 1, "there is no table of forbidden words")]
    for name in files:
        for rule in of_files.rules:
            if rule.pattern.search(name):
                found.append((name, 1, f"the file's name: write {rule.instead}"))
        language = LANGUAGE.get(Path(name).suffix)
        if language == "markdown":
            found += check_document(root, name, there, of_words, allowed)
        elif language:
            found += check_source(root, name, language, of_words, of_names)
    for key in allowed.links:
        name, _, target = key.partition(": ")
        if not (root / name).exists() or f"]({target})" not in (root / name).read_text(encoding="utf-8"):
            found.append((ALLOWED, 1, f"'{key}' is allowed, but not there"))
    return found


def beyond(found: list[Finding], allowed: Allowed) -> list[Finding]:
    """Findings of files that have more of them than they are allowed; numbers that are larger than need be."""
    counts = Counter(name for name, _, _ in found)
    more = [finding for finding in found if counts[finding[0]] > allowed.counts.get(finding[0], 0)]
    for name, most in allowed.counts.items():
        if counts[name] < most:
            more.append((ALLOWED, 1, f"{name} is allowed {most} findings and has {counts[name]}: lower the number"))
    return more


def regenerate(path: Path, found: list[Finding]) -> None:
    head = path.read_text(encoding="utf-8").partition("[counts]")[0]
    counts = sorted(Counter(name for name, _, _ in found).items())
    path.write_text(head + "[counts]\n" + "".join(f'"{name}" = {count}\n' for name, count in counts), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description="Check Markdown and comments.")
    parser.add_argument("--list", action="store_true", help="print what is allowed, too")
    parser.add_argument("--regenerate", action="store_true", help=f"write the numbers of {ALLOWED} anew")
    parser.add_argument("root", nargs="?", default=".")
    options = parser.parse_args()
    root = Path(options.root).resolve()
    path = root / ALLOWED
    allowed = Allowed(**tomllib.loads(path.read_text(encoding="utf-8"))) if path.exists() else Allowed()
    found = findings_in(root, allowed)
    if options.regenerate:
        regenerate(path, found)
        return 0
    shown = found if options.list else beyond(found, allowed)
    for name, line, message in shown:
        print(f"{name}:{line}: {message}")
    if not shown:
        print(f"prose: {sum(1 for name in tracked(root) if Path(name).suffix in LANGUAGE)} files")
    return 1 if shown else 0


if __name__ == "__main__":
    sys.exit(main())
