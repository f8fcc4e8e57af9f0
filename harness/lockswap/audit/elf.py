"""What an ELF file says of the locks in it, before it runs."""

from pathlib import Path
from typing import BinaryIO

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from lockswap.base.program_headers import LOAD, program_headers
from lockswap.run import program

_NAMES = ("init", "destroy", "rdlock", "tryrdlock", "wrlock", "trywrlock", "unlock")
_FUNCTIONS = [f"pthread_rwlock_{name}" for name in _NAMES]
_GO = (".go.buildinfo", ".note.go.buildid")


def hindrances(path: Path) -> list[str]:
    """Reasons why a preloaded library misses locks of this executable. A script has none: its processes will show."""
    found = program.hindrances(path)
    try:
        file = path.open("rb")
    except OSError:  # it may be executed, and not read
        return found
    with file:
        elf = _open(file)
        if elf is None:
            return []
        if any(elf.get_section_by_name(name) for name in _GO):
            found.append(
                f"'{path.name}' is a Go program: the locks of Go code are Go's own; only C libraries in it are seen"
            )
        if defined := _rwlock_functions_of(elf):
            found.append(f"'{path.name}' defines {defined[0]} itself, which comes before a preload's; build it without")
    return found


def virtual_address(file: BinaryIO, offset: int) -> int | None:
    """Where a byte of the file is in the file's own address space."""
    for segment in program_headers(file, LOAD):
        if segment.offset <= offset < segment.offset + segment.file_size:
            return offset - segment.offset + segment.address
    return None


def _open(file: object) -> ELFFile | None:
    try:
        return ELFFile(file)
    except ELFError:
        return None


def _rwlock_functions_of(elf: ELFFile) -> list[str]:
    """Those that the loader would find in this file."""
    table = elf.get_section_by_name(".gnu.hash")
    symbols = [] if table is None else [table.get_symbol(name) for name in _FUNCTIONS]
    return [symbol.name for symbol in symbols if symbol and symbol["st_shndx"] != "SHN_UNDEF"]
