#!/usr/bin/env python3
"""Check the layer order of the C and C++ sources: which may include which, what is the platform's alone.

    check_layers.py [ROOT]

Each finding is one line, `file:line: message`; the exit status is 1 if there is one.
"""

import re
import sys
from pathlib import Path

SOURCES = {".c", ".cc", ".cpp", ".h", ".hpp"}

# The order of src/README.md: a layer may include itself and what stands above it.
LAYERS = [
    "src/platform",
    "src/wait",
    "src/readers",
    "src/reclaim",
    "src/locks",
    "src/range",
    "src/posix",
    "src/config",
    "src/probes",
    "src/stats",
    "src/ops",
    "src/registry",
    "src/report",
]

# Folders of a layer, with what each may include beside itself and the files that lie in none of them. Those files may
# include each other, and the folders named here.
FOLDERS = {
    "src/locks": {"common": [], "mutex": ["common"], "rw": ["common"], "": ["common"]},
}

# Folders outside that list, with all that they may include beside themselves.
OTHERS = {
    # The profile of locks: a part of the preload library that knows no lock either.
    "profile": ["src/platform", "recording"],
    # Counters for monitoring, the same.
    "metrics": ["src/platform", "recording"],
    # The record of all lock calls, the same.
    "calls": ["src/platform", "recording"],
    # What these and the audit record with.
    "recording": ["src/platform"],
    "interpose": [
        *("src/platform", *LAYERS[LAYERS.index("src/config") :]),
        *("profile", "metrics", "calls", "recording", "include/lockswap"),
    ],
    # A preload library of its own, made of the same symbols.
    "audit": ["src/platform", "src/config", "src/ops", "interpose", "recording"],
    # Another one.
    "fuzz": ["src/platform", "src/wait", "src/posix", "src/config", "src/ops", "interpose", "recording"],
    # What programs include: it is installed without src/.
    "include/lockswap": [],
    # The second platform: it runs the locks, the locks do not know it.
    "src/multicore": LAYERS,
    # The cost model's programs over it.
    "predict": [*LAYERS, "src/multicore", "calls", "recording"],
    # Benchmarks: plain programs, some of which look into the library.
    "apps": [*LAYERS, "include/lockswap"],
    # What papers made beside locks: structures/README.md. Nothing of the above includes them.
    "structures/include/lockswap": [],
    "structures/src/rlu": ["src/platform", "src/wait", "src/readers", "src/locks"],
    "structures/src/library": ["src/platform", "src/wait", "structures/src/rlu", "structures/include/lockswap"],
    "structures/src/address_space": ["src/platform", "include/lockswap", "structures/include/lockswap"],
    "structures/src/variants": ["src/platform", "src/wait", "src/readers", "src/locks"],
    "structures/apps": [
        *("src/platform", "src/wait", "src/reclaim", "src/range", "include/lockswap", "apps"),
        *("src/readers", "src/posix", "src/ops", "structures/src/variants", "src/multicore", "predict"),
        *("structures/src/rlu", "structures/src/address_space", "structures/include/lockswap"),
    ],
    # The structures in the cost model.
    "structures/predict": [
        *(*LAYERS, "src/multicore", "predict", "structures/apps"),
        *("structures/src/rlu", "structures/src/address_space", "structures/include/lockswap"),
    ],
}

# Where an include may begin, beside the file's own folder and the root: in these of the root and of structures/.
INCLUDED_FROM = ("src", "include", "apps")
STRUCTURES = "structures"

PLATFORM = "src/platform"

# A second platform has a machine of its own, headers without a library are their own door, and programs are programs.
OWN_MACHINE = (
    *(PLATFORM, "src/multicore", "include/lockswap", "structures/include/lockswap"),
    *("apps", "structures/apps", None),
)
# The platform is the only door to the machine: elsewhere in the libraries these may not be.
PLATFORM_ONLY = [
    (re.compile(r"#\s*include\s*<atomic>|\bstd::atomic\w*|\b(__atomic|__sync)_\w+"), "atomics"),
    (re.compile(r"#\s*include\s*<stdatomic\.h>|\batomic_thread_fence\b"), "atomics"),
    (re.compile(r"#\s*include\s*<linux/futex\.h>|\b(SYS|__NR)_futex\w*|\bFUTEX_\w+"), "futex"),
    (re.compile(r"\bclock_gettime\b|\bstd::chrono\b|#\s*include\s*<chrono>|\b__?rdtscp?\b"), "clocks"),
    (re.compile(r"\bthread_local\b|\b_Thread_local\b|(?<!\w)__thread\b"), "thread-locals"),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def layer_of(path: str) -> str | None:
    """The layer of a path relative to the root, or None for a file that belongs to no layer."""
    for layer in [*LAYERS, *OTHERS]:
        if path == layer or path.startswith(layer + "/"):
            return layer
    return None


def allowed(layer: str) -> set[str]:
    if layer in OTHERS:
        return {layer, *OTHERS[layer]}
    return set(LAYERS[: LAYERS.index(layer) + 1])


def folder_of(path: str, layer: str) -> str:
    """The folder of a file of that layer; "": none."""
    first, slash, _ = path[len(layer) + 1 :].partition("/")
    return first if slash else ""


def wrong_folder(path: str, target: str) -> str | None:
    """What is wrong with an include from one file of a layer to another one."""
    layer = layer_of(path)
    if layer not in FOLDERS or layer_of(target) != layer:
        return None
    folders = FOLDERS[layer]
    here, there = folder_of(path, layer), folder_of(target, layer)
    if there in ("", here) or there in folders.get(here, []):
        return None
    return f"{layer}/{here} may not include {layer}/{there}"


def without_comments(text: str) -> str:
    """The text with comments and literals blanked, lines kept; includes keep their quoted name."""

    def blank(match: re.Match[str]) -> str:
        start = text.rfind("\n", 0, match.start()) + 1
        if match[0].startswith('"') and re.match(r"\s*#\s*include\s*$", text[start : match.start()]):
            return match[0]
        return re.sub(r"[^\n]", " ", match[0])

    return COMMENT_OR_TEXT.sub(blank, text)


def bases(root: Path, file: Path) -> list[Path]:
    """Where an include of the file may begin, in order: its folder, the root, the folders of its own tree and of the
    other one."""
    trees = [root, root / STRUCTURES]
    if file.is_relative_to(root / STRUCTURES):
        trees.reverse()
    return [file.parent, root, *(tree / folder for tree in trees for folder in INCLUDED_FROM)]


def included_file(root: Path, file: Path, name: str) -> str | None:
    """The file of a layer that an include leads to; if none is there, the one that it would be below src/."""
    if_none = None
    for base in bases(root, file):
        target = (base / name).resolve()
        if not target.is_relative_to(root) or not layer_of(path := target.relative_to(root).as_posix()):
            continue
        if target.exists():
            return path
        if base.name == "src" or base == root or name.startswith("."):
            if_none = if_none or path
    return if_none


def check_file(root: Path, file: Path) -> list[str]:
    path = file.relative_to(root).as_posix()
    layer = layer_of(path)
    if layer is None:
        if path.startswith("src/"):
            return [f"{path}:1: belongs to no layer; src/ has {', '.join(LAYERS)} (see src/README.md)"]
        if path.startswith(f"{STRUCTURES}/"):
            return []
    findings = []
    may = allowed(layer) if layer else {one for one in (*LAYERS, *OTHERS) if not one.startswith(f"{STRUCTURES}/")}
    for number, line in enumerate(without_comments(file.read_text(encoding="utf-8")).splitlines(), 1):
        if match := INCLUDE.match(line):
            name = match[1] or match[2]
            target = included_file(root, file, name)
            if target and layer_of(target) not in may:
                here = layer or path.partition("/")[0]
                findings.append(f"{path}:{number}: {here} may not include {layer_of(target)} ({name})")
            elif target and (wrong := wrong_folder(path, target)):
                findings.append(f"{path}:{number}: {wrong} ({name})")
        if layer in OWN_MACHINE:
            continue
        for pattern, what in PLATFORM_ONLY:
            if match := pattern.search(line):
                findings.append(f"{path}:{number}: {what} occur in {PLATFORM} alone ('{match[0].strip()}')")
    return findings


def missing(root: Path) -> list[str]:
    """Folders that this check names and the tree does not have: rules about nothing."""
    inner = (f"{layer}/{folder}" for layer, folders in FOLDERS.items() for folder in folders if folder)
    named = [*LAYERS, *OTHERS, *inner]
    return [
        f"scripts/check_layers.py:1: names {path}, which is no folder" for path in named if not (root / path).is_dir()
    ]


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    tops = (
        *("src", "recording", "profile", "metrics", "calls", "interpose", "audit", "fuzz", "include"),
        *("apps", "harness", "tests", "tools", STRUCTURES),
    )
    files = [f for top in tops for f in sorted((root / top).rglob("*")) if f.suffix in SOURCES]
    findings = missing(root) + [finding for file in files for finding in check_file(root, file)]
    print("\n".join(findings) if findings else f"layers: {len(files)} files, in order")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
