#!/usr/bin/env python3
"""The preload library's symbols, judged from outside: by the system's libc and by programs that bind to it.

    symbols.py LIBRARY BOUND_NEW BOUND_OLD

What a program asks for by name and version must be found in the library, in every vintage: a name that is
missing at a version is skipped by the loader without a word, and exclusion is broken (half of the calls go to
glibc). Exit status 1 if there is a finding.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import emulated

# Those that are left to glibc are for mutexes that stay glibc's; see interpose/mutex.cpp. The last two lines are what
# `lockswap profile` sees beside locks: interpose/waits.cpp.
FUNCTION = re.compile(
    r"(__)?pthread_(rwlock_|cond_|mutex_(?!consistent(_np)?$|getprioceiling$|setprioceiling$))\w+"
    r"|pthread_(create|exit)|thrd_(create|exit)"
    r"|pthread_(join|barrier_(init|wait|destroy))"
    r"|sem_(init|post|destroy|(try|timed|clock)?wait)"
)
ALLOWED_EXTRA = re.compile(r"lockswap_\w+")


def run(*command: object, **environment: str) -> str:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_") and k != "LD_PRELOAD"}
    return subprocess.run(
        list(map(str, command)), check=True, capture_output=True, text=True, env=clean | environment
    ).stdout


def run_program(program: Path, *arguments: object, **environment: str) -> str:
    return run(*emulated.command(program, *arguments), **environment)


def dynamic_symbols(file: Path) -> list[tuple[str, str, bool, bool]]:
    """(name, version, is the default version, is defined here) of each dynamic symbol."""
    symbols = []
    for line in run("readelf", "--dyn-syms", "-W", file).splitlines():
        field = line.split()
        if len(field) < 8 or not field[0].rstrip(":").isdigit():
            continue
        if (field[3] == "OBJECT" and field[6] == "ABS") or field[3] == "SECTION":
            continue  # a version node; sections, which aarch64's linker puts there
        name, _, version = field[7].partition("@")
        default = version.startswith("@")
        symbols.append((name, version.lstrip("@"), default, field[6] != "UND"))
    return symbols


def system_libc() -> Path:
    if emulated.EMULATOR:
        return next(emulated.root().glob("lib/*/libc.so.6"))
    for line in Path("/proc/self/maps").read_text().splitlines():
        if re.search(r"/libc\.so\.6$|/libc-2\.\d+\.so$", line):
            return Path(line.split()[-1])
    sys.exit("symbols.py: this Python does not run on glibc")


class Report:
    def __init__(self) -> None:
        self.findings = 0

    def check(self, good: bool, what: str) -> None:
        if not good:
            self.findings += 1
            print(f"FAILED {what}")


def check_exports(report: Report, library: Path, reference: dict[tuple[str, str], bool]) -> None:
    ours = {(n, v): default for n, v, default, defined in dynamic_symbols(library) if defined}
    for (name, version), default in reference.items():
        report.check((name, version) in ours, f"{name}@{version} is exported by glibc, not by the library")
        if (name, version) in ours:
            report.check(
                ours[name, version] == default,
                f"{name}@{version} is {'' if default else 'not '}glibc's default version; the library differs",
            )
    for name, version in ours:
        known = (name, version) in reference or ALLOWED_EXTRA.fullmatch(name)
        report.check(bool(known), f"{name}@{version} is exported by the library, and by glibc not as such")
    print(f"symbols: {len(reference)} versioned functions in glibc, {len(ours)} exports of the library")


def check_needs(report: Report, library: Path) -> None:
    """Libc alone, and so do those that are built beside it."""
    for one in sorted(library.parent.glob("liblockswap*.so")):
        for name in re.findall(r"\(NEEDED\)[^\[]*\[([^\]]+)\]", run("readelf", "-dW", one)):
            good = re.fullmatch(r"libc\.so\.6|ld-linux[\w-]*\.so\.\d+", name)
            report.check(bool(good), f"{one.name} needs {name}; it may need libc alone")


def check_loading(report: Report, library: Path) -> None:
    dynamic = run("readelf", "-dW", library)
    relocations = run("readelf", "-rW", library)
    tls = set(re.findall(r"R_\w*(?:DTPMOD|DTPOFF|TLSDESC|TLS_GD|TLS_LD)\w*", relocations))
    report.check(not tls, f"thread-locals that are not initial-exec: {', '.join(sorted(tls))}")
    report.check("__tls_get_addr" not in run("nm", "-D", library), "__tls_get_addr is called")
    # aarch64's linker sets no mark; there the relocations say it alone.
    marked = "STATIC_TLS" in dynamic or "TLS_TPREL" in relocations
    report.check(marked, "the library is not marked as initial-exec (STATIC_TLS)")
    report.check("NODELETE" in dynamic, "the library can be unloaded (NODELETE is not set)")


def check_bindings(report: Report, library: Path, program: Path) -> None:
    """What the loader says of each reference, while the program uses everything."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "debug")
        environment = {"LD_PRELOAD": str(library), "LD_DEBUG": "bindings", "LD_DEBUG_OUTPUT": str(out)}
        run_program(program, **environment, LOCKSWAP_RWLOCK="ba", LOCKSWAP_MUTEX="mcs")
        text = "".join(p.read_text(errors="replace") for p in Path(folder).iterdir())
    pattern = re.compile(r"binding file (\S+) \[\d+\] to (\S+) \[\d+\]: normal symbol `(\w+)'(?: \[(\S+)\])?")
    bound = [m.groups() for m in pattern.finditer(text) if FUNCTION.fullmatch(m[3]) and "attr" not in m[3]]
    wanted = {
        (n, v.split("(")[0].strip())
        for n, v, _, defined in dynamic_symbols(program)
        if not defined and FUNCTION.fullmatch(n)
    }
    here = {(n, v) for file, _, n, v in bound if Path(file).name == program.name}
    for name, version in sorted(wanted):
        report.check((name, version) in here, f"{program.name}: the loader does not tell about {name}@{version}")
    for file, target, name, version in bound:
        if Path(file).name == library.name:
            continue  # its own way to glibc
        report.check(Path(target).name == library.name, f"{Path(file).name}: {name}@{version} is bound to {target}")
    print(f"bindings: {program.name} has {len(wanted)} references, {len(here)} bound")


def check_dlvsym(report: Report, library: Path, program: Path, reference: dict[tuple[str, str], bool]) -> None:
    pairs = sorted(reference)
    arguments = [part for pair in pairs for part in pair]
    found = run_program(program, *arguments, LD_PRELOAD=str(library), LOCKSWAP_RWLOCK="ba").splitlines()
    for (name, version), file in zip(pairs, found, strict=True):
        report.check(Path(file).name == library.name, f"dlvsym {name}@{version} finds {file}")


def check_mixed_vintages(report: Report, library: Path, program: Path, reference: dict[tuple[str, str], bool]) -> None:
    """A lock taken by a function of one version is held for the functions of every other."""
    versions = sorted({v for n, v in reference if n == "pthread_rwlock_wrlock"})
    for lock in ("pthread", "pf-t", "ba", "bravo-pthread", "bravo-pf-t", "bravo-ba"):
        for first in versions:
            for second in versions:
                try:
                    run_program(program, "cross", first, second, LD_PRELOAD=str(library), LOCKSWAP_RWLOCK=lock)
                except subprocess.CalledProcessError as error:
                    report.check(False, f"{lock}: locked by {first}, tried by {second}: {error.stderr.strip()}")
    for mutex in ("pthread", "ticket", "mcs", "clh"):
        for second in sorted({v for n, v in reference if n == "pthread_mutex_trylock"}):
            try:
                run_program(program, "cross-mutex", second, LD_PRELOAD=str(library), LOCKSWAP_MUTEX=mutex)
            except subprocess.CalledProcessError as error:
                report.check(False, f"mutex {mutex}: tried by {second}: {error.stderr.strip()}")


def main() -> int:
    if len(sys.argv) != 4:
        print("usage: symbols.py LIBRARY BOUND_NEW BOUND_OLD", file=sys.stderr)
        return 2
    library, bound_new, bound_old = (Path(a).resolve() for a in sys.argv[1:])
    report = Report()
    reference = {
        (n, v): default
        for n, v, default, defined in dynamic_symbols(system_libc())
        if defined and FUNCTION.fullmatch(n)
    }
    report.check(len(reference) > 20, f"only {len(reference)} functions found in {system_libc()}")
    check_exports(report, library, reference)
    check_needs(report, library)
    check_loading(report, library)
    for program in (bound_new, bound_old):
        check_bindings(report, library, program)
    check_dlvsym(report, library, bound_new, reference)
    check_mixed_vintages(report, library, bound_new, reference)
    print("symbols: good" if report.findings == 0 else f"symbols: {report.findings} findings")
    return 1 if report.findings else 0


if __name__ == "__main__":
    sys.exit(main())
