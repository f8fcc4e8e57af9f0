"""`lockswap service`: drop-ins of systemd units, below a root folder of their own."""

import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from harness_support import compile_c, one_line_error
from lockswap.doctor.finding import NOTE, STOPS
from lockswap.service import programs
from lockswap.service.manager import Manager
from lockswap.service.settings import Settings, findings
from lockswap.service.unit import MARKER, assignment, text_of

LIBRARY = "/usr/lib/liblockswap.so"
NASTY = ["a b", 'say "x"', "back\\slash", "100%", "$HOME", "tab\there", "line\nbreak", "ünïcode", "'single'", ""]


@pytest.fixture
def root(tmp_path):
    """A system's root with one service, and a template."""
    units = tmp_path / "root/usr/lib/systemd/system"
    units.mkdir(parents=True)
    (tmp_path / "root/etc/systemd/system").mkdir(parents=True)
    (tmp_path / "root/usr/bin").mkdir(parents=True)
    shutil.copy("/bin/true", tmp_path / "root/usr/bin/served")
    text = "[Unit]\nDescription=A test\nDefaultDependencies=no\n\n[Service]\nExecStart=/usr/bin/served --port 80\n"
    (units / "served.service").write_text(text)
    (units / "served@.service").write_text(text)
    return tmp_path / "root"


def drop_in(root: Path, unit: str = "served.service") -> Path:
    return root / f"etc/systemd/system/{unit}.d/50-lockswap.conf"


def enable(lockswap, root: Path, *words: str, unit: str = "served"):
    return lockswap("service", "enable", unit, "--root", root, *words)


def test_enable_writes_and_shows_what_disable_removes(lockswap, root):
    done = enable(lockswap, root, "--rwlock", "ba", "--mutex", "mcs")
    assert (done.returncode, done.stderr) == (0, "")
    text = drop_in(root).read_text()
    assert text.splitlines()[0] == MARKER
    assert text in done.stdout
    library = (lockswap.root / "build/liblockswap.so").resolve()
    assert text.splitlines()[2:] == [
        "[Service]",
        f'Environment="LD_PRELOAD={library}"',
        'Environment="LOCKSWAP_RWLOCK=ba"',
        'Environment="LOCKSWAP_MUTEX=mcs"',
    ]
    assert drop_in(root).stat().st_mode & 0o777 == 0o644
    done = lockswap("service", "disable", "served.service", "--root", root)
    assert done.returncode == 0 and str(drop_in(root)) in done.stdout
    assert not drop_in(root).parent.exists()
    done = lockswap("service", "disable", "served", "--root", root)
    assert done.returncode == 0 and "nothing to remove" in done.stdout


def test_enable_again_changes_the_choice(lockswap, root):
    enable(lockswap, root, "--rwlock", "ba")
    assert enable(lockswap, root, "--mutex", "mcs").returncode == 0
    text = drop_in(root).read_text()
    assert "LOCKSWAP_MUTEX=mcs" in text and "LOCKSWAP_RWLOCK=ba" not in text
    assert text.count("LD_PRELOAD=") == 1 and text.count("liblockswap.so") == 1


def test_what_the_unit_preloads_already_stays(lockswap, root):
    other = drop_in(root).with_name("10-malloc.conf")
    other.parent.mkdir()
    other.write_text('[Service]\nEnvironment=A=1 "LD_PRELOAD=/usr/lib/libjemalloc.so.2"\n')
    assert enable(lockswap, root, "--rwlock", "ba").returncode == 0
    library = (lockswap.root / "build/liblockswap.so").resolve()
    assert f'"LD_PRELOAD={library}:/usr/lib/libjemalloc.so.2"' in drop_in(root).read_text()
    lockswap("service", "disable", "served", "--root", root)
    assert other.exists()


@pytest.mark.parametrize("text", ["[Service]\nEnvironment=MINE=1\n", "", f"[Service]\n{MARKER}\n"])
def test_a_file_that_is_not_ours_is_left_alone(lockswap, root, text):
    drop_in(root).parent.mkdir()
    drop_in(root).write_text(text)
    for words in (("enable", "served", "--rwlock", "ba"), ("disable", "served"), ("status", "served")):
        assert "was not written by lockswap" in one_line_error(lockswap("service", *words, "--root", root))
    assert drop_in(root).read_text() == text


def test_a_link_in_its_place_is_not_followed(lockswap, root, tmp_path):
    target = tmp_path / "target"
    target.write_text(f"{MARKER}\n")
    drop_in(root).parent.mkdir()
    drop_in(root).symlink_to(target)
    assert "left alone" in one_line_error(enable(lockswap, root, "--rwlock", "ba"))
    assert target.read_text() == f"{MARKER}\n"


def test_templates_and_names(lockswap, root):
    assert enable(lockswap, root, "--rwlock", "ba", unit="served@1").returncode == 0
    assert drop_in(root, "served@1.service").is_file()
    for unit in ("served.socket", "a/b", "", "../served", "x y"):
        assert "is no service" in one_line_error(enable(lockswap, root, "--rwlock", "ba", unit=unit))
    assert "there is no unit missing.service" in one_line_error(
        enable(lockswap, root, "--rwlock", "ba", unit="missing")
    )


def test_wrong_choices_are_one_line(lockswap, root):
    assert "say which lock" in one_line_error(enable(lockswap, root))
    assert "no-such" in one_line_error(enable(lockswap, root, "--rwlock", "no-such"))
    assert "disable" in one_line_error(enable(lockswap, root, "--rwlock", "none"))
    assert "take one of them" in one_line_error(enable(lockswap, root, "--rwlock", "ba", "--user"))
    assert "no folder" in one_line_error(enable(lockswap, root / "gone", "--rwlock", "ba"))
    assert not drop_in(root).exists()


def test_status_says_whether_it_is_enabled(lockswap, root):
    done = lockswap("service", "status", "served", "--root", root)
    assert done.returncode == 1 and "is not enabled" in done.stdout
    enable(lockswap, root, "--rwlock", "ba")
    done = lockswap("service", "status", "served", "--root", root)
    assert done.returncode == 0 and str(drop_in(root)) in done.stdout


def test_a_program_that_cannot_be_preloaded_stops(lockswap, root, tmp_path):
    (tmp_path / "served.c").write_text("int main(void) { return 0; }\n")
    compile_c(tmp_path / "served.c", root / "usr/bin/served", "-static")
    done = enable(lockswap, root, "--rwlock", "ba")
    assert done.returncode == 1 and "'served' is statically linked" in done.stdout
    assert drop_in(root).is_file()


def test_a_program_with_file_capabilities_stops(root):
    settings = Settings("[Service]\nUser=www\nExecStart=-/usr/bin/served --port 80\n")
    assert programs.findings(settings, root) == []
    capabilities = struct.pack("<5I", 0x02000001, 1 << 10, 0, 0, 0)  # cap_net_bind_service=ep
    try:
        os.setxattr(root / "usr/bin/served", "security.capability", capabilities)
    except OSError as error:
        pytest.skip(f"capabilities can't be set here: {error}")
    assert any("AmbientCapabilities" in one.text for one in programs.findings(settings, root))


def test_drop_ins_of_all_places_count(root):
    for place, text in (("usr/lib", "Environment=A=usr B=usr"), ("run", "Environment=B=run"), ("etc", "LimitAS=4G")):
        folder = root / place / "systemd/system/served.service.d"
        folder.mkdir(parents=True)
        (folder / f"20-{place.replace('/', '-')}.conf").write_text(f"[Service]\n{text}\n")
    hidden = root / "usr/lib/systemd/system/served.service.d/20-etc.conf"
    hidden.write_text("[Service]\nLimitAS=1M\n")
    settings = Settings(Manager(root=root).cat("served.service"))
    assert settings.environment() == {"A": "usr", "B": "usr"}
    assert settings.all("LimitAS") == ["4G"]
    assert settings.last("ExecStart") == "/usr/bin/served --port 80"


# --- systemd's rules


@pytest.mark.parametrize("value", NASTY)
def test_a_value_is_read_back_as_it_was(value):
    assert Settings(f"[Service]\n{assignment('LOCKSWAP_X', value)}\n").environment() == {"LOCKSWAP_X": value}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_finds_nothing_wrong_with_it(root):
    """Its own parser: with `systemd-analyze verify`, a line that it can't read is a message."""
    values = {f"LOCKSWAP_{n}": value for n, value in enumerate(NASTY)}
    drop_in(root).parent.mkdir()
    drop_in(root).write_text(text_of("served.service", values))
    verified = verify(root)
    assert verified == "", verified
    drop_in(root).write_text(text_of("served.service", values).replace('\\"x', '"x'))
    assert "50-lockswap.conf" in verify(root)


def verify(root: Path) -> str:
    done = subprocess.run(
        ["systemd-analyze", f"--root={root}", "--man=no", "verify", "served.service"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = (done.stdout + done.stderr).splitlines()
    return "\n".join(line for line in lines if re.search(r"lockswap|served", line))


@pytest.mark.parametrize(
    ("line", "level", "check"),
    [
        ("ProtectHome=yes", None, "ProtectHome"),
        ("InaccessiblePaths=/srv /usr/lib", STOPS, "InaccessiblePaths"),
        ("TemporaryFileSystem=/usr:ro\nBindReadOnlyPaths=/usr/lib", None, "TemporaryFileSystem"),
        ("TemporaryFileSystem=/usr:ro", STOPS, "TemporaryFileSystem"),
        ("NoExecPaths=/\nExecPaths=/usr/bin", STOPS, "NoExecPaths"),
        ("NoExecPaths=/\nExecPaths=/usr", None, "NoExecPaths"),
        ("RootDirectory=/srv/root", STOPS, "RootDirectory"),
        ("UnsetEnvironment=LD_PRELOAD", STOPS, "UnsetEnvironment"),
        ("SystemCallFilter=@system-service", None, "SystemCallFilter"),
        ("SystemCallFilter=@basic-io", STOPS, "SystemCallFilter"),
        ("SystemCallFilter=@basic-io\nSystemCallErrorNumber=EPERM", NOTE, "SystemCallFilter"),
        ("SystemCallFilter=@system-service\nSystemCallFilter=~@privileged @resources", None, "SystemCallFilter"),
        ("SystemCallFilter=~@resources", NOTE, "SystemCallFilter"),
        ("SystemCallFilter=~@mount", None, "SystemCallFilter"),
        ("LimitAS=8M", NOTE, "LimitAS"),
        ("LimitAS=4G", None, "LimitAS"),
        ("EnvironmentFile=-/nowhere/env", NOTE, "EnvironmentFile"),
        (
            "NoNewPrivileges=yes\nMemoryDenyWriteExecute=yes\nRestrictAddressFamilies=AF_UNIX\nProtectSystem=strict",
            None,
            "",
        ),
        ("UnsetEnvironment=LD_PRELOAD\nUnsetEnvironment=", None, "UnsetEnvironment"),
    ],
)
def test_settings_that_stand_in_the_way(line, level, check):
    found = findings(Settings(f"[Service]\n{line}\n"), LIBRARY)
    assert [(one.level, one.check) for one in found] == ([(level, check)] if level else [])


def test_a_library_in_a_home_that_is_hidden_stops():
    found = findings(Settings("[Service]\nProtectHome=true\n"), "/home/me/liblockswap.so")
    assert [one.check for one in found] == ["ProtectHome"]
    found = findings(Settings("[Service]\nPrivateTmp=yes\n"), "/tmp/liblockswap.so")
    assert [one.check for one in found] == ["PrivateTmp"]


def test_a_file_of_variables_that_would_win_stops(tmp_path):
    file = tmp_path / "env"
    file.write_text("A=1\nLD_PRELOAD=/x.so\n")
    (found,) = findings(Settings(f"[Service]\nEnvironmentFile={file}\n"), LIBRARY)
    assert found.level == STOPS and "LD_PRELOAD" in found.text
    file.write_text("A=1\n")
    assert findings(Settings(f"[Service]\nEnvironmentFile={file}\n"), LIBRARY) == []
