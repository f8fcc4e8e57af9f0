"""From addresses in files to functions and lines, after the program has ended."""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from elftools.common.exceptions import ELFError

from lockswap.base.program_headers import LOAD, build_ids, program_headers
from lockswap.profile.same_file import read_once
from lockswap.profile.symbolizer import Function, Symbols, functions_in, variables_in
from lockswap.profile.tail_calls import TailCalls

_PAGE = 4096

# Functions that are a lock's interface, not its user: they are passed over when a site is named.
_WRAPPERS = re.compile(
    r"""^(
      __gthread_|__gthrw_|__glibcxx_rwlock_|pthread_(mutex|rwlock|cond)_
    | std::(recursive_|timed_|recursive_timed_)?mutex::
    | std::(__)?shared_(timed_)?mutex|std::__shared_mutex_|std::__mutex_base
    | (std|boost)::(lock_guard|unique_lock|shared_lock|scoped_lock|upgrade_lock)<
    | (void\ )?std::(lock|try_lock)<|std::condition_variable|std::_V2::condition_variable|(void\ )?std::call_once
    | std::j?thread::(join|request_stop)|std::__condvar|std::__atomic_futex|std::once_flag|thrd_join$|(mtx|cnd)_\w+$
    | boost::(recursive_|shared_|timed_)?mutex::|boost::posix::|boost::condition_variable|boost::thread::(timed_)?join
    | absl::(\w+::)*(Mutex|MutexLock|ReaderMutexLock|WriterMutexLock|CondVar)\b
    | Q(Basic|Recursive)?Mutex(Locker)?(::|<)|Q(Read|Write|ReadWrite)Lock(er)?::|QWaitCondition::
    | (rocksdb|leveldb)::(port::(Mutex|RWMutex|CondVar)|
        (Instrumented)?(Mutex|CondVar|Read|Write|ReadUnlock)(Lock|Wrapper)?\b)
    | kyotocabinet::(Mutex|SpinLock|RWLock|SlottedRWLock|SpinRWLock|ScopedMutex|ScopedRWLock|CondVar)\b
    | qemu_(rec_)?mutex_|qemu_cond_|QemuMutex|bql_lock
    | g_(mutex|rec_mutex|rw_lock|cond)_|uv_(mutex|rwlock|cond)_|CRYPTO_THREAD_|PR_(Lock|Unlock|RWLock)|PyThread_
    | (lock|unlock|rdlock|wrlock|mutex_lock|mutex_unlock)$
    )""",
    re.VERBOSE,
)

# Sources and libraries that have nothing else in them. Any part of the C++ library's headers may be inlined between
# the user and the lock, and none is the user's.
_WRAPPERS_FILES = re.compile(
    r"""(^|/)(
      include/([\w.-]+/)?c\+\+/ | libstdc\+\+-v3/ | gthr(-\w+)?\.h$ | lib(std)?c\+\+(abi)?\.so
    | boost/(thread|interprocess/sync)/ | boost/smart_ptr/detail/(lwm_|spinlock) | libboost_thread
    | boost/asio/detail/(posix_|scoped_lock|conditionally_enabled_) | boost/signals2/(detail/lwm_|mutex|lwm_)
    | absl/synchronization/ | absl/base/(call_once|internal/spinlock) | libabsl_synchronization
    | (QtCore|corelib/thread)/(\w+/)*q(basic|generic|recursive)?(mutex|readwritelock|waitcondition|semaphore)
    | folly/(synchronization/|SharedMutex|Synchronized)
    )""",
    re.VERBOSE,
)

# The C++ library's own names, perhaps after the type that is returned; without what is in brackets.
_LIBRARY = re.compile(r"(^|[ *&])(std|__gnu_cxx)::")

# Names of functions from those files, the same.
_IN_WRAPPERS_FILES = re.compile(r"(^|[ *&])((std|boost|absl|folly|__gnu_cxx)::|Q[A-Z]\w*::|__g|__glibcxx)")

# libc++'s and Android's names are in a namespace more.
_INLINE_NAMESPACE = re.compile(r"\bstd::__(\d|ndk1|cr|Cr)::")

# What threads begin with, before the function that the program gave.
_STARTS = re.compile(
    r"""^(
      (__GI_)?_*clone|start_thread|thread_start|execute_native_thread_routine|_dl_|_start$|__libc_start|libc\.so|libstdc\+\+\.so
    | \[(no\ file|JIT)\]
    | (\w+\ )?std::(thread|__invoke|_Bind|function)|std::error_code\ |boost::(\(anonymous\ namespace\)::)?thread_proxy
    | boost::detail::|(void\*\ )?lockswap::call_in_frame<
    )""",
    re.VERBOSE,
)


_File = tuple[str, str]  # its path and its build-id

_symbols, _tail_calls = read_once(Symbols), read_once(TailCalls)


@read_once
def _known_in(path: str) -> dict[int, list[Function]]:
    """The functions at the addresses that were looked up before; nothing if there are none."""
    return {}


def _functions_at(path: str, addresses: set[int]) -> dict[int, list[Function]]:
    known = _known_in(path)
    if unknown := sorted(addresses - known.keys()):
        known |= {address: [] for address in unknown} | functions_in(path, unknown, _symbols)
    return {address: known[address] for address in addresses if known[address]}


def _variables_at(path: str, addresses: set[int]) -> dict[int, str]:
    return variables_in(path, addresses, _symbols)


class _Wanted:
    """The addresses in the stacks and locks of some processes, by file."""

    def __init__(self, processes: Iterable[dict]) -> None:
        self.functions: defaultdict[_File, set[int]] = defaultdict(set)
        self.innermost: defaultdict[_File, set[int]] = defaultdict(set)  # where calls of lock functions return to
        self.variables: defaultdict[_File, set[int]] = defaultdict(set)
        for process in processes:
            files = [(m["path"], m["build_id"]) for m in process["modules"]]
            for stack in process["stacks"]:
                self._add(files, stack["frames"])
            for lock in process["locks"]:
                if lock["object"]:
                    module, address = lock["object"]
                    self.variables[files[module]].add(address)

    def _add(self, files: list[_File], frames: list[list[int]]) -> None:
        for n, (module, address) in enumerate(frames):
            if module >= 0:
                self.functions[files[module]].add(address - 1)  # inside the call
                if n == 0:
                    self.innermost[files[module]].add(address)


def _of_all(wanted: Mapping[_File, set[int]], changed: set[_File], look_up: Callable[[str, set[int]], dict]) -> dict:
    """What is found, by file and address; nothing is looked up in a file that has changed since."""
    return {
        (file, address): found
        for file, addresses in wanted.items()
        if file not in changed
        for address, found in look_up(file[0], addresses).items()
    }


class Names:
    """Looks up all addresses of some processes at once: one call of the reader of debug information for each file."""

    def __init__(self, processes: Iterable[dict]) -> None:
        wanted = _Wanted(processes)
        changed = {file for file in {*wanted.functions, *wanted.variables} if not _is_same(*file)}
        self.changed = sorted({path for path, _ in changed})
        self._made: dict[int, MadeFunctions] = {}
        self._jumps: dict[tuple, list[list[int]]] = {}
        self._called: dict[tuple, int] = {}
        for file, addresses in wanted.innermost.items():
            if file not in changed:
                self._find_tail_calls(file, addresses, wanted.functions[file])
        self._functions = _of_all(wanted.functions, changed, _functions_at)
        self._variables = _of_all(wanted.variables, changed, _variables_at)

    def _find_tail_calls(self, file: _File, addresses: set[int], wanted: set[int]) -> None:
        """Of each address, the jumps on the ways to it, or the function that its call ends in. They are wanted, too."""
        tail_calls = _tail_calls(file[0])
        for address in addresses:
            if ways := tail_calls.before(address):
                self._jumps[(file, address)] = ways
                wanted.update(jump for way in ways for jump in way)
            elif (called := tail_calls.called(address)) is not None:
                self._called[(file, address)] = called
                wanted.add(called)

    def frame(self, process: dict, frame: list[int], innermost: bool = True) -> list[Function]:
        """The innermost function first. In the `innermost` frame of a stack, the call is that of the lock function."""
        module, address = frame
        if module < 0:
            return [self._in_no_file(process, address)]
        path, build_id = (process["modules"][module][key] for key in ("path", "build_id"))
        file = (path, build_id)
        found = self._at(file, address - 1)
        return [*self._jumped(file, address), *found] if innermost else found

    def _at(self, file: tuple[str, str], address: int) -> list[Function]:
        path, _ = file
        found = self._functions.get((file, address)) or [Function(f"{Path(path).name}+{address:#x}")]
        if is_wrappers_file(path):  # whatever its functions are called
            return [Function(one.name, one.line, path) for one in found]
        around = found[-1]
        if is_wrappers_file(around.file) and not _IN_WRAPPERS_FILES.search(_without_arguments(around.name)):
            # Where split debug information is lost it isn't known what was inlined: the line is another function's.
            return [*found[:-1], Function(around.name)]
        return found

    def _jumped(self, file: tuple[str, str], returns: int) -> list[Function]:
        """The functions that have no frame, because they ended with a jump to the lock function, or to one that did."""
        if (called := self._called.get((file, returns))) is not None:  # but not by which jump it went on
            function = self._at(file, called)[-1]
            return [Function(function.name, file=function.file)]
        ways = self._jumps.get((file, returns), [])
        stacks = [[one for jump in way for one in self._at(file, jump)] for way in ways]
        if len({site(stack) for stack in stacks}) > 1:  # it isn't known at which of its ends
            first = stacks[0][-1]
            return [Function(first.name, file=first.file)] if all(one[-1].name == first.name for one in stacks) else []
        return stacks[0] if stacks else []

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
        return [function for n, frame in enumerate(frames) for function in self.frame(process, frame, n == 0)]

    def variable(self, process: dict, place: list[int]) -> str:
        module, address = place
        path, build_id = (process["modules"][module][key] for key in ("path", "build_id"))
        return self._variables.get(((path, build_id), address)) or f"{Path(path).name}+{address:#x}"


class MadeFunctions:
    """Functions that a compiler made inside the program. Newer ones may lie where an older one was."""

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
    segments = _segments(modules[number]["path"]) if below else []
    own = address - begin + min((first for first, _ in segments), default=0) // _PAGE * _PAGE
    inside = any(first <= own < end for first, end in segments)
    return [number, own] if inside else [-1, address]


@lru_cache
def _segments(path: str) -> list[tuple[int, int]]:
    """Where those that are loaded begin and end in the file's own tables; none if it can't be read."""
    try:
        with Path(path).open("rb") as opened:
            return [(one.address, one.address + one.memory_size) for one in program_headers(opened, LOAD)]
    except (OSError, ELFError):
        return []


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
    if _WRAPPERS.match(_plain(function.name)) or is_wrappers_file(function.file):
        return True
    return _LIBRARY.search(_without_arguments(function.name)) is not None


def is_wrappers_file(path: str) -> bool:
    return _WRAPPERS_FILES.search(path) is not None


def _is_start(function: Function) -> bool:
    return _STARTS.match(_plain(function.name)) is not None or is_wrappers_file(function.file)


def _plain(name: str) -> str:
    return _INLINE_NAMESPACE.sub("std::", name)


def _without_arguments(name: str) -> str:
    kept, depth = "", 0
    for character in name:
        depth += character in "<("
        kept += character if depth == 0 else ""
        depth -= character in ">)"
    return kept


def without_starts(stack: list[Function]) -> list[Function]:
    """Without the frames that all threads begin with; whole, if there are no others."""
    own = next((n for n, one in enumerate(reversed(stack)) if not _is_start(one)), 0)
    return stack[: len(stack) - own]


def start(stack: list[Function]) -> Function | None:
    """The outermost function that is the program's."""
    return next((one for one in reversed(stack) if not _is_start(one)), None)


def _is_same(path: str, build_id: str) -> bool:
    """Whether the file is the one that ran. Without a build-id it is believed."""
    ids = _build_ids(path)
    return ids is not None and (not build_id or not ids or build_id in ids)


@read_once
def _build_ids(path: str) -> list[str] | None:
    """None if the file can't be read."""
    try:
        with Path(path).open("rb") as opened:
            return build_ids(opened)
    except (OSError, ELFError):
        return None
