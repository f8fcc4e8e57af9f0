"""`lockswap trace-vm`: what strace and perf say becomes a trace; a real program; what cannot work."""

import gzip
import os
import re
import shutil

import pytest

from harness_support import NATIVE, Lockswap, compile_c
from lockswap.vm import faults, processes, strace_log, trace_file
from lockswap.vm.faults import Fault
from lockswap.vm.steps import convert

ANON = "MAP_PRIVATE|MAP_ANONYMOUS, -1, 0"
RW = "PROT_READ|PROT_WRITE"
THREAD = "clone3({flags=CLONE_VM|CLONE_THREAD|CLONE_SIGHAND, exit_signal=0}, 88)"


def log(*lines: str) -> str:
    """A recording: `thread text`, a microsecond apart, the call's own time behind it."""
    return "".join(f"{line.split()[0]} 1.{1000 * i:09d} {line.split(maxsplit=1)[1]}\n" for i, line in enumerate(lines))


def steps(text: str, touched: list[Fault] | None = ()) -> list[str]:
    trace = convert(strace_log.read(text.splitlines()), None if touched is None else list(touched))
    return [line for line in trace_file.lines(trace, ["prog"]) if not line.startswith(("lockswap", "#", "faults"))]


def at(line: int, page: int, thread: int = 10) -> Fault:
    return Fault(thread, 10**9 + 1000 * line + 500, page * 4096)


def test_each_call_becomes_a_step():
    text = log(
        '10 execve("./prog", ["./prog"], 0x7ffe /* 3 vars */) = 0 <0.000000100>',
        "10 brk(NULL) = 0x50000 <0.000000100>",
        f"10 mmap(NULL, 9000, PROT_NONE, {ANON}) = 0x100000 <0.000000100>",
        f"10 mprotect(0x100000, 4096, {RW}) = 0 <0.000000100>",
        "10 madvise(0x100000, 4096, MADV_DONTNEED) = 0 <0.000000100>",
        "10 madvise(0x100000, 4096, MADV_WILLNEED) = 0 <0.000000100>",
        "10 brk(0x52001) = 0x52001 <0.000000100>",
        "10 mmap(NULL, 4096, PROT_READ|PROT_EXEC, MAP_PRIVATE, 3</lib/a, b>, 0x2000) = 0x200000 <0.000000100>",
        "10 mmap(NULL, 4096, PROT_READ, MAP_SHARED, 4</lib/c>, 0) = 0x300000 <0.000000100>",
        "10 munmap(0x100000, 8192) = 0 <0.000000100>",
        "10 munmap(0x900000, 1) = -1 EINVAL (Invalid argument) <0.000000100>",
        "10 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD) = 11 <0.000000100>",
        f"11 mmap(NULL, 4096, {RW}, {ANON}) = 0x700000 <0.000000100>",
        "10 +++ exited with 0 +++",
    )
    assert steps(text) == [
        "threads 1",
        "heap 50",
        "map 0 100 3 ---",
        "protect 0 100 1 rw-",
        "discard 0 100 1",
        "brk 0 53",
        "map 0 200 1 r-x private 0 2",
        "map 0 300 1 r-- shared 1 0",
        "unmap 0 100 2",
        "fork 0",
        "end 0",
    ]


def test_an_exec_begins_anew():
    text = log(
        '10 execve("/bin/sh", ["sh"], 0x7ffe /* 3 vars */) = 0 <0.000000100>',
        f"10 mmap(NULL, 4096, {RW}, {ANON}) = 0x100000 <0.000000100>",
        '10 execve("./prog", ["./prog"], 0x7ffe /* 3 vars */) = 0 <0.000000100>',
        f"10 mmap(NULL, 4096, {RW}, {ANON}) = 0x200000 <0.000000100>",
    )
    assert [line for line in steps(text) if line.startswith("map")] == ["map 0 200 1 rw-"]


def test_a_mapping_comes_behind_the_unmapping_that_made_room():
    text = log(
        '10 execve("./prog", ["./prog"], 0x7ffe /* 3 vars */) = 0 <0.000000100>',
        f"10 mmap(NULL, 8192, {RW}, {ANON}) = 0x100000 <0.000000100>",
        f"10 {THREAD} = 11 <0.000000100>",
        "10 munmap(0x100000, 8192 <unfinished ...>",
        f"11 mmap(NULL, 4096, {RW}, {ANON}) = 0x100000 <0.000000100>",
        "10 <... munmap resumed>) = 0 <0.000002000>",
        "11 munmap(0x100000, 4096) = 0 <0.000000100>",
    )
    assert steps(text)[2:] == [
        "map 0 100 2 rw-",
        "begin 0 1",
        "unmap 0 100 2",
        "map 1 100 1 rw-",
        "unmap 1 100 1",
    ]


def test_a_child_with_its_parents_memory_is_a_thread_until_it_executes():
    text = log(
        '10 execve("./prog", ["./prog"], 0x7ffe /* 3 vars */) = 0 <0.000000100>',
        "10 vfork( <unfinished ...>",
        f"11 mmap(NULL, 4096, {RW}, {ANON}) = 0x100000 <0.000000100>",
        '11 execve("/bin/true", ["true"], 0x7ffe /* 3 vars */) = 0 <0.000000100>',
        f"11 mmap(NULL, 4096, {RW}, {ANON}) = 0x200000 <0.000000100>",
        "10 <... vfork resumed>) = 11 <0.000003000>",
    )
    assert steps(text)[2:] == ["begin 0 1", "map 1 100 1 rw-", "end 1"]


def test_faults_are_placed_by_their_time():
    text = log(
        '10 execve("./prog", ["./prog"], 0x7ffe /* 3 vars */) = 0 <0.000000100>',
        f"10 mmap(NULL, 16384, {RW}, {ANON}) = 0x100000 <0.000000100>",
        f"10 mmap(NULL, 16384, {RW}, MAP_PRIVATE, 3</lib/a>, 0) = 0x200000 <0.000000100>",
        "10 munmap(0x100000, 16384) = 0 <0.000000100>",
    )
    touched = [at(1, 0x100), at(1, 0x101), at(2, 0x200), at(2, 0x200), at(2, 0x102), at(3, 0x100), at(0, 0x40)]
    assert steps(text, [*touched, at(2, 0x103, thread=99)]) == [
        "threads 1",
        "heap 1",
        "there 40 1",
        "write 0 40 1",
        "map 0 100 4 rw-",
        "write 0 100 2",
        "map 0 200 4 rw- private 0 0",
        "read 0 200 1",  # a page of a file is first read
        "write 0 200 1",
        "write 0 102 1",
        "unmap 0 100 4",
        # The fault where nothing is mapped any more is left out.
    ]


def test_what_execve_mapped_is_one_region_unless_a_call_names_pages_between():
    text = log(
        '10 execve("./prog", ["./prog"], 0x7ffe /* 3 vars */) = 0 <0.000000100>',
        f"10 mmap(NULL, 4096, {RW}, {ANON}) = 0x62000 <0.000000100>",
        "10 mprotect(0x80000, 8192, PROT_READ) = 0 <0.000000100>",
    )
    found = steps(text, [at(0, 0x40), at(0, 0x45), at(1, 0x60), at(1, 0x64)])
    assert [line for line in found if line.startswith("there")] == ["there 40 21", "there 64 1e"]


def test_first_touches_are_made_up_where_none_are_recorded():
    text = log(
        '10 execve("./prog", ["./prog"], 0x7ffe /* 3 vars */) = 0 <0.000000100>',
        f"10 mmap(NULL, 409600, PROT_NONE, {ANON}) = 0x100000 <0.000000100>",
        f"10 mprotect(0x100000, 8192, {RW}) = 0 <0.000000100>",
        f"10 mprotect(0x100000, 12288, {RW}) = 0 <0.000000100>",
        f"10 mmap(NULL, 409600, {RW}, {ANON}) = 0x200000 <0.000000100>",
    )
    assert steps(text, None)[2:] == [
        "map 0 100 64 ---",
        "protect 0 100 2 rw-",
        "write 0 100 2",
        "protect 0 100 3 rw-",
        "write 0 102 1",
        "map 0 200 64 rw-",
        "write 0 200 10",
    ]


def test_a_line_that_is_not_straces_is_named():
    with pytest.raises(ValueError, match="line 2 is not a line"):
        strace_log.read(["10 1.000000000 brk(NULL) = 0x1000 <0.000000100>", "hello"])
    with pytest.raises(ValueError, match="line 1 ends a call"):
        strace_log.read(["10 1.000000000 <... brk resumed>) = 0x1000 <0.000000100>"])


def test_what_perf_prints_is_read():
    assert faults.parse("  123 17.000000007:     7f00001234 \nnonsense\n") == [Fault(123, 17 * 10**9 + 7, 0x7F00001234)]


# --- the command
@pytest.fixture(scope="module")
def mapping(tmp_path_factory):
    program = tmp_path_factory.mktemp("mapping") / "mapping"
    compile_c(NATIVE / "mapping.c", program, "-pthread")
    return program


@pytest.mark.parametrize("more", [(), ("--synthesise",)])
def test_a_real_program_is_recorded(repo, tmp_path, mapping, more):
    trace = tmp_path / "it.vmtrace.gz"
    done = Lockswap(repo)("trace-vm", "-o", trace, *more, "--", mapping)
    assert done.returncode == 3 and done.stdout == "", done
    text = gzip.decompress(trace.read_bytes()).decode()
    page = re.search(r"^map 0 (\w+) 28 ---$", text, re.MULTILINE)[1]
    wanted = (f"map 0 {page} 28 ---", f"protect 0 {page} 2 rw-", f"discard 0 {page} 1", "fork 0", "begin 0 1")
    places = [text.index(f"\n{line}\n") for line in (*wanted, f"unmap 1 {page} 28")]
    assert places == sorted(places)
    assert "threads 2\n" in text and "threads: 2" in done.stderr
    # Perf may be forbidden here; then the trace says so.
    recorded = "faults recorded\n" in text
    assert recorded != ("first touches are synthesised" in done.stderr)
    assert f"\nwrite 0 {page} 2\n" in text or recorded


def refused(repo, *words: object, **env: str) -> str:
    done = Lockswap(repo).inside("trace-vm", *words, env=env)
    assert done.returncode == 2 and done.stdout == "", done
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_strace_is_missing(repo, tmp_path):
    assert "needs strace, which is not installed; install it with 'apt-get install strace'" in refused(
        repo, "--", "true", PATH=str(tmp_path)
    )


def test_the_program_is_missing(repo):
    assert "cannot start 'nosuchprogram'" in refused(repo, "--", "nosuchprogram")


def test_the_file_cannot_be_written(repo, tmp_path):
    assert "make it first" in refused(repo, "-o", tmp_path / "no" / "trace", "--", "true")
    assert "it is a folder" in refused(repo, "-o", tmp_path, "--", "true")


def test_strace_may_not_trace(repo, tmp_path):
    """As in a container that forbids ptrace: strace says why, and writes nothing."""
    bad = tmp_path / "strace"
    bad.write_text("#!/bin/sh\necho 'strace: ptrace(PTRACE_TRACEME): Operation not permitted' >&2\nexit 1\n")
    bad.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = Lockswap(repo)("trace-vm", "--synthesise", "-o", tmp_path / "trace", "--", "true", env={"PATH": path})
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("lockswap: strace wrote nothing")


def process_steps(text: str) -> list[str]:
    return processes.convert(strace_log.read(text.splitlines())).steps


def test_processes_map_fork_execute_and_end():
    file = "MAP_PRIVATE, 3</lib/c>"
    text = log(
        f"10 mmap(NULL, 12288, PROT_READ, {file}, 0) = 0x100000 <0.000000100>",
        f"10 mmap(NULL, 4096, {RW}, {ANON}) = 0x200000 <0.000000100>",
        "10 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD) = 11 <0.000000100>",
        # The middle one of its three pages goes: two mappings are left.
        "11 munmap(0x101000, 4096) = 0 <0.000000100>",
        f"10 mmap(0x100000, 4096, PROT_READ, {file}, 0x8000) = 0x100000 <0.000000100>",
        "11 +++ exited with 0 +++",
        "10 +++ exited with 0 +++",
    )
    assert process_steps(text) == [
        "start 0",
        "map 0 0 0 0 3",
        "fork 0 1",
        "unmap 1 1",
        "map 1 2 0 0 1",
        "map 1 3 0 2 1",
        "unmap 0 0",
        "map 0 4 0 1 2",
        "map 0 5 0 8 1",
        "end 1",
        "end 0",
    ]


def test_a_child_that_has_its_parents_memory_becomes_a_process_when_it_executes():
    text = log(
        "10 mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 3</lib/c>, 0) = 0x100000 <0.000000100>",
        "10 vfork() = 11 <0.000000100>",
        "11 munmap(0x100000, 4096) = 0 <0.000000100>",
        '11 execve("/bin/true", ["true"], 0x7ffe /* 3 vars */) = 0 <0.000000100>',
        "10 clone3({flags=CLONE_VM|CLONE_THREAD, exit_signal=0}, 88) = 12 <0.000000100>",
        "12 +++ exited with 0 +++",
        "11 +++ exited with 0 +++",
        "10 +++ exited with 0 +++",
    )
    steps = process_steps(text)
    assert steps[:4] == ["start 0", "map 0 0 0 0 1", "unmap 0 0", "start 1"]
    assert [step.split()[0] for step in steps[4:-2]] == ["map"] * 8
    assert steps[-2:] == ["end 1", "end 0"]


def test_a_script_that_forks(lockswap: Lockswap, tmp_path):
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    out = tmp_path / "script.proctrace.gz"
    ran = lockswap("trace-vm", "--processes", "-o", out, "--", "sh", "-c", "/bin/true; /bin/true; exit 3")
    assert ran.returncode == 3
    kinds = [line.split()[0] for line in gzip.decompress(out.read_bytes()).decode().splitlines()]
    assert kinds[0] == "lockswap-process-trace"
    assert kinds.count("exec") + kinds.count("start") >= 4, "the shell, and two programs, each in a child"
    assert kinds.count("end") == kinds.count("fork") + kinds.count("start")
    assert "processes: " in ran.stderr


def test_arguments_end_at_their_own_commas():
    assert strace_log.arguments("NULL, 4096, 3</a,b>, 0") == ["NULL", "4096", "3</a,b>", "0"]
    assert strace_log.arguments("{tid=[0] => [7], stack=8}, 88") == ["{tid=[0] => [7], stack=8}", "88"]
    assert strace_log.arguments(r'"a, \"b", [1, 2]') == [r'"a, \"b"', "[1, 2]"]
