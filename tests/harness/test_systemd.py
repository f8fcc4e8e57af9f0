"""`lockswap service` under systemd itself: a container boots this machine's systemd over an empty root, in which a unit
runs a script. Each test looks at what that script has left."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness_support import NATIVE, ROOT, compile_c
from lockswap.service.unit import text_of
from test_service import NASTY

pytestmark = pytest.mark.full
BUILT = ("liblockswap.so", "bin/lockswap-registry", "bin/lockswap-profile-read")
# That it may forbid all this is what the documents say.
HARDENED = """
User=nobody
NoNewPrivileges=yes
MemoryDenyWriteExecute=yes
RestrictAddressFamilies=AF_UNIX
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectKernelTunables=yes
CapabilityBoundingSet=
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
"""
FILTER = "SystemCallFilter=@default @basic-io @file-system @process @signal\n"
UNITS = {
    "plain": "",
    "hardened": HARDENED,
    "hidden": "InaccessiblePaths=/shared/home\n",
    "filtered": FILTER,
    "filtered-alone": FILTER,  # without the library
    "again": "",
    "values": "",
}
SCRIPT = """
lockswap() {{ {python} -m lockswap "$@"; }}
pid() {{ systemctl show --property=MainPID --value "$1"; }}
keep() {{ name=$1; shift; "$@" >"{out}/$name" 2>&1; echo $? >"{out}/$name.status"; }}
export PYTHONPATH={root}/harness LOCKSWAP_HOME=/shared/home PYTHONDONTWRITEBYTECODE=1
for unit in plain hardened hidden filtered again; do
  keep $unit.enable lockswap service enable $unit --rwlock auto --mutex auto
  systemctl daemon-reload
  systemctl start $unit
done
mkdir -p /etc/systemd/system/values.service.d
cp /shared/values.conf /etc/systemd/system/values.service.d/50-lockswap.conf
systemctl daemon-reload
systemctl start values filtered-alone
sleep 2
for unit in plain hardened hidden filtered; do
  keep $unit.json lockswap service status --json $unit
done
cp /proc/"$(pid values)"/environ {out}/values.environ
keep off lockswap off "$(pid again)"
keep off.json lockswap service status --json again
before=$(pid again)
keep disable lockswap service disable again --now
sleep 1
keep disabled.json lockswap service status --json again
[ "$before" != "$(pid again)" ]; echo $? >{out}/restarted.status
ls /etc/systemd/system >{out}/left
for unit in filtered filtered-alone; do
  systemctl show --property=Result --value $unit >{out}/$unit.result
done
"""


@pytest.fixture(scope="module")
def left(tmp_path_factory) -> Path:
    """What the script wrote, by name."""
    if shutil.which("systemd-nspawn") is None or os.geteuid() != 0:
        pytest.skip("needs systemd-nspawn, and root")
    if not all((ROOT / "build" / file).exists() for file in BUILT):
        pytest.skip("the library is not built")
    shared = tmp_path_factory.mktemp("shared")
    shared.chmod(0o755)
    out = shared / "out"
    out.mkdir()
    for file in BUILT:
        (shared / "home/build" / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "build" / file, shared / "home/build" / file)
    compile_c(NATIVE / "sleeper.c", shared / "sleeper", "-pthread", "-ldl")
    (shared / "values.conf").write_text(text_of("values.service", {f"VALUE_{n}": v for n, v in enumerate(NASTY)}))
    (shared / "script").write_text(SCRIPT.format(python=sys.executable, out="/shared/out", root=ROOT))
    units = shared / "units"
    units.mkdir()
    for name, more in UNITS.items():
        (units / f"{name}.service").write_text(f"[Service]\nExecStart=/shared/sleeper\n{more}")
    (units / "driver.service").write_text(
        "[Unit]\nRequires=basic.target\nAfter=basic.target\nSuccessAction=poweroff-force\nFailureAction=poweroff-force\n"
        "[Service]\nType=oneshot\nTimeoutStartSec=600\nExecStart=/bin/sh /shared/script\n"
    )
    binds = [f"--bind-ro={file}:/etc/systemd/system/{file.name}" for file in units.iterdir()]
    binds.append("--bind-ro=/dev/null:/etc/systemd/system/systemd-firstboot.service")  # which asks questions
    done = subprocess.run(
        ["systemd-nspawn", "--volatile=yes", "-D", "/", "--register=no", "--keep-unit",
         f"--machine=lockswap-{os.getpid()}", f"--bind={shared}:/shared", f"--bind-ro={ROOT}",
         *binds, "-b", "--", "--unit=driver.service"],
        capture_output=True, text=True, errors="replace", timeout=300, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    if not list(out.iterdir()):
        pytest.skip(f"no systemd boots here: {(done.stdout + done.stderr).strip().splitlines()[-1:]}")
    return out


def status(left: Path, name: str) -> int:
    return int((left / f"{name}.status").read_text())


def findings(left: Path, name: str) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for one in json.loads((left / f"{name}.json").read_text())["findings"]:
        found.setdefault(one["check"], []).append((one["level"], one["text"]))
    return found


@pytest.mark.parametrize("unit", ["plain", "hardened"])
def test_it_runs_under_the_lock_also_where_much_is_forbidden(left, unit):
    assert status(left, f"{unit}.enable") == 0
    found = findings(left, unit)
    assert status(left, f"{unit}.json") == 0, found
    assert "(auto)" in found["choice"][0][1]
    assert found["drop-in"][0][0] == "ok"


def test_a_library_that_the_unit_hides_is_said_before_and_after(left):
    assert status(left, "hidden.enable") == 1
    assert "keeps /shared/home" in (left / "hidden.enable").read_text()
    assert "runs without lockswap" in findings(left, "hidden")["loaded"][0][1]


def test_a_filter_that_kills_is_said_before(left):
    assert status(left, "filtered.enable") == 1
    assert "may kill the service" in (left / "filtered.enable").read_text()
    assert (left / "filtered.result").read_text() in ("signal\n", "core-dump\n")
    assert (left / "filtered-alone.result").read_text() == "success\n"


def test_systemd_reads_values_as_they_were_written(left):
    entries = (left / "values.environ").read_bytes().decode().split("\0")
    read = dict(one.split("=", 1) for one in entries if one.startswith("VALUE_"))
    assert read == {f"VALUE_{n}": value for n, value in enumerate(NASTY)}


def test_off_in_a_service_and_without_it_after_disable(left):
    assert status(left, "off") == 0, (left / "off").read_text()
    assert "new locks are glibc's" in findings(left, "off")["off"][0][1]
    assert status(left, "disable") == status(left, "restarted") == 0
    found = findings(left, "disabled")
    assert "is not enabled" in found["drop-in"][0][1]
    assert "runs without lockswap" in found["loaded"][0][1]
    assert "again.service.d" not in (left / "left").read_text()
