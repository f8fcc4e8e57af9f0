"""Servers under load: a small one of ours, which behaves well or misbehaves in every way."""

import contextlib
import csv
import json
import os
import shutil
import signal
import socket
import time
import tomllib
from pathlib import Path

import pytest

from harness_support import goes_on, one_line_error, stays_after
from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.recipes import reader
from lockswap.recipes.server import Ready
from lockswap.run import ports, processes, runner, steps
from lockswap.run.setup import Setup

RECIPE = """
schema = 1
name = "tiny"
title = "A small server"
source = "tests/harness"
measures = "Requests."
command = ["{apps}/tiny", "load", "{port}", "{requests}"]
threads = [1, 2]
fixed_work = true
timeout = 20
params.default.requests = 500
[server]
command = ["{apps}/tiny", "server", "{port}", "{threads}"]
ready = "{port}"
stop = "TERM"
[[metric]]
name = "requests"
role = "total"
unit = "requests/s"
regex = 'requests/s: ([0-9.]+)'
better = "higher"
[[expect]]
match = '^result: ok'
why = "its own check of its result"
[[expect]]
stream = "server"
match = '^stopped'
why = "the server says that it was stopped"
[lock_check]
operations = 'requests: ([0-9]+)'
acquisitions_per_operation = 1.0
"""


@pytest.fixture
def tiny(repo):
    """The recipe above, with changes."""

    def write(**changes: str) -> Path:
        text = RECIPE
        for old, new in changes.items():
            old = {"server": '"{threads}"]', "load": '"{requests}"]'}.get(old, old)
            assert text.count(old) == 1
            text = text.replace(old, new)
        path = repo / "apps/recipes/tiny.toml"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def campaign(lockswap, repo):
    def run(*args, **more):
        done = lockswap("compare", "--out", "results/c", "-l", "ba", "-r", "1", "-t", "2", "--no-report", *args, **more)
        nothing_left(repo)
        return rows(repo), done

    return run


@pytest.fixture
def own(campaign, repo):
    """compare --server with the tiny server in a mode, and its load in a mode."""
    tiny = repo / "build/apps/tiny"

    def run(server="", load="", *args, **more):
        return campaign(
            "--server", f"{tiny} server {{port}} {{threads}} {server}",
            "--load", f"{tiny} load {{port}} 200 {load}", "--metric", "requests/s: ([0-9.]+)", *args, **more,
        )  # fmt: skip

    return run


def rows(repo) -> list[dict[str, str]]:
    raw = repo / "results/c/raw.csv"
    if not raw.exists():
        return []
    with raw.open(newline="") as file:
        return list(csv.DictReader(file))


def checks(repo) -> dict[str, dict]:
    return {check["lock"]: check for check in json.loads((repo / "results/c/checks.json").read_text())["checks"]}


def running(repo) -> list[list[str]]:
    """The arguments of every tiny server and load of this checkout."""
    program = (repo / "build").resolve() / "apps/tiny"  # which is started by other names, too
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            if (path / "exe").readlink() == program:
                found.append((path / "cmdline").read_bytes().decode().split("\0"))
    return found


@pytest.fixture
def start(lockswap):
    """A harness in the background, which does not outlive the test."""
    children = []

    def run(*args):
        children.append(lockswap.start(*args))
        return children[-1]

    yield run
    for child in children:
        child.terminate()
        child.communicate()


def nothing_left(repo):
    assert running(repo) == []


def test_a_server_is_measured_and_counted(campaign, tiny, repo):
    tiny()
    measured, done = campaign("-w", "tiny", env={"LD_PRELOAD": ""})
    assert done.returncode == 0, done.stderr
    assert {(row["lock"], row["status"]) for row in measured} == {(lock, "ok") for lock in ("none", "pthread", "ba")}
    for row in measured:
        assert float(row["metric.requests"]) > 0 and float(row["wall_s"]) > 0 and float(row["cpu_s"]) > 0
        assert 500 < float(row["max_rss_kb"]) < 8000
    for lock in ("pthread", "ba"):
        assert checks(repo)[lock]["totals"] | {"reads": 450, "writes": 50} == checks(repo)[lock]["totals"]
    assert tomllib.loads((repo / "results/c/campaign.toml").read_text())["workload"][0]["server"]["stop"] == "TERM"


def test_only_the_server_is_swapped(own, repo):
    # The load says that nothing is preloaded into it; the number that is looked for is not in its output.
    _, done = own("", "", "--metric", "preload: (.*lockswap.*)", env={"LD_PRELOAD": ""})
    assert done.returncode == 2 and "nothing matches /preload" in done.stderr
    assert not (repo / "results/c").exists()


def test_what_goes_wrong_is_shown(own):
    measured, done = own("--early", "")
    says = "the server ended with status 3 before it was ready: no configuration"
    assert done.returncode == 4 and says in done.stdout
    assert {row["status"] for row in measured if row["lock"] == "none"} == {"failed"}
    assert all(says in row["detail"] for row in measured if row["lock"] == "none"), measured


@pytest.fixture
def measure(repo, tiny):
    """One run within this process: measure(server, load, recipe changes, lock, count, timeout)."""

    def run(server="", load="", changes=None, lock="none", count=False, timeout=None):
        words = {"server": f'"{{threads}}", "{server}"]', "load": f'"{{requests}}", "{load}"]'}
        recipe = reader.load(tiny(**words, **(changes or {})))
        setup = Setup(Paths(repo, (repo / "build").resolve()), None, timeout=timeout)
        outcome = runner.measure(setup, recipe, lock, 2, 1, recipe.params, count=count)
        nothing_left(repo)
        return outcome

    return run


QUIET = {'stop = "TERM"': "ready_timeout = 2"}  # until then it must have said something, on a busy machine too
DEAF = {'stop = "TERM"': "stop_timeout = 0.3"}


@pytest.mark.parametrize(
    ("server", "load", "changes", "status", "says"),
    [
        ("--early", "", {}, "failed", "the server ended with status 3 before it was ready: no configuration"),
        ("--quiet", "", QUIET, "hung", "not ready after 2 s: nobody used TCP port"),
        ("--quiet", "", QUIET | {'ready = "{port}"': 'ready = "^ok"'}, "hung", "matches /^ok/: still loading"),
        ("--crash", "", {}, "crashed", "the server died by SIGSEGV during the load"),
        ("--deaf", "", DEAF, "hung", "did not end within 0.3 s of SIGTERM and was killed"),
        ("--leave", "", {}, "failed", "left a process behind, which had to be killed: tiny"),
        ("--background", "", {}, "failed", "went into the background"),
        ("--bad-end", "", {}, "failed", "the server ended with status 9 after SIGTERM"),
        ("", "--fail", {}, "failed", "the load: exit status 4: no such request"),
        ("", "--wrong", {}, "wrong result", "its own check of its result"),
        ("--plain", "", {}, "wrong result", "the server says that it was stopped"),
        ("--bad-end", "", {'stop = "TERM"': "exit_status = 9"}, "ok", ""),
        ("", "", {'ready = "{port}"': 'ready = "^listening on {port}"'}, "ok", ""),
    ],
)
def test_every_end_of_a_run_is_told(measure, server, load, changes, status, says):
    outcome = measure(server, load, changes)
    assert outcome.status == status and says in outcome.detail, outcome


def test_a_load_that_hangs_is_ended(measure):
    outcome = measure("", "--hang", timeout=0.5)
    assert outcome.status == "hung" and "the load was still running after 0.5 s" in outcome.detail


@pytest.mark.parametrize("stop", ["TERM", "SIGINT", "KILL"])
def test_a_server_that_a_signal_kills_is_counted_all_the_same(measure, stop):
    """It leaves without exit handlers; what it would not hear of (SIGKILL) becomes SIGTERM."""
    changes = {"match = '^stopped'": "match = '^listening'", 'stop = "TERM"': f'stop = "{stop}"'}
    outcome = measure("--plain", "", changes, lock="ba", count=True)
    assert outcome.status == "ok", outcome
    assert outcome.counts.totals["reads"] == 450 and outcome.counts.totals["writes"] == 50


def test_a_server_hears_a_signal_that_the_harness_ignores(measure):
    """A job in the background starts with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        outcome = measure(
            "--plain", "", {"match = '^stopped'": "match = '^listening'", 'stop = "TERM"': 'stop = "INT"'}
        )
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert outcome.status == "ok", outcome


def test_a_port_of_somebody_else_is_not_measured(measure):
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        port = somebody.getsockname()[1]
        outcome = measure("", "", {'ready = "{port}"': f'ready = "{port}"'})
    assert outcome.status == "skipped" and f"TCP port {port} is in use already" in outcome.detail


def test_preparation_and_cleanup_surround_each_run_whatever_happens(measure, repo, monkeypatch):
    monkeypatch.delenv("LD_PRELOAD", raising=False)

    def say(word):
        return f"""["sh", "-c", "test -d {{tmp}} && echo {word} $LD_PRELOAD >> {repo}/log"]"""

    around = f"threads = [1, 2]\nprepare = [{say('prepare')}]\ncleanup = [{say('first')}, {say('second')}]"
    assert measure("--early", "", {"threads = [1, 2]": around}, lock="ba").status == "failed"
    assert (repo / "log").read_text().split() == ["prepare", "first", "second"]
    around = f"""threads = [1, 2]\nprepare = [["false"], {say("never")}]\ncleanup = [{say("first")}]"""
    outcome = measure("", "", {"threads = [1, 2]": around})
    assert outcome.status == "skipped" and "preparation failed with status 1" in outcome.detail
    assert (repo / "log").read_text().split() == ["prepare", "first", "second", "first"]
    (repo / "log").unlink()
    around = f"""threads = [1, 2]\ncleanup = [["sh", "-c", "echo no space >&2; exit 5"], {say("second")}]"""
    outcome = measure("", "", {"threads = [1, 2]": around})
    assert outcome.status == "failed" and "its cleanup failed with status 5: no space" in outcome.detail
    assert (repo / "log").read_text().split() == ["second"]


def test_what_the_preparation_starts_ends_with_the_run(measure):
    around = 'threads = [1, 2]\nprepare = [["sh", "-c", "{apps}/tiny load 1 1 --hang & echo started"]]'
    outcome = measure("", "", {"threads = [1, 2]": around})
    assert outcome.status == "ok", outcome


@pytest.mark.parametrize(
    ("step", "number"),
    [
        ("prepare", signal.SIGINT),
        ("ready", signal.SIGINT),
        ("load", signal.SIGINT),
        ("load", signal.SIGTERM),
        ("stop", signal.SIGINT),
        ("cleanup", signal.SIGINT),
    ],
)
def test_an_interrupt_in_any_step_leaves_nothing(start, repo, step, number):
    tiny, mark, loaded = (repo / "build").resolve() / "apps/tiny", repo / "cleaned", repo / "loaded"
    wait = f"{tiny} load 1 1 --hang"
    modes = {"ready": "--quiet", "stop": "--deaf"}
    options = ["--server", f"{tiny} server {{port}} 1 {modes.get(step, '')}", "--stop-timeout", 600, "--timeout", 600]
    options += ["--load", wait if step == "load" else f"touch {loaded}", "--ready-timeout", 600]
    options += ["--prepare", wait if step == "prepare" else "true"]
    options += ["--cleanup", f"sh -c 'echo {{tmp}} >{mark}; {f'exec {wait}' if step == 'cleanup' else ''}'"]
    child = start("compare", "--out", "results/c", "-l", "ba", "-r", "1", "--no-report", *options)
    seen = {"prepare": "--hang", "ready": "--quiet", "load": "--hang", "stop": "--deaf", "cleanup": "--hang"}[step]
    deadline = time.monotonic() + 600

    def there():
        # The deaf server is in its last step when its load has come and gone.
        return any(seen in words for words in running(repo)) and (step != "stop" or loaded.exists())

    while not there() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert there()
    child.send_signal(number)
    if step == "cleanup":  # the first one lets it finish, the second does not
        # Another number: a signal that is still pending would swallow a second one of its own.
        child.send_signal(signal.SIGTERM)
    _, err = child.communicate(timeout=600)
    assert child.returncode == 130 and "Traceback" not in err, err
    scratch = Path(mark.read_text().strip())
    assert scratch.name == "tmp" and not scratch.parent.exists()
    nothing_left(repo)


def test_a_killed_harness_takes_the_server_along(start, repo):
    tiny, mark = repo / "build/apps/tiny", repo / "scratch"
    options = ["--server", f"{tiny} server {{port}} 1 --deaf", "--load", f"{tiny} load {{port}} 1 --hang"]
    options += ["--prepare", f"sh -c 'echo {{tmp}} >{mark}'"]
    child = start("compare", "--out", "results/c", "-l", "ba", "-r", "1", "--no-report", *options)
    deadline = time.monotonic() + 600

    def both_there():
        return {"--deaf", "--hang"} <= {word for words in running(repo) for word in words}

    while not both_there() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert both_there()
    child.kill()
    child.communicate(timeout=600)
    while running(repo) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not running(repo)
    shutil.rmtree(Path(mark.read_text().strip()).parent)  # nobody was left to do it


def test_an_interrupted_campaign_goes_on(start, lockswap, repo):
    tiny, folder = repo / "build/apps/tiny", repo / "results/c"
    child = start(
        "compare", "--out", "results/c", "-l", "ba", "-r", "2", "--timeout", 600, "--no-report",
        "--server", f"{tiny} server {{port}} 1", "--load", f"{tiny} load {{port}} 100",
        "--metric", "requests/s: ([0-9.]+)", "--prepare", f"sh -c '{stays_after(2, folder)}'",
    )  # fmt: skip
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline and (not (repo / "results/c/raw.csv").exists() or len(rows(repo)) < 2):
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=600)
    assert child.returncode == 130
    kept = rows(repo)
    assert len(kept) == 2
    goes_on(folder)
    done = lockswap("compare", "--resume", folder, "--no-report")
    assert done.returncode == 0, done.stderr
    complete = rows(repo)
    assert complete[: len(kept)] == kept and len(complete) == 8 and {row["status"] for row in complete} == {"ok"}
    nothing_left(repo)


def test_under_rwlocks_a_workload_of_mutexes_is_only_measured_as_it_is(campaign, tiny):
    tiny(**{"threads = [1, 2]": 'threads = [1, 2]\ntakes = ["mutex"]'})
    measured, done = campaign("-w", "tiny")
    assert done.returncode == 4 and "no lock was compared" in done.stderr
    found = {row["lock"]: (row["status"], row["detail"]) for row in measured}
    assert found["none"] == ("ok", "")
    assert found["ba"][0] == found["pthread"][0] == "no lock" and "takes only mutexes" in found["ba"][1]
    assert "--mutex chooses what they are swapped for; it is not measured with pthread and ba" in done.stderr


def test_workloads_by_name_only(tiny, recipe, repo):
    recipe("rw")
    tiny(**{"threads = [1, 2]": 'threads = [1, 2]\ntags = ["extra"]'})
    found = reader.load_all(repo / "apps/recipes")
    assert [one.name for one in reader.choose(found, [], quick=False)] == ["rw"]
    assert [one.name for one in reader.choose(found, ["tiny"], quick=False)] == ["tiny"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({'stop = "TERM"': 'stop = "TREM"'}, "no signal 'TREM'"),
        ({'stop = "TERM"': 'stopp = "TERM"'}, "server.stopp"),
        ({'stop = "TERM"': "stop_timeout = 0"}, "server.stop_timeout: must be more than 0"),
        ({'ready = "{port}"': 'ready = "(["'}, "neither a port nor a regex"),
        ({'ready = "{port}"': 'ready = "99999"'}, "not a port"),
        ({'ready = "{port}"\n': ""}, "server.ready: is missing"),
        ({'ready = "{port}"': 'ready = "{prot}"'}, "{prot}"),
        ({"server": '"{treads}"]'}, "server.command: has the unknown placeholder {treads}"),
        ({"threads = [1, 2]": 'threads = [1, 2]\ntakes = ["semaphore"]'}, "takes: must be"),
        ({"threads = [1, 2]": "threads = [1, 2]\ncleanup = [[]]"}, "cleanup: must be a list of commands"),
    ],
)
def test_a_mistake_in_a_recipe_is_named(tiny, changes, says):
    with pytest.raises(UserError) as error:
        reader.load(tiny(**changes))
    assert says in str(error.value) and "tiny.toml" in str(error.value)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--server", "true"], "--server needs --load"),
        (["--server", "true", "--load", "true"], "--server needs --ready"),
        (["--server", "true {port}", "--load", "no-such-program"], "not found"),
        (["--server", "no-such-program {port}", "--load", "true"], "not found"),
        (["--server", "true '", "--load", "true"], "--server"),
        (["--server", "", "--load", "true"], "it is empty; give a command"),
        (["--server", "true {port}", "--load", "true", "--stop", "TREM"], "no signal 'TREM'"),
        (["--server", "true {port}", "--load", "true", "--ready", "(["], "--ready"),
        (["--server", "true {port}", "--load", "true", "--ready", "70000"], "not a port"),
        (["--server", "true {port}", "--load", "true", "--", "true"], "not both"),
        (["--server", "true {port}", "--load", "true", "-w", "tiny"], "not both"),
        (["--server", "true {port}", "--load", "true", "-t", "1,2"], "{threads}"),
        (["--server", "true {port}", "--load", "true", "--cleanup", "no-such-program"], "not found"),
        (["--load", "true", "--", "true"], "--load needs --server"),
        (["--stop", "TERM", "-w", "tiny"], "--stop needs --server"),
        (["--prepare", "true", "-w", "tiny"], "command of your own"),
    ],
)
def test_bad_input(lockswap, tiny, args, says):
    tiny()
    assert says in one_line_error(lockswap.inside("compare", *args))


def test_ready_forms():
    assert Ready.parse("80") == Ready.parse("tcp:80") == Ready("tcp", 80)
    assert Ready.parse("udp:53") == Ready("udp", 53)
    assert Ready.parse("^port 80").regex == "^port 80"


def test_ports_are_seen_without_a_connection():
    port = ports.free()
    assert not ports.used(port, "tcp") and not ports.used(port, "udp")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound, socket.socket() as silent:
        bound.bind(("127.0.0.1", port))
        silent.bind(("127.0.0.1", port))
        assert ports.used(port, "udp") and not ports.used(port, "tcp")
        silent.listen()
        assert ports.used(port, "tcp")


def test_orphans_are_found_and_ended(repo):
    script = f"({(repo / 'build/apps/tiny').resolve()} load 1 1 --hang &) ; setsid sh -c 'exec sleep 600' & exit"
    with processes.Brood() as brood:
        steps.Program.start(["sh", "-c", script], repo, os.environ, repo, "x").child.wait()
        deadline = time.monotonic() + 600
        while sorted(one.name for one in brood.alive()) != ["sleep", "tiny"] and time.monotonic() < deadline:
            time.sleep(0.01)
        assert sorted(one.name for one in brood.end()) == ["sleep", "tiny"]
        assert brood.alive() == []
