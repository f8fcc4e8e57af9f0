#!/usr/bin/env python3
"""Check the preload library against its version script: what it exports, and what it must not need.

    check_symbols.py LIBRARY VERSION_SCRIPT [PROMISE]

PROMISE is a macro of interpose/exports.h that names the oldest glibc that the library must load on.

A name that the script lists and the library lacks is skipped by the loader without a word, and the
program's lock calls go to glibc; a name that the library exports and nobody listed takes the place of a
function of the program. Each finding is one line, `file:line: message`; the exit status is 1 if there is one.
"""

import re
import subprocess
import sys
from pathlib import Path

# The preload library runs inside the program's malloc: it may not call it, nor write to the program's output.
FORBIDDEN = re.compile(
    r"malloc|calloc|realloc|free|posix_memalign|aligned_alloc|memalign|strdup|_Zn[wa]\w+|_Zd[la]\w+"
    r"|f?printf|v?f?printf|puts|fputs|fwrite|putchar|fopen|__\w*printf_chk|__cxa_throw"
)
EXPORTS = Path("interpose/exports.h")
LIBRARIES = re.compile(r"libc\.so\.6|ld-linux[\w-]*\.so\.\d+")


def tool(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def listed(script: Path) -> dict[tuple[str, str], int]:
    """(name, version) -> line of the version script, for its global names."""
    text = re.sub(r"/\*.*?\*/|#[^\n]*", lambda m: re.sub(r"[^\n]", " ", m[0]), script.read_text(), flags=re.DOTALL)
    names = {}
    for node in re.finditer(r"([\w.]*)\s*\{(.*?)\}", text, re.DOTALL):
        scope, at = "global", node.start(2)
        for token in re.finditer(r"(global|local)\s*:|([^\s;:{}]+)\s*;", node[2]):
            scope = token[1] or scope
            if token[2] and scope == "global":
                names[token[2], node[1]] = text.count("\n", 0, at + token.start(2)) + 1
    return names


def exported(library: Path) -> dict[tuple[str, str], str]:
    """(name, version) -> place in the sources, or "" where the debug information does not say."""
    names = {}
    for line in tool("nm", "-D", "-l", "--defined-only", "--with-symbol-versions", str(library)).splitlines():
        symbol, _, place = line.partition("\t")
        _, kind, name = symbol.split(maxsplit=2)
        name, _, version = name.partition("@")
        if kind != "A" and name != version.lstrip("@"):  # a version node itself is an absolute symbol
            names[name, version.lstrip("@")] = place
    return names


def needed(library: Path) -> list[str]:
    return re.findall(r"\(NEEDED\)[^\[]*\[([^\]]+)\]", tool("readelf", "-dW", str(library)))


def undefined(library: Path) -> list[str]:
    lines = tool("nm", "-D", "-u", str(library)).splitlines()
    return [line.split()[-1].partition("@")[0] for line in lines]


def promised(macro: str) -> str:
    found = re.search(rf'^#define {macro} "(\d+\.\d+)"$', EXPORTS.read_text(), re.MULTILINE)
    if found is None:
        sys.exit(f"check_symbols.py: {EXPORTS} does not define {macro} as a version of glibc")
    return found[1]


def number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def newer(library: Path, oldest: str) -> list[tuple[str, str]]:
    """(name, version) of what the library wants of a glibc newer than `oldest`, which refuses to load it then, be the
    reference weak or not."""
    table = tool("objdump", "-T", str(library))
    wanted = re.findall(r"\*UND\*\s+\S+\s+\(?GLIBC_([\d.]+)\)?\s+(\S+)", table)
    return [(name, version) for version, name in wanted if number(version) > number(oldest)]


def spell(symbol: tuple[str, str]) -> str:
    return "@".join(part for part in symbol if part)


def check(library: Path, script: Path, promise: str = "") -> list[str]:
    want, have = listed(script), exported(library)
    findings = [
        f"{script}:{line}: {spell(symbol)} is listed, but {library} does not export it"
        for symbol, line in want.items()
        if symbol not in have
    ]
    findings += [
        f"{place or f'{script}:1'}: {spell(symbol)} is exported, but {script.name} does not list it"
        for symbol, place in have.items()
        if symbol not in want
    ]
    findings += [
        f"{script}:1: {library} needs {name}; it may need libc only"
        for name in needed(library)
        if not LIBRARIES.fullmatch(name)
    ]
    findings += [
        f"{script}:1: {library} calls {name}, which may take a lock of the program or write to its output"
        for name in undefined(library)
        if FORBIDDEN.fullmatch(name)
    ]
    if promise:
        oldest = promised(promise)
        findings += [
            f"{script}:1: {library} needs {name}@GLIBC_{version}, but glibc {oldest} must load it "
            f"({EXPORTS}: {promise}); see interpose/moved_functions.cpp"
            for name, version in newer(library, oldest)
        ]
    return findings


def main() -> int:
    if len(sys.argv) not in (3, 4):
        print("usage: check_symbols.py LIBRARY VERSION_SCRIPT [PROMISE]", file=sys.stderr)
        return 2
    library, script = map(Path, sys.argv[1:3])
    findings = check(library, script, *sys.argv[3:])
    print("\n".join(findings) if findings else f"symbols: {len(listed(script))} listed and exported")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
