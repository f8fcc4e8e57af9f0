"""`cmake --install` puts all of lockswap into any prefix, from which it works and can be taken out again.

The two prefixes: `spaced` has spaces in its name and what was installed by component, without the command; `moved` was
installed with DESTDIR and then moved. The build tree is hidden from what is tried there, and the network too.
"""

import json
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = (ROOT / "build").resolve()
CONSUMER = Path(__file__).parent / "consumer"
STRUCTURES_CONSUMER = ROOT / "structures/tests/install/consumer"
PREFIXES = ("spaced", "moved")


def call(*words: str | Path, status: int = 0, env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    """Run a program that must end with `status`; what it printed."""
    done = subprocess.run(list(words), env=env, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def install(prefix: Path, *options: str, destdir: Path | None = None) -> None:
    env = os.environ | ({"DESTDIR": str(destdir)} if destdir else {})
    call("cmake", "--install", BUILD, "--prefix", prefix, *options, env=env)


def uninstall(prefix: Path) -> str:
    return call(prefix / "lib/lockswap/uninstall")


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def alone(*words: str | Path, status: int = 0, env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    """The same as call, without the checkout and its build tree, without a network, and with nothing in PATH."""
    hidden = [ROOT] if ROOT in BUILD.parents else [ROOT, BUILD]
    script = "".join(f"/bin/mount -t tmpfs none {shlex.quote(str(path))} && " for path in hidden) + 'exec "$@"'
    namespace = ["/usr/bin/unshare", "--map-root-user", "--net", "--mount", "/bin/sh", "-c", script, "sh"]
    return call(*namespace, *words, status=status, env={"PATH": "/nowhere"} | (env or {}), cwd=cwd or Path("/"))


def roomy_memory() -> str | None:
    """A folder in memory, if it has room for two installations: on some disks it takes a minute to delete them."""
    memory = Path("/dev/shm")
    if not memory.is_dir() or os.statvfs(memory).f_flag & os.ST_NOEXEC:
        return None
    return str(memory) if shutil.disk_usage(memory).free > 4 << 30 else None


@pytest.fixture(scope="session")
def base() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="lockswap-install-", dir=roomy_memory()) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def trees(base: Path) -> dict[str, Path]:
    if subprocess.run(["unshare", "--map-root-user", "--net", "--mount", "true"], capture_output=True).returncode != 0:
        pytest.skip("this system lets no user make namespaces")
    found = {"spaced": base / "with two spaces", "moved": base / "moved"}
    for component in ("development", "preload", "structures"):
        install(found["spaced"], "--component", component)
    install(Path("/opt/lockswap"), destdir=base / "a stage")
    (base / "a stage/opt/lockswap").rename(found["moved"])
    return found


@pytest.fixture(scope="session")
def program(base: Path) -> Path:
    """A program that takes rwlocks, away from the checkout."""
    source = ROOT / "tests/harness/native/rwbench.c"
    found = base / "prog"
    call("cc", "-O1", "-pthread", source, "-o", found)
    return found


def test_the_checkout_is_hidden(trees: dict[str, Path]) -> None:
    assert alone("/bin/ls", ROOT) == ""


def test_everything_is_there(trees: dict[str, Path]) -> None:
    libraries = {
        "lib/liblockswap.so",
        "lib/liblockswap-audit.so",
        "lib/liblockswap-fuzz.so",
        "lib/liblockswap_api.so",
        "lib/liblockswap_api.so.1",
        "lib/liblockswap_structures.so",
        "lib/liblockswap_structures.so.1",
        "lib/liblockswap_structures-checked.so",
    }
    headers = {
        f"include/{path.relative_to(ROOT / tree / 'include')}"
        for tree in ("", "structures")
        for path in (ROOT / tree / "include").rglob("*.h*")
    }
    packages = {f"lib/pkgconfig/lockswap{name}.pc" for name in ("", "-structures", "-structures-checked")}
    packages |= {f"lib/cmake/{name}/{name}Config.cmake" for name in ("lockswap", "lockswap-structures")}
    pages = {"share/man/man7/liblockswap.7"}
    if shutil.which("doxygen"):
        pages |= {f"share/man/man3/{name}.3" for name in ("lockswap_range_acquire", "lockswap_rlu_alloc")}
    for name in PREFIXES:
        assert libraries | headers | packages | pages <= set(files_below(trees[name])), name
    assert {
        "bin/lockswap",
        "lib/lockswap/bin/lockswap-registry",
        "share/man/man1/lockswap-compare.1",
        "share/bash-completion/completions/lockswap",
        "share/zsh/site-functions/_lockswap",
        "share/fish/vendor_completions.d/lockswap.fish",
    } <= set(files_below(trees["moved"]))
    assert files_below(trees["moved"] / "lib/lockswap/apps/recipes") == files_below(ROOT / "apps/recipes")
    assert files_below(trees["moved"] / "lib/lockswap/probes") == files_below(ROOT / "tools/probes")
    for name in PREFIXES:
        there = files_below(trees[name] / "lib/lockswap/structures/apps/recipes")
        assert there == files_below(ROOT / "structures/apps/recipes")
        assert files_below(trees[name] / "lib/lockswap/apps/traces") == files_below(ROOT / "structures/apps/traces")
    assert not (trees["spaced"] / "bin").exists(), "the command is a component of its own"


def test_the_structures_are_a_component_of_their_own(tmp_path: Path) -> None:
    install(tmp_path / "alone", "--component", "structures")
    there = files_below(tmp_path / "alone")
    assert {"lib/liblockswap_structures.so", "include/lockswap/rlu.h", "lib/lockswap/uninstall"} <= set(there)
    there = [file for file in there if not file.startswith("share/man/")]
    assert not [file for file in there if "range_lock" in file or "liblockswap.so" in file or "liblockswap_api" in file]
    uninstall(tmp_path / "alone")
    assert not (tmp_path / "alone").exists()
    install(tmp_path / "locks", "--component", "development")
    install(tmp_path / "locks", "--component", "preload")
    there = files_below(tmp_path / "locks/include")
    assert there == ["lockswap", "lockswap/range_lock.h", "lockswap/range_lock.hpp"]
    assert not [file for file in files_below(tmp_path / "locks/lib") if "structures" in file]


@pytest.mark.parametrize("name", PREFIXES)
def test_no_text_names_the_build_tree_or_the_prefix_of_the_installation(trees: dict[str, Path], name: str) -> None:
    texts = [*(trees[name] / "lib/pkgconfig").iterdir(), *(trees[name] / "lib/cmake").glob("*/*")]
    texts += [trees[name] / "lib/lockswap/uninstall", trees[name] / "lib/lockswap/manifest"]
    if name == "moved":
        texts.append(trees[name] / "bin/lockswap")
    for file in texts:
        text = file.read_text()
        for place in (str(ROOT), str(BUILD), "/opt/lockswap", "/usr/local", str(trees[name])):
            assert place not in text, (file, place)


@pytest.mark.parametrize("name", PREFIXES)
@pytest.mark.parametrize(("compiler", "source"), [("cc", "in_c.c"), ("c++", "in_cpp.cpp")])
def test_consumer_by_pkg_config(trees: dict[str, Path], name: str, compiler: str, source: str, tmp_path: Path) -> None:
    library = trees[name] / "lib"
    env = {**os.environ, "PKG_CONFIG_PATH": str(library / "pkgconfig")}
    flags = shlex.split(call("pkg-config", "--cflags", "--libs", "lockswap", env=env))
    call(compiler, CONSUMER / source, "-o", tmp_path / "prog", *flags)
    assert alone(tmp_path / "prog", env={"LD_LIBRARY_PATH": str(library)}) == "acquired\n"
    loaded = call("ldd", tmp_path / "prog", env={**os.environ, "LD_LIBRARY_PATH": str(library)})
    assert str(library / "liblockswap_api.so.1") in loaded


@pytest.mark.parametrize("name", PREFIXES)
def test_consumer_by_find_package(trees: dict[str, Path], name: str, tmp_path: Path) -> None:
    call("cmake", "-G", "Ninja", "-S", CONSUMER, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={trees[name]}")
    call("cmake", "--build", tmp_path)
    for program in ("in_c", "in_cpp"):
        assert alone(tmp_path / program) == "acquired\n"
        assert str(trees[name] / "lib/liblockswap_api.so.1") in call("ldd", tmp_path / program)


@pytest.mark.parametrize("name", PREFIXES)
def test_consumer_of_structures_by_pkg_config(trees: dict[str, Path], name: str, tmp_path: Path) -> None:
    library = trees[name] / "lib"
    env = {**os.environ, "PKG_CONFIG_PATH": str(library / "pkgconfig")}
    flags = shlex.split(call("pkg-config", "--cflags", "--libs", "lockswap-structures", env=env))
    call("cc", STRUCTURES_CONSUMER / "section.c", "-o", tmp_path / "prog", *flags)
    assert alone(tmp_path / "prog", env={"LD_LIBRARY_PATH": str(library)}) == "read\n"
    loaded = call("ldd", tmp_path / "prog", env={**os.environ, "LD_LIBRARY_PATH": str(library)})
    assert str(library / "liblockswap_structures.so.1") in loaded and "liblockswap_api" not in loaded


@pytest.mark.parametrize("name", PREFIXES)
def test_consumer_of_structures_by_find_package(trees: dict[str, Path], name: str, tmp_path: Path) -> None:
    call("cmake", "-G", "Ninja", "-S", STRUCTURES_CONSUMER, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={trees[name]}")
    call("cmake", "--build", tmp_path)
    for program in ("section", "section_checked"):
        assert alone(tmp_path / program) == "read\n"


def test_the_bonsai_tree_needs_its_headers_alone(trees: dict[str, Path], tmp_path: Path) -> None:
    include = f"-I{trees['spaced'] / 'include'}"
    call("c++", "-std=c++20", "-pthread", include, ROOT / "structures/examples/bonsai.cpp", "-o", tmp_path / "prog")
    assert alone(tmp_path / "prog") == "found some, in order yes\n"


def test_deferred_updates_need_their_headers_alone(trees: dict[str, Path], tmp_path: Path) -> None:
    include = f"-I{trees['spaced'] / 'include'}"
    call("c++", "-std=c++20", "-pthread", include, ROOT / "structures/examples/ldu.cpp", "-o", tmp_path / "prog")
    assert alone(tmp_path / "prog") == "400 mappings\n"


@pytest.fixture
def command_spaced(base: Path, trees: dict[str, Path]) -> Iterator[Path]:
    """The command of `moved`, which is for the moment in a folder with spaces."""
    folder = trees["moved"].rename(base / "moved once more")
    yield folder / "bin/lockswap"
    folder.rename(trees["moved"])


def test_list_works_from_the_installation_alone(command_spaced: Path) -> None:
    assert "bravo" in alone(command_spaced, "list")
    assert "rwbench" in alone(command_spaced, "list", "--json")


def test_help_names_the_folder_of_campaigns_that_an_installation_has(trees: dict[str, Path]) -> None:
    wide = {"COLUMNS": "300"}  # lines are broken at hyphens, too
    text = " ".join(alone(trees["moved"] / "bin/lockswap", "compare", "--help", env=wide).split())
    assert "Default: lockswap-results/NAME here." in text and " results/NAME" not in text
    there = " ".join(call(ROOT / "build/bin/lockswap", "compare", "--help", env=os.environ | wide).split())
    assert "results/NAME in lockswap's folder for workloads" in there


def test_command_works_through_a_link(trees: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "ls").symlink_to(trees["moved"] / "bin/lockswap")
    assert "bravo" in alone(tmp_path / "ls", "list")


@pytest.fixture(scope="session")
def rwlock() -> str:
    """One that the library brings: the registry says which."""
    listed = json.loads(call(BUILD / "bin/lockswap-registry"))["rwlocks"]
    return next(row["name"] for row in listed if row["compared_by_default"] and not row["passes_through"])


def test_run_takes_the_installed_library(trees: dict[str, Path], rwlock: str) -> None:
    command = [trees["moved"] / "bin/lockswap", "run", "--rwlock", rwlock, "--", "/bin/cat", "/proc/self/maps"]
    assert str(trees["moved"] / "lib/liblockswap.so") in alone(*command)


def test_run_says_that_the_loader_knows_no_spaces(command_spaced: Path, rwlock: str) -> None:
    said = alone(command_spaced, "run", "--rwlock", rwlock, "--", "/bin/true", status=2)
    assert said.count("\n") == 1
    assert "has a space" in said
    assert "move the checkout or the installation" in said


def test_audit_and_a_benchmark_work_from_the_installation(trees: dict[str, Path]) -> None:
    home = trees["moved"] / "lib/lockswap"
    said = alone(
        trees["moved"] / "bin/lockswap", "audit", "--", home / "apps/arrbench", "--threads", "1", "--seconds", "1"
    )
    assert "rwlock" in said


def test_compare_leaves_its_report_in_the_users_folder(
    trees: dict[str, Path], program: Path, rwlock: str, tmp_path: Path
) -> None:
    before = files_below(trees["moved"])
    command = [trees["moved"] / "bin/lockswap", "compare", "--rwlock", rwlock, "--repeats", "2", "--name", "mine"]
    alone(*command, "--", program, "2", "2000", env={"HOME": str(tmp_path)}, cwd=tmp_path)
    assert (tmp_path / "lockswap-results/mine/report.html").is_file()
    assert files_below(trees["moved"]) == before


def test_plots_are_a_component_of_their_own(trees: dict[str, Path], tmp_path: Path) -> None:
    said = call("cmake", "--install", BUILD, "--prefix", trees["spaced"], "--component", "plots", status=1)
    assert "has no command lockswap: install it first" in " ".join(said.split())
    campaign = shutil.copytree(ROOT / "results/2026-11-locktorture", tmp_path / "campaign")
    report = [trees["moved"] / "bin/lockswap", "report", campaign]
    assert alone(*report).count("cmake --install BUILD --component plots") == 1
    assert not (campaign / "plots").exists()
    install(trees["moved"], "--component", "plots")
    assert "component plots" not in alone(*report)
    assert list((campaign / "plots").glob("*.svg"))


def test_what_only_a_checkout_builds_is_said(trees: dict[str, Path], rwlock: str, tmp_path: Path) -> None:
    command = [trees["moved"] / "bin/lockswap", "compare", "--workload", "test-rwlock", "--rwlock", rwlock, "--quick"]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}, capture_output=True, text=True
    )
    assert "cannot be built by an installation" in done.stdout + done.stderr


def test_a_python_that_is_not_there_is_said(trees: dict[str, Path], tmp_path: Path) -> None:
    launcher = tmp_path / "lockswap"
    text = (trees["moved"] / "bin/lockswap").read_text()
    line = next(line for line in text.splitlines() if line.startswith("python="))
    launcher.write_text(text.replace(line, "python=/nowhere/python3"))
    said = call("sh", launcher, "list", status=2)
    assert said == (
        "lockswap: /nowhere/python3 is not there; install that Python, or build and install lockswap anew\n"
    )


def test_install_without_the_packages_says_what_to_do(tmp_path: Path) -> None:
    script = (BUILD / "packaging/before.cmake").read_text().replace(str(BUILD), str(tmp_path))
    (tmp_path / "before.cmake").write_text(script)
    said = call("cmake", "-P", tmp_path / "before.cmake", status=1)
    assert "run ./run.sh build" in " ".join(said.split())


def test_library_folder_must_be_below_the_prefix(tmp_path: Path) -> None:
    said = call("cmake", "-S", ROOT, "-B", tmp_path, "-G", "Ninja", "-DCMAKE_INSTALL_LIBDIR=/usr/lib", status=1)
    assert "CMAKE_INSTALL_LIBDIR is /usr/lib: give it relative to the prefix" in said


# Each of these makes installations of its own, without the command's packages, which take long to copy.
COMPONENTS = ("development", "preload")


def install_parts(prefix: Path, destdir: Path | None = None) -> None:
    for component in COMPONENTS:
        install(prefix, "--component", component, destdir=destdir)


def test_uninstall_keeps_what_others_put_there(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libother.so").touch()
    (tmp_path / "include").mkdir()
    before = files_below(tmp_path)
    install_parts(tmp_path)
    install_parts(tmp_path)  # a second time, as after an update
    uninstall(tmp_path)
    assert files_below(tmp_path) == before


def test_uninstall_target_takes_out_the_last_installation(tmp_path: Path) -> None:
    destdir = tmp_path / "stage"
    install_parts(Path("/opt/lockswap"), destdir)
    call("cmake", "--build", BUILD, "--target", "uninstall", env=os.environ | {"DESTDIR": str(destdir)})
    assert not (destdir / "opt/lockswap").exists()
    again = call(
        "cmake", "--build", BUILD, "--target", "uninstall", env=os.environ | {"DESTDIR": str(destdir)}, status=1
    )
    assert "is not there any more" in " ".join(again.split())


def test_nothing_is_left_of_moved_installations(trees: dict[str, Path]) -> None:
    """The last test of the file: it takes out the trees of the others."""
    # What Python may have compiled since, and what a user of root's may have run.
    (trees["moved"] / "lib/lockswap/harness/lockswap/__pycache__/later.pyc").touch()
    for name in PREFIXES:
        assert uninstall(trees[name]) == f"removed from {trees[name]}\n"
        assert not trees[name].exists()
