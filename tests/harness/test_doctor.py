"""`lockswap doctor`: each check, in a situation that was made for it. The library under it is a stand-in here;
tests/life/switched_off.py has the real one."""

import contextlib
import json
import os
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest

from harness_support import NATIVE, compile_c, one_line_error
from lockswap.base.paths import Paths
from lockswap.doctor import command, loads, machine, process
from lockswap.doctor.dynamic import Dynamic
from lockswap.doctor.finding import NOTE, OK, STOPS

HELLO = "int main(void) { return 0; }\n"
USER = """
#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
void use(void) { pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex); }
"""


def compiled(folder: Path, name: str, text: str, *options: str) -> Path:
    source = folder / f"{name}.c"
    source.write_text(text)
    compile_c(source, folder / name, *options)
    return folder / name


def at(found, level: str, check: str | None = None) -> list[str]:
    return [one.text for one in found if one.level == level and check in (None, one.check)]


def file_findings(path: Path, *arguments: str):
    return command.of_files(path, [str(path), *arguments])


# --- the machine


def test_glibc_is_named_and_an_old_one_or_another_libc_stops():
    assert at(machine.glibc("glibc 2.36"), OK) == ["glibc 2.36"]
    assert "2.31 or newer" in at(machine.glibc("glibc 2.28"), STOPS)[0]
    assert at(machine.glibc("musl"), STOPS)
    assert at(machine.glibc(""), STOPS)


def test_an_architecture_that_it_is_not_built_for_stops():
    assert machine.architecture("x86_64") == machine.architecture("aarch64") == []
    assert "riscv64" in at(machine.architecture("riscv64"), STOPS)[0]


def test_what_ptrace_scope_forbids_is_a_note():
    assert machine.tracing("0", is_root=False) == machine.tracing("1", is_root=True) == []
    for scope in ("1", "2"):
        assert "as root" in at(machine.tracing(scope, is_root=False), NOTE)[0]
    assert "reboot" in at(machine.tracing("3", is_root=True), NOTE)[0]


def test_a_filter_of_the_own_process_is_a_note():
    assert machine.filters("Name:\tx\nSeccomp:\t0\n") == []
    assert "docs/production.md" in at(machine.filters("Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n"), NOTE)[0]


def test_the_library_in_ld_so_preload_stops(tmp_path):
    file = tmp_path / "ld.so.preload"
    assert machine.preloaded_for_all(file) == []
    file.write_text("/usr/lib/libother.so\n")
    assert "/usr/lib/libother.so" in at(machine.preloaded_for_all(file), NOTE)[0]
    file.write_text("/usr/lib/libother.so /usr/lib/liblockswap.so\n")
    assert "take it out" in at(machine.preloaded_for_all(file), STOPS)[0]


# --- the library, by what it says at its start


def test_what_the_library_says_of_layouts_and_quotas(tmp_path):
    library = tmp_path / "liblockswap.so"
    began = "lockswap 0.2.0: rwlock ba, wait park on 2 processors (50 % of one by quota), mutex mcs, pid 7\n"
    found = loads.of(library, 0, began)
    assert at(found, OK, "library") and at(found, OK, "layout")
    assert "50 %" in at(found, NOTE, "quota")[0]
    kept = "lockswap: pthread_cond_t has an unknown layout here, so condition variables stay glibc's\n"
    assert "unknown layout" in at(loads.of(library, 0, kept + began), STOPS, "layout")[0]


def test_a_library_that_the_loader_refuses_stops(lockswap, tmp_path):
    broken = tmp_path / "liblockswap.so"
    broken.write_text("no library\n")
    (text,) = at(loads.findings(broken, {"PATH": os.defpath}), STOPS)
    assert "doesn't load" in text and "cannot be preloaded" in text


# --- the files of a program


def test_a_program_that_can_be_preloaded_is_ok(tmp_path):
    assert at(file_findings(compiled(tmp_path, "plain", HELLO)), STOPS) == []


def test_a_static_program_stops(tmp_path):
    assert "statically linked" in at(file_findings(compiled(tmp_path, "fixed", HELLO, "-static")), STOPS)[0]


@pytest.mark.skipif(shutil.which("musl-gcc") is None, reason="musl-tools is not installed")
def test_a_program_on_musl_stops(tmp_path):
    source = tmp_path / "small.c"
    source.write_text(HELLO)
    subprocess.run(["musl-gcc", "-o", tmp_path / "small", source], check=True)
    assert "runs on musl" in at(file_findings(tmp_path / "small"), STOPS)[0]


def test_a_setuid_program_stops(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can make a program another user's")
    program = compiled(tmp_path, "raised", HELLO)
    os.chown(program, 12345, -1)
    program.chmod(0o4755)
    assert "setuid" in at(file_findings(program), STOPS)[0]


def test_a_32_bit_program_stops(tmp_path):
    program = tmp_path / "short"
    program.write_bytes(b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HHI", 2, 3, 1) + bytes(100))
    program.chmod(0o755)
    assert "32-bit" in at(file_findings(program), STOPS)[0]


def test_a_go_program_stops(tmp_path):
    text = '__attribute__((section(".note.go.buildid"))) const char id[4] = "go";\n' + HELLO
    assert "Go program" in at(file_findings(compiled(tmp_path, "gone", text)), STOPS)[0]


def test_a_program_with_locks_of_its_own_names_stops(tmp_path):
    text = "int pthread_rwlock_rdlock(void* l) { return l != 0; }\n" + HELLO
    assert "itself" in at(file_findings(compiled(tmp_path, "own", text, "-rdynamic")), STOPS)[0]


def test_what_a_shell_starts_is_looked_at_too(tmp_path):
    compiled(tmp_path, "fixed", HELLO, "-static")
    found = command.of_files(Path("/bin/sh"), ["/bin/sh", "-c", f"{tmp_path}/fixed | cat"])
    assert any("is a shell" in text for text in at(found, NOTE))
    assert "'fixed' is statically linked" in at(found, STOPS)[0]


def test_a_library_that_is_missing_stops(tmp_path):
    compiled(tmp_path, "libgone.so", USER, "-shared", "-fPIC")
    source = tmp_path / "needs.c"
    source.write_text("void use(void); int main(void) { use(); }\n")
    compile_c(source, tmp_path / "needs", f"-L{tmp_path}", "-l:libgone.so")
    assert "libgone.so" in at(command.missing([str(tmp_path / "needs")]), STOPS)[0]


def test_a_library_beside_the_program_is_found_through_a_link(tmp_path):
    """As Debian's `java` is: the loader looks beside the file, not beside the link."""
    inside = tmp_path / "inside"
    inside.mkdir()
    compiled(inside, "libgiven.so", "int given;\n", "-shared", "-fPIC")
    uses = "extern int given;\nint main(void) { return given; }\n"
    real = compiled(inside, "real", uses, f"-L{inside}", "-l:libgiven.so", "-Wl,-rpath,$ORIGIN")
    link = tmp_path / "link"
    link.symlink_to(real)
    assert subprocess.run([link]).returncode == 0
    assert command.missing([str(link)]) == []


def test_other_preloads_are_named_and_what_must_stand_before_stops(tmp_path):
    ours = tmp_path / "liblockswap.so"
    clock = compiled(
        tmp_path, "libclock.so", "int clock_gettime(void) { return 0; }\n", "-shared", "-fPIC", "-fno-builtin"
    )
    found = command.preloads(ours, ["true"], {"LD_PRELOAD": str(clock)})
    assert "replaces the clock" in at(found, STOPS)[0]
    found = command.preloads(ours, ["true"], {"LD_PRELOAD": "/nowhere/libgone.so"})
    assert "/nowhere/libgone.so" in at(found, NOTE)[0]
    assert command.preloads(ours, ["true"], {}) == []
    (text,) = at(command.preloads(Path("/a b/liblockswap.so"), ["true"], {}), STOPS)
    assert "splits LD_PRELOAD" in text


def test_a_sanitizer_s_runtime_is_a_note(tmp_path):
    source = tmp_path / "checked.c"
    source.write_text(HELLO)
    if subprocess.run(["cc", "-fsanitize=address", "-o", tmp_path / "checked", source], check=False).returncode != 0:
        pytest.skip("the compiler has no AddressSanitizer")
    (text,) = at(command.sanitizers([str(tmp_path / "checked")]), NOTE)
    assert "must be first in LD_PRELOAD" in text and "libasan" in text


# --- running processes


@pytest.fixture
def running(tmp_path):
    """Starts the sleeper; `ready` is what it prints."""
    program = tmp_path / "sleeper"
    compile_c(NATIVE / "sleeper.c", program, "-pthread", "-ldl")
    started = []

    def start(*arguments: object, **env: str) -> int:
        one = subprocess.Popen([program, *map(str, arguments)], stdout=subprocess.PIPE, env=os.environ | env)
        started.append(one)
        assert one.stdout.readline() == b"ready\n", one.wait()
        return one.pid

    yield start
    for one in started:
        one.send_signal(signal.SIGKILL)
        one.communicate()


def ask(lockswap, *words: object) -> tuple[int, list[dict]]:
    done = lockswap("doctor", "--json", *words)
    assert done.stderr == ""
    data = json.loads(done.stdout)
    assert data["ok"] == (done.returncode == 0)
    return done.returncode, data["findings"]


def texts(found: list[dict], check: str, level: str | None = None) -> list[str]:
    return [one["text"] for one in found if one["check"] == check and level in (None, one["level"])]


def test_a_process_without_the_library_says_how_to_start_it(lockswap, running):
    status, found = ask(lockswap, running())
    assert status == 1
    assert "lockswap run -- CMD" in texts(found, "loaded", STOPS)[0]


def test_a_process_whose_preload_is_not_there_says_so(lockswap, running):
    _, found = ask(lockswap, running(LD_PRELOAD="/nowhere/liblockswap.so"))
    assert "/nowhere/liblockswap.so, which is not there" in texts(found, "loaded", STOPS)[0]


def test_a_static_process_says_why_nothing_is_loaded(lockswap, tmp_path):
    program = compiled(tmp_path, "fixed", "#include <unistd.h>\nint main(void) { pause(); }\n", "-static")
    with subprocess.Popen([program]) as one:
        try:
            _, found = ask(lockswap, one.pid)
        finally:
            one.kill()
    assert "statically linked" in texts(found, "loaded", STOPS)[0]


def test_locks_of_a_program_s_own_futexes_are_seen(lockswap, running):
    library = lockswap.root / "build/liblockswap.so"
    pid = running("futex", LD_PRELOAD=str(library))
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}/syscall").read_text().split()[0] not in ("202", "98") and time.monotonic() < deadline:
        time.sleep(0.01)
    _, found = ask(lockswap, pid)
    assert "syscall()" in texts(found, "futex", NOTE)[0]


def test_a_process_whose_first_thread_has_ended_is_looked_at(lockswap, running):
    pid = running("leave", LD_PRELOAD=str(lockswap.root / "build/liblockswap.so"), LOCKSWAP_MUTEX="auto")
    deadline = time.monotonic() + 60
    while " Z " not in Path(f"/proc/{pid}/stat").read_text() and time.monotonic() < deadline:
        time.sleep(0.01)
    _, found = ask(lockswap, pid)
    assert "has loaded" in texts(found, "loaded", OK)[0]
    assert "started with LOCKSWAP_MUTEX=auto" in str(texts(found, "choice"))


def test_a_filter_and_another_root_are_notes(lockswap, running, tmp_path):
    _, found = ask(lockswap, running("filter"))
    assert "@system-service" in texts(found, "seccomp", NOTE)[0]
    if os.geteuid() == 0:
        _, found = ask(lockswap, running("chroot", tmp_path))
        assert "put the library there" in texts(found, "root", NOTE)[0]


def test_a_process_that_may_not_be_looked_at_is_one_line(lockswap, running):
    if os.geteuid() != 0:
        pytest.skip("needs root, to ask as another user")
    pid = running()
    paths = Paths(lockswap.root, lockswap.root / "build")
    process.findings(paths, pid)  # what it imports may not be readable for another user
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            os.write(writes, json.dumps([[one.level, one.text] for one in process.findings(paths, pid)]).encode())
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as said:
        ((level, text),) = json.load(said)
    os.waitpid(child, 0)
    assert level == STOPS and "ask as that user or as root" in text


def test_bad_input_is_one_line_and_status_2(lockswap):
    for words in (["999999999"], ["0"], ["4711", "4712"]):
        assert "process" in one_line_error(lockswap("doctor", *words))
    assert "not found in PATH" in one_line_error(lockswap("doctor", "--", "no-such-program"))


def test_a_number_may_be_followed_by_json(lockswap, running):
    done = lockswap("doctor", running(), "--json")
    assert json.loads(done.stdout)["ok"] is False


def test_off_needs_a_process_with_the_library(lockswap, running):
    assert "glibc's already" in one_line_error(lockswap("off", running()))


# --- reading ELF files


def test_symbols_and_references_are_those_of_readelf(tmp_path):
    library = compiled(tmp_path, "libuser.so", USER, "-shared", "-fPIC")
    dynamic = Dynamic(library)
    listed = subprocess.run(["readelf", "-W", "--dyn-syms", library], capture_output=True, text=True, check=True).stdout
    row = next(line.split() for line in listed.splitlines() if line.endswith(" use"))
    assert dynamic.address_of("use") == (int(row[1], 16), int(row[2]))
    assert dynamic.address_of("pthread_mutex_lock") is None and dynamic.address_of("us") is None
    relocations = subprocess.run(["readelf", "-W", "-r", library], capture_output=True, text=True, check=True).stdout
    lines = (line.split() for line in relocations.splitlines() if "pthread_mutex_" in line)
    want = {(words[4].partition("@")[0], int(words[0], 16)) for words in lines}
    assert len(want) == 2
    assert set(dynamic.references(frozenset({b"pthread_mutex_lock", b"pthread_mutex_unlock"}))) == want


def test_damaged_files_are_refused_by_an_error(tmp_path):
    whole = compiled(tmp_path, "libuser.so", USER, "-shared", "-fPIC").read_bytes()
    for size in (0, 6, 60, 70, 200, 1000, len(whole) // 2):
        file = tmp_path / "cut.so"
        file.write_bytes(whole[:size])
        with contextlib.suppress(OSError, ValueError):
            Dynamic(file).address_of("use")
            list(Dynamic(file).references(frozenset({b"pthread_mutex_lock"})))
