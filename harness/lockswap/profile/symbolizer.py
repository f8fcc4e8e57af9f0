"""Functions and lines at addresses in a file: from its debug information, or else from its symbols."""

import re
import shutil
import struct
import subprocess
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

_PATIENCE_S = 120  # for one file's debug information


@dataclass(frozen=True)
class Function:
    """A function in a stack, with the line where it is in it; several for one address, where calls were inlined."""

    name: str
    line: str = ""  # FILE:NUMBER
    file: str = field(default="", compare=False)  # the source's whole path, or the module's if it has no lines

    def __str__(self) -> str:
        return f"{self.name} {self.line}".rstrip()


def functions_in(
    file: str, addresses: list[int], symbols_in: Callable[[str, str], "Symbols"]
) -> dict[int, list[Function]]:
    """The functions at each address, the innermost first. Addresses about which nothing is known are left out."""
    if not addresses:
        return {}
    found = _ask_llvm(file, addresses)
    if unknown := [address for address in addresses if not _is_whole(found.get(address, []))]:
        found |= {address: some for address, some in _ask_addr2line(file, unknown).items() if some}
    symbols = symbols_in(file, "STT_FUNC")
    named = {address: [one for one in some if one.name != "??"] for address, some in found.items()}
    return {
        address: some
        for address, some in named.items()
        # Without debug information the tools name the symbol before, however far away it is.
        if some and (some[-1].line or symbols.at(address))
    }


def _is_whole(functions: list[Function]) -> bool:
    """LLVM's reader does not know names that are kept in a file of their own, as dwz does with several packages."""
    return bool(functions) and all(one.name != "??" for one in functions)


@lru_cache
def llvm_symbolizer() -> str | None:
    """Some distributions install it with its version in the name only."""
    versions = (f"llvm-symbolizer-{version}" for version in range(40, 8, -1))
    return next(filter(None, map(shutil.which, ["llvm-symbolizer", *versions])), None)


def _ask_llvm(file: str, addresses: list[int]) -> dict[int, list[Function]]:
    """Preferred to addr2line, which names inlined functions without a linkage name after the function around them."""
    tool = llvm_symbolizer()
    if tool is None:
        return {}
    words = [tool, f"--obj={file}", "--functions=linkage", "--demangle", "--inlining", "--output-style=LLVM"]
    found: dict[int, list[Function]] = {}
    # Each answer ends with an empty line. In a pair of a name and a place, the place always has a colon.
    answers = _output(words, addresses).split("\n\n")
    for address, answer in zip(addresses, answers, strict=False):
        lines = answer.strip("\n").split("\n")
        pairs = zip(lines[::2], lines[1::2], strict=False)
        found[address] = [_function(name, where.rpartition(":")[0]) for name, where in pairs]
    return found


def _ask_addr2line(file: str, addresses: list[int]) -> dict[int, list[Function]]:
    tool = shutil.which("addr2line")
    if tool is None:
        return {}
    found: dict[int, list[Function]] = {}
    lines = _output([tool, "-a", "-i", "-f", "-C", "-e", file], addresses).splitlines()
    now: list[Function] = []
    i = 0
    while i < len(lines):
        if re.fullmatch(r"0x[0-9a-f]+", lines[i]):
            now = found.setdefault(int(lines[i], 16), [])
            i += 1
        else:
            now.append(_function(lines[i], lines[i + 1] if i + 1 < len(lines) else ""))
            i += 2
    return {address: [one for one in some if one.name != "??"] for address, some in found.items()}


def _output(words: list[str], addresses: list[int]) -> str:
    asked = "".join(f"{address:#x}\n" for address in addresses)
    try:
        done = subprocess.run(words, input=asked, capture_output=True, text=True, errors="replace", timeout=_PATIENCE_S)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def _function(name: str, where: str) -> Function:
    """`where` is FILE:NUMBER, perhaps with a word in brackets behind it."""
    file, _, number = where.partition(" (")[0].rpartition(":")
    if not file or file.startswith("??") or not number.isdigit() or number == "0":
        return Function(short(name), file="" if file.startswith("??") else file)
    return Function(short(name), f"{Path(file).name}:{number}", file)


_OPERATOR = re.compile(r"\boperator *(\(\)|\[\]|[-+*/%^&|~!=<>,]+)")


def short(name: str) -> str:
    """Without the parameters, which a line has no room for. Those of a function around it are kept."""
    depth, i = 0, 0
    while i < len(name):
        if operator := _OPERATOR.match(name, i):
            i = operator.end()
            continue
        if name[i] == "(" and depth == 0 and i and not _is_scope(name, i):
            return name[:i]
        depth += (name[i] in "<({") - (name[i] in ">)}")
        i += 1
    return name


def _is_scope(name: str, opening: int) -> bool:
    """Whether the parenthesis belongs to the name: `(anonymous namespace)::f()`, `f(int)::{lambda()#1}::operator()`.

    Or to the type before it: `decltype (auto) f()`.
    """
    if name[:opening].rstrip().endswith("decltype"):
        return True
    depth = 0
    for i in range(opening, len(name)):
        depth += (name[i] == "(") - (name[i] == ")")
        if depth == 0:
            return re.match(r"( const)?(::|\))", name[i + 1 :]) is not None
    return False


_TYPES = {"STT_OBJECT": 1, "STT_FUNC": 2}


def _read_symbols(elf: ELFFile, table: SymbolTableSection, kind: str) -> Iterator[tuple[int, int, str]]:
    """Where each begins, its size and its name. Large files have too many for elftools' own, slow reader."""
    order = "<" if elf.little_endian else ">"
    layout = f"{order}IBBHQQ" if elf.elfclass == 64 else f"{order}IIIBBH"
    names, data = elf.get_section(table["sh_link"]).data(), table.data()
    for entry in struct.iter_unpack(layout, data[: len(data) - len(data) % struct.calcsize(layout)]):
        offset, info, _, _, value, size = entry if elf.elfclass == 64 else (entry[0], *entry[3:], *entry[1:3])
        if value and info & 0xF == _TYPES[kind]:
            yield value, size, names[offset : names.index(b"\0", offset)].decode(errors="replace")


class Symbols:
    """A file's own, with their sizes."""

    def __init__(self, file: str, kind: str) -> None:
        self._symbols: list[tuple[int, int, str]] = []
        try:
            with Path(file).open("rb") as opened:
                elf = ELFFile(opened)
                self._symbols = sorted(
                    symbol
                    for name in (".symtab", ".dynsym")
                    if isinstance(table := elf.get_section_by_name(name), SymbolTableSection)
                    for symbol in _read_symbols(elf, table, kind)
                )
        except (OSError, ELFError, ValueError):
            pass
        self._starts = [symbol[0] for symbol in self._symbols]

    def at(self, address: int) -> tuple[int, str] | None:
        """The symbol that the address lies in: where it begins, and its name."""
        i = bisect_right(self._starts, address) - 1
        if i < 0 or address >= self._symbols[i][0] + self._symbols[i][1]:
            return None
        begin, _, name = self._symbols[i]
        return begin, name


def variables_in(file: str, addresses: Iterable[int], symbols_in: Callable[[str, str], Symbols]) -> dict[int, str]:
    symbols = symbols_in(file, "STT_OBJECT")
    found = [(address, symbol) for address in addresses if (symbol := symbols.at(address))]
    names = _demangled([name for _, (_, name) in found])
    return {
        address: name if address == begin else f"{name}+{address - begin:#x}"
        for (address, (begin, _)), name in zip(found, names, strict=True)
    }


def _demangled(names: list[str]) -> list[str]:
    tool = shutil.which("c++filt")
    if tool is None or not names:
        return names
    done = subprocess.run([tool], input="".join(f"{n}\n" for n in names), capture_output=True, text=True)
    lines = done.stdout.splitlines()
    return lines if len(lines) == len(names) else names
