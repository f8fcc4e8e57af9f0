"""`./run.sh` itself, as far as the shell does it: what it announces, what it starts, how it ends. The build, the
packages and the command lockswap are stand-ins."""

import os
import pty
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

_TARGETS = re.search(r"^CAMPAIGN_TARGETS=\((.*)\)$", (ROOT / "scripts/campaign.sh").read_text(), re.MULTILINE)
assert _TARGETS
CAMPAIGN_TARGETS = _TARGETS[1].split()

BUILD = 'build_targets() { say building; echo "$*" >"$ROOT/built"; }\n'
PACKAGES = "BUILD_GROUPS=(compiler)\nneed_packages() { :; }\n"
WORKLOADS = 'get_workloads() { echo "${*:-everything}" >"$ROOT/fetched"; }\n'
PROGRAM = """
#include <pthread.h>
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int main(void) {
  return pthread_rwlock_rdlock(&lock) || pthread_rwlock_unlock(&lock);
}
"""
# It measures until it's interrupted, if the file `slow` is there; a campaign that is resumed is finished at once.
LOCKSWAP = r"""#!/bin/bash
echo "$*" >>asked
name=${*: -1}
name=results/${name##*/}
mkdir -p "$name"
echo 'finished = false' >"$name/campaign.toml"
trap 'exit 130' INT
[[ ! -e slow || $* == *--resume* ]] || { touch measuring; while :; do sleep 0.05; done; }
echo 'finished = true' >"$name/campaign.toml"
echo page >"$name/report.html"
"""


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "run.sh", tmp_path)
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    write(tmp_path / "scripts/build.sh", BUILD)
    write(tmp_path / "scripts/packages.sh", PACKAGES)
    write(tmp_path / "scripts/workloads.sh", WORKLOADS)
    write(tmp_path / "build/bin/lockswap", LOCKSWAP)
    (tmp_path / "results").mkdir()
    return tmp_path


def run(checkout: Path, *args: str, **more) -> subprocess.CompletedProcess:
    return subprocess.run(["./run.sh", *args], cwd=checkout, capture_output=True, text=True, **more)


def asked(checkout: Path) -> str:
    return (checkout / "asked").read_text().splitlines()[-1]


def campaign_of(checkout: Path) -> str:
    (folder,) = (checkout / "results").iterdir()
    return folder.name


@pytest.mark.parametrize(
    ("args", "starts", "fetches", "minutes"),
    [
        ([], "compare --quick", "liburcu", "about 8 minutes"),
        (["--full"], "compare -w all --threads 2,8,16 --seconds 1 --repeats 6", "everything", "about an hour"),
    ],
)
def test_it_says_what_it_does_and_does_it(checkout: Path, args, starts, fetches, minutes) -> None:
    done = run(checkout, *args)
    assert done.returncode == 0, done.stderr
    name = campaign_of(checkout)
    assert asked(checkout) == f"{starts} --name {name}"
    assert (checkout / "fetched").read_text().strip() == fetches
    assert (checkout / "built").read_text().split() == CAMPAIGN_TARGETS
    before, building, _ = done.stdout.partition("== building")
    said = " ".join(before.split())
    assert building
    assert minutes in said and f"results/{name}/report.html" in said
    assert "Ctrl-C" in said and "./run.sh --resume" in said
    assert ("./run.sh --full" in said) == (not args)


def test_what_it_builds_is_all_that_a_campaign_needs(tmp_path: Path) -> None:
    """A tree with nothing else in build/: a workload, counted and measured under a lock."""
    for name in CAMPAIGN_TARGETS:
        names = (f"lib{name}.so", f"bin/{name}.so", f"bin/{name}")
        made = next(file for one in names if (file := ROOT / "build" / one).exists())
        there = tmp_path / made.relative_to(ROOT)
        there.parent.mkdir(parents=True, exist_ok=True)
        there.symlink_to(made)
    source = tmp_path / "takes.c"
    source.write_text(PROGRAM)
    subprocess.run(["cc", "-pthread", "-o", tmp_path / "takes", source], check=True)
    python = [ROOT / "build/venv/bin/python", "-P"]
    compare = ["-m", "lockswap", "compare", "--rwlock", "ba", "--repeats", "1", "--", "./takes"]
    for_servers = ["-c", "from lockswap.base.paths import Paths; Paths.find().stats_on_signal"]
    env = os.environ | {"LOCKSWAP_HOME": str(tmp_path)}
    for words in (compare, for_servers):
        done = subprocess.run([*python, *words], cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("lockswap-results/*/report.html"))


def test_what_was_quick_is_said(checkout: Path) -> None:
    done = run(checkout, "--quick")
    assert done.returncode == 2 and done.stdout == ""
    assert "./run.sh --full" in done.stderr and len(done.stderr.splitlines()) == 1


def sleeps(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("S")


def interrupted(checkout: Path) -> tuple[int, str]:
    """Ctrl-C, which all processes of the terminal get, while it measures."""
    (checkout / "slow").touch()
    child = subprocess.Popen(
        ["./run.sh"],
        cwd=checkout,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A runner may have been started with Ctrl-C ignored, as a shell's background jobs are.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    # A shell that isn't waiting for its command yet would end by the signal itself.
    while not (checkout / "measuring").exists() or not sleeps(child.pid):
        assert child.poll() is None
        time.sleep(0.02)
    os.killpg(child.pid, signal.SIGINT)
    out, _ = child.communicate()
    return child.returncode, out


def test_an_interrupted_one_goes_on(checkout: Path) -> None:
    status, out = interrupted(checkout)
    name = campaign_of(checkout)
    assert status == 130
    assert f"./run.sh --resume continues results/{name}" in out

    done = run(checkout, "--resume")
    assert done.returncode == 0, done.stderr
    assert asked(checkout) == f"compare --resume {checkout}/results/{name}"


def test_a_new_one_says_that_there_is_an_interrupted_one(checkout: Path) -> None:
    interrupted(checkout)
    name = campaign_of(checkout)
    (checkout / "slow").unlink()
    assert f"results/{name} is not finished: ./run.sh --resume" in run(checkout).stdout


def test_without_an_interrupted_one_nothing_is_resumed(checkout: Path) -> None:
    write(checkout / "results/2026-11-27-100000/campaign.toml", "finished = true\n")
    done = run(checkout, "--resume")
    assert done.returncode == 2 and "no campaign in results/ was interrupted" in done.stderr
    assert not (checkout / "asked").exists()


@pytest.mark.parametrize("opener", ['echo "$1" >opened', "exit 3"])
def test_on_a_desktop_the_page_is_opened(checkout: Path, opener: str) -> None:
    write(checkout / "bin/xdg-open", f"#!/bin/bash\n{opener}\n")
    env = os.environ | {"PATH": f"{checkout}/bin:{os.environ['PATH']}", "DISPLAY": ":9"}
    ours, theirs = pty.openpty()
    done = subprocess.run(["./run.sh"], cwd=checkout, env=env, stdout=theirs, stdin=subprocess.DEVNULL)
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 0
    if "opened" in opener:
        opened = checkout / "opened"
        deadline = time.monotonic() + 600  # it runs in the background, as a browser would
        while not (opened.exists() and opened.read_text().endswith("\n")) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert opened.read_text() == f"{checkout}/results/{campaign_of(checkout)}/report.html\n"


def test_without_a_terminal_no_page_is_opened(checkout: Path) -> None:
    write(checkout / "bin/xdg-open", "#!/bin/bash\ntouch opened\n")
    env = os.environ | {"PATH": f"{checkout}/bin:{os.environ['PATH']}", "DISPLAY": ":9"}
    assert run(checkout, env=env).returncode == 0
    assert not (checkout / "opened").exists()
