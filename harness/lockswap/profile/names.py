"""From addresses in files to functions and lines, after the program has ended."""

import os
import re
import shutil
import subprocess
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, SymbolTableSection

_PAGE = 4096
_PATIENCE_S = 120  # for one file's debug information

# Functions that are a lock's interface, not its user: they are passed over when a site is named.
_WRAPPERS = re.compile(
    r"""^(
      __gthread_|__gthrw_|__glibcxx_rwlock_|pthread_(mutex|rwlock|cond)_
    | std::(recursive_|timed_|recursive_timed_)?mutex::
    | std::(__)?shared_(timed_)?mutex|std::__shared_mutex_|std::__mutex_base
    | (std|boost)::(lock_guard|unique_lock|shared_lock|scoped_lock|upgrade_lock)<
    | (void\ )?std::(lock|try_lock)<|std::condition_variable|std::_V2::condition_variable|std::call_once
    | boost::(recursive_|shared_|timed_)?mutex::|boost::posix::|boost::condition_variable
    | absl::(\w+::)*(Mutex|MutexLock|ReaderMutexLock|WriterMutexLock)\b
    | (rocksdb|leveldb)::(port::(Mutex|RWMutex|CondVar)|
        (Instrumented)?(Mutex|CondVar|Read|Write|ReadUnlock)(Lock|Wrapper)?\b)
    | kyotocabinet::(Mutex|SpinLock|RWLock|SlottedRWLock|SpinRWLock|ScopedMutex|ScopedRWLock|CondVar)\b
    | qemu_(rec_)?mutex_|qemu_cond_|QemuMutex|bql_lock
    | g_(mutex|rec_mutex|rw_lock|cond)_|uv_(mutex|rwlock|cond)_|CRYPTO_THREAD_|PR_(Lock|Unlock|RWLock)|PyThread_
    | (lock|unlock|rdlock|wrlock|mutex_lock|mutex_unlock)$
    )""",
    re.VERBOSE,
)

# What threads begin with, before the function that the program gave.
_STARTS = re.compile(
    r"""^(
      (__GI_)?_*clone|start_thread|thread_start|execute_native_thread_routine|_dl_|_start$|__libc_start|libc\.so|libstdc\+\+\.so
    | \[(no\ file|JIT)\]
    | (\w+\ )?std::(thread|__invoke|_Bind|function)|std::error_code\ |boost::(\(anonymous\ namespace\)::)?thread_proxy
    | boost::detail::
    )""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Function:
    """A function in a stack, with the line where it is in it; several for one address, where calls were inlined."""

    name: str
    line: str = ""  # FILE:NUMBER

    def __str__(self) -> str:
        return f"{self.name} {self.line}".rstrip()


class Names:
    """Looks up all addresses of some processes at once: one call of addr2line for each file."""

    def __init__(self, processes: Iterable[dict]) -> None:
        wanted: dict[tuple[str, str], set[int]] = {}
        variables: dict[tuple[str, str], set[int]] = {}
        for process in processes:
            files = [(m["path"], m["build_id"]) for m in process["modules"]]
            for stack in process["stacks"]:
                for module, address in stack["frames"]:
                    if module >= 0:
                        wanted.setdefault(files[module], set()).add(address - 1)  # inside the call
            for lock in process["locks"]:
                if lock["object"]:
                    module, address = lock["object"]
                    variables.setdefault(files[module], set()).add(address)
        changed = {file for file in {*wanted, *variables} if not _is_same(*file)}
        self.changed = sorted({path for path, _ in changed})
        self._made: dict[int, MadeFunctions] = {}
        self._functions = {
            (file, address): functions
            for file, addresses in wanted.items()
            if file not in changed
            for address, functions in _functions_in(file[0], sorted(addresses))
        }
        self._variables = {
            (file, address): name
            for file, addresses in variables.items()
            if file not in changed
            for address, name in _variables_in(file[0], addresses)
        }

    def frame(self, process: dict, frame: list[int]) -> list[Function]:
        """The innermost first."""
        module, address = frame
        if module < 0:
            return [self._in_no_file(process, address)]
        path, build_id = (process["modules"][module][key] for key in ("path", "build_id"))
        found = self._functions.get(((path, build_id), address - 1))
        return found or [Function(f"{Path(path).name}+{address - 1:#x}")]

    def _in_no_file(self, process: dict, address: int) -> Function:
        """What a compiler in the program has made has the name that it gave, if it wrote a map for `perf`."""
        if not any(begin <= address - 1 < end for begin, end in process.get("made_code", [])):
            return Function(f"[no file] {address:#x}")
        pid = process.get("pid", 0)
        if pid not in self._made:
            self._made[pid] = made_functions(Path(f"/tmp/perf-{pid}.map"))
        name = self._made[pid].at(address - 1)
        return Function(f"[JIT] {name}" if name else f"[JIT] {address:#x}")

    def stack(self, process: dict, frames: list[list[int]]) -> list[Function]:
        return [function for frame in frames for function in self.frame(process, frame)]

    def variable(self, process: dict, place: list[int]) -> str:
        module, address = place
        path, build_id = (process["modules"][module][key] for key in ("path", "build_id"))
        return self._variables.get(((path, build_id), address)) or f"{Path(path).name}+{address:#x}"


class MadeFunctions:
    """Of a compiler in the program. What came later may lie where something older was."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._ranges = []
        for line in lines:
            words = line.rstrip("\n").split(" ", 2)
            try:
                begin, size = int(words[0], 16), int(words[1], 16)
            except (ValueError, IndexError):
                continue
            if len(words) == 3:
                self._ranges.append((begin, begin + size, words[2]))

    def at(self, address: int) -> str | None:
        return next((name for begin, end, name in reversed(self._ranges) if begin <= address < end), None)


def frame_at(modules: list[dict], address: int) -> list[int]:
    """The module that an address of the process lay in, and the address as the file's own tables have it."""
    below = [(one["begin"], number) for number, one in enumerate(modules) if one["begin"] <= address]
    begin, number = max(below, default=(0, -1))
    try:
        with Path(modules[number]["path"] if below else "").open("rb") as opened:
            segments = [one.header for one in ELFFile(opened).iter_segments("PT_LOAD")]
    except (OSError, ELFError):
        return [-1, address]
    own = address - begin + min(one.p_vaddr for one in segments) // _PAGE * _PAGE
    inside = any(one.p_vaddr <= own < one.p_vaddr + one.p_memsz for one in segments)
    return [number, own] if inside else [-1, address]


def made_functions(file: Path) -> MadeFunctions:
    """Lines are BEGIN SIZE NAME. Not of another user's: anybody may write a file with such a name."""
    try:
        if file.stat().st_uid not in (os.getuid(), 0):
            return MadeFunctions([])
        return MadeFunctions(file.read_text(errors="replace").splitlines())
    except OSError:
        return MadeFunctions([])


def site(stack: list[Function]) -> Function | None:
    """The lock's user: the innermost function that is no wrapper."""
    return next((one for one in stack if not is_wrapper(one)), stack[0] if stack else None)


def is_wrapper(function: Function) -> bool:
    return _WRAPPERS.match(function.name) is not None


def without_starts(stack: list[Function]) -> list[Function]:
    """Without the frames that all threads begin with; whole, if there are no others."""
    own = next((n for n, one in enumerate(reversed(stack)) if not _STARTS.match(one.name)), 0)
    return stack[: len(stack) - own]


def start(stack: list[Function]) -> Function | None:
    """The outermost function that is the program's."""
    return next((one for one in reversed(stack) if not _STARTS.match(one.name)), None)


def _is_same(path: str, build_id: str) -> bool:
    """Whether the file is the one that ran. Without a build-id it is believed."""
    try:
        with Path(path).open("rb") as opened:
            elf = ELFFile(opened)
            ids = [
                note["n_desc"]
                for section in elf.iter_sections()
                if isinstance(section, NoteSection)
                for note in section.iter_notes()
                if note["n_type"] == "NT_GNU_BUILD_ID"
            ]
    except (OSError, ELFError):
        return False
    return not build_id or not ids or build_id in ids


def _functions_in(file: str, addresses: list[int]) -> list[tuple[int, list[Function]]]:
    tool = shutil.which("addr2line")
    if tool is None or not addresses:
        return []
    words = "".join(f"{address:#x}\n" for address in addresses)
    try:
        done = subprocess.run(
            [tool, "-a", "-i", "-f", "-C", "-e", file],
            input=words,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    found: dict[int, list[Function]] = {}
    lines = done.stdout.splitlines()
    now: list[Function] = []
    i = 0
    while i < len(lines):
        if re.fullmatch(r"0x[0-9a-f]+", lines[i]):
            now = found.setdefault(int(lines[i], 16), [])
            i += 1
        else:
            name, where = lines[i], lines[i + 1] if i + 1 < len(lines) else "??:0"
            if name != "??":
                now.append(Function(_short(name), _line(where)))
            i += 2
    symbols = _Symbols(file, "STT_FUNC")
    return [
        (address, functions)
        for address, functions in found.items()
        # Without debug information addr2line names the symbol before, however far away it is.
        if functions and (functions[-1].line or symbols.at(address))
    ]


def _line(where: str) -> str:
    file, _, number = where.partition(" ")[0].rpartition(":")
    return "" if file.startswith("??") or not number.isdigit() or number == "0" else f"{Path(file).name}:{number}"


def _short(name: str) -> str:
    """Without parameters, which a line has no room for."""
    depth = 0
    for i, c in enumerate(name):
        if c == "<":
            depth += 1
        elif c == ">":
            depth -= 1
        elif (
            c == "(" and depth == 0 and i and not name.startswith("(anonymous namespace)", i) and name[:i] != "operator"
        ):
            return name[:i]
    return name


class _Symbols:
    """A file's own, with their sizes."""

    def __init__(self, file: str, kind: str) -> None:
        self._symbols: list[tuple[int, int, str]] = []
        try:
            with Path(file).open("rb") as opened:
                elf = ELFFile(opened)
                self._symbols = sorted(
                    (symbol["st_value"], symbol["st_size"], symbol.name)
                    for name in (".symtab", ".dynsym")
                    if isinstance(table := elf.get_section_by_name(name), SymbolTableSection)
                    for symbol in table.iter_symbols()
                    if symbol["st_info"]["type"] == kind and symbol["st_value"]
                )
        except (OSError, ELFError):
            pass
        self._starts = [symbol[0] for symbol in self._symbols]

    def at(self, address: int) -> tuple[int, str] | None:
        """The symbol that the address lies in: where it begins, and its name."""
        i = bisect_right(self._starts, address) - 1
        if i < 0 or address >= self._symbols[i][0] + self._symbols[i][1]:
            return None
        begin, _, name = self._symbols[i]
        return begin, name


def _variables_in(file: str, addresses: Iterable[int]) -> list[tuple[int, str]]:
    symbols = _Symbols(file, "STT_OBJECT")
    found = [(address, symbol) for address in addresses if (symbol := symbols.at(address))]
    names = _demangled([name for _, (_, name) in found])
    return [
        (address, name if address == begin else f"{name}+{address - begin:#x}")
        for (address, (begin, _)), name in zip(found, names, strict=True)
    ]


def _demangled(names: list[str]) -> list[str]:
    tool = shutil.which("c++filt")
    if tool is None or not names:
        return names
    done = subprocess.run([tool], input="".join(f"{n}\n" for n in names), capture_output=True, text=True)
    lines = done.stdout.splitlines()
    return lines if len(lines) == len(names) else names
