#!/usr/bin/env python3
"""Check the order of the harness's modules: no cycle of modules, none of packages, and no more than nine floors.

    check_harness_layers.py [ROOT]

A module that imports nothing of the harness stands on floor 1, every other one floor above the highest that it imports.
All imports count, also those inside a function and those for type checkers. A package is a folder; each file at the top
of the harness is one of its own. An import that leads to no module is a finding, too. Each finding is one line,
`file:line: message`; the exit status is 1 if there is one.
"""

import ast
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SOURCES = "harness/lockswap"
TOP = "lockswap"
MOST_FLOORS = 9

# importing module -> imported module -> the line of the first such import
Imports = dict[str, dict[str, int]]


def module_name(root: Path, file: Path) -> str:
    parts = list(file.relative_to((root / SOURCES).parent).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_names(module: str, is_package: bool, node: ast.AST) -> list[str]:
    """What an import statement may mean, in full: a module, or a name in one."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    base = node.module or ""
    if node.level:
        above = module.split(".")[: None if is_package and node.level == 1 else is_package - node.level]
        base = ".".join([*above, *([base] if base else [])])
    return [f"{base}.{alias.name}" for alias in node.names]


def read_imports(files: dict[str, Path]) -> Imports:
    found: Imports = {}
    for module, file in files.items():
        lines = found.setdefault(module, {})
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            for name in imported_names(module, file.name == "__init__.py", node):
                # `from a.b import c`: c is a module, or else a name in the module a.b.
                target = name if name in files else name.rpartition(".")[0]
                if name.split(".")[0] == TOP and target != module:
                    lines[target] = min(node.lineno, lines.get(target, node.lineno))
    return found


def package_of(module: str, files: dict[str, Path]) -> str:
    return module if files[module].name == "__init__.py" or module.count(".") == 1 else module.rpartition(".")[0]


def between_packages(imports: Imports, files: dict[str, Path]) -> dict[str, dict[str, str]]:
    """importing package -> imported package -> the place of one such import"""
    found: dict[str, dict[str, str]] = {}
    for module, targets in imports.items():
        importing = package_of(module, files)
        lines = found.setdefault(importing, {})
        for target, line in targets.items():
            imported = package_of(target, files)
            if imported != importing:
                lines.setdefault(imported, f"{module}:{line}")
    return found


def cycle(graph: dict[str, dict]) -> list[str]:
    """A cycle as a list whose first entry is also its last; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1][::-1]  # each imports the next
    return []


def longest_chain(imports: Imports) -> list[str]:
    """The modules of the tallest chain of imports, from the top floor down."""
    below: dict[str, list[str]] = {}
    for module in TopologicalSorter(imports).static_order():
        below[module] = [module, *max((below[target] for target in imports.get(module, {})), key=len, default=[])]
    return max(below.values(), key=len, default=[])


def check(root: Path, files: dict[str, Path]) -> list[str]:
    def place(module: str, line: int) -> str:
        return f"{files[module].relative_to(root).as_posix()}:{line}"

    imports = read_imports(files)
    findings = [
        f"{place(module, line)}: there is no module {target}"
        for module, targets in imports.items()
        for target, line in targets.items()
        if target not in files
    ]
    if findings:
        return findings
    if found := cycle(imports):
        findings.append(f"{place(found[0], imports[found[0]][found[1]])}: modules form a cycle: {_arrows(found)}")
    packages = between_packages(imports, files)
    if found := cycle(packages):
        module, _, line = packages[found[0]][found[1]].partition(":")
        findings.append(f"{place(module, int(line))}: packages form a cycle: {_arrows(found)}")
    if not findings:
        chain = longest_chain(imports)
        if len(chain) > MOST_FLOORS:
            line = imports[chain[0]][chain[1]]
            findings.append(
                f"{place(chain[0], line)}: on floor {len(chain)} of at most {MOST_FLOORS}: {_arrows(chain)}"
            )
    return findings


def _arrows(modules: list[str]) -> str:
    return " -> ".join(modules)


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    files = {module_name(root, file): file for file in sorted((root / SOURCES).rglob("*.py"))}
    findings = check(root, files)
    if findings:
        print("\n".join(findings))
    else:
        print(f"harness: {len(files)} modules on {len(longest_chain(read_imports(files)))} floors, no cycle")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
