"""Policies as arms of `lockswap compare`, and the ready-made ones, with the library as it was built."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from harness_support import ROOT, Lockswap, compile_c, one_line_error
from lockswap.base.choice import MUTEX, RWLOCK, Choice
from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.policy import arms
from test_compare import rows

READY_MADE = sorted((ROOT / "packaging/policies").glob("*.policy"))
LOCK = "ba"

built = all(
    (ROOT / "build" / file).exists() for file in ("liblockswap.so", "bin/lockswap-meter", "apps/openssl_digest")
)
needs_build = pytest.mark.skipif(not built, reason="build/liblockswap.so is not built")


@pytest.fixture
def lockswap():
    return Lockswap(ROOT)


def paths(root: Path = ROOT) -> Paths:
    return Paths(root, root / "build")


@pytest.mark.parametrize(
    ("rules", "label", "kinds"),
    [
        (f"# all\nmodule=a rwlock={LOCK}  # so\n", "policy:my-own", {RWLOCK}),
        (f"mutex={LOCK}\n", "mutex:policy:my-own", {MUTEX}),
        (f"rwlock={LOCK}\nmodule=b mutex={LOCK}\n", "policy:my-own+mutex:policy:my-own", {RWLOCK, MUTEX}),
    ],
)
def test_an_arm_is_known_by_its_file_and_its_kinds(tmp_path, rules, label, kinds):
    file = tmp_path / "my own.policy"
    file.write_text(rules)
    (name,) = found = arms.resolve(paths(), [str(file)])
    assert arms.label(name, found[name]) == label
    choice = Choice.of(label)
    assert choice.label == label and choice.kinds == kinds == choice.tested
    assert choice.policy == name and choice.variables == {"LOCKSWAP_POLICY": name}


def test_what_is_no_policy(tmp_path):
    empty, other = tmp_path / "a.policy", tmp_path / "b" / "a.policy"
    empty.write_text("# rwlock=ba\nmodule=x\n")
    other.parent.mkdir()
    other.write_text(f"rwlock={LOCK}\n")
    with pytest.raises(UserError, match="no rule in it names a lock"):
        arms.label("a", empty)
    with pytest.raises(UserError, match="has the same name"):
        arms.resolve(paths(), [str(empty), str(other)])
    with pytest.raises(UserError, match=r"there is no such file; ready-made are .*libcrypto"):
        arms.resolve(paths(), ["nothing"])


def test_a_ready_made_one_is_found_by_its_name_in_an_installation_too(tmp_path):
    (tmp_path / "installed").write_text("0\n")
    (tmp_path / "policies").mkdir()
    mine = tmp_path / "policies/some.policy"
    mine.write_text(f"rwlock={LOCK}\n")
    assert arms.resolve(Paths(tmp_path, tmp_path), ["some"]) == {"some": mine}
    assert arms.resolve(paths(), ["libcrypto.policy"]) == {"libcrypto": ROOT / "packaging/policies/libcrypto.policy"}


SOURCE = """
#include <pthread.h>
static pthread_rwlock_t one = PTHREAD_RWLOCK_INITIALIZER, two = PTHREAD_RWLOCK_INITIALIZER;
int main(void) {
  for (int i = 0; i < 1000; ++i) {
    pthread_rwlock_rdlock(&one);
    pthread_rwlock_unlock(&one);
    pthread_rwlock_wrlock(&two);
    pthread_rwlock_unlock(&two);
  }
  return 0;
}
"""


@pytest.fixture
def program(tmp_path):
    source, target = tmp_path / "two.c", tmp_path / "two"
    source.write_text(SOURCE)
    compile_c(source, target, "-pthread")
    return target


@needs_build
def test_a_campaign_with_a_policy(lockswap, program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCKSWAP_POLICY", "symbol=two rwlock=nothing")  # the user's own is not what is compared
    rules = tmp_path / "mine.policy"
    rules.write_text(f"# one of two\nsymbol=one rwlock={LOCK}\n")
    done = lockswap("compare", "--policy", rules, "--out", tmp_path / "c", "-r", "2", "--report", "--", program)
    assert done.returncode == 0, done.stderr
    assert "policy:mine" in done.stdout
    measured = rows(tmp_path / "c")
    assert {row["lock"] for row in measured} == {"none", "pthread", "policy:mine"}
    assert {row["status"] for row in measured} == {"ok"}
    about = tomllib.loads((tmp_path / "c/campaign.toml").read_text())
    assert about["policies"] == {"mine": f"symbol=one rwlock={LOCK}"}
    assert about["locks"] == ["none", "pthread", "policy:mine"] and about["against"] == "pthread"
    checks = json.loads((tmp_path / "c/checks.json").read_text())["checks"]
    (of_policy,) = (one for one in checks if one["lock"] == "policy:mine")
    assert of_policy["caught"] == 1 and of_policy["locks"] == 2, of_policy
    for name in ("report.html", "summary.json", "summary.csv"):
        assert "policy:mine" in (tmp_path / "c" / name).read_text(), name


@needs_build
def test_a_policy_that_catches_nothing_is_not_measured(lockswap, program, tmp_path):
    rules = tmp_path / "mine.policy"
    rules.write_text(f"module=nothing.so rwlock={LOCK}\n")
    done = lockswap("compare", "--policy", rules, "--out", tmp_path / "c", "-r", "1", "--no-report", "--", program)
    assert "no rule of the policy matched a lock" in done.stderr
    assert {row["status"] for row in rows(tmp_path / "c") if row["lock"] == "policy:mine"} == {"no lock"}


@needs_build
def test_a_wrong_rule_stops_before_the_first_run(lockswap, program, tmp_path):
    rules = tmp_path / "wrong.policy"
    rules.write_text(f"\nmodul=x rwlock={LOCK}\n")
    done = lockswap("compare", "--policy", rules, "--out", tmp_path / "c", "--", program)
    assert done.returncode == 2 and not (tmp_path / "c").exists()
    said = one_line_error(done)
    assert f"--policy {rules}" in said and "modul=x" in said and "line 2" in said


@needs_build
@pytest.mark.parametrize("file", READY_MADE, ids=lambda file: file.stem)
def test_ready_made_ones_name_locks_that_exist(lockswap, file):
    done = lockswap("policy", "check", file, "--", "true")
    assert done.returncode == 0, done.stderr


@needs_build
def test_libcrypto_s_catches_its_locks_and_no_others(lockswap):
    file = ROOT / "packaging/policies/libcrypto.policy"
    digest = ROOT / "build/apps/openssl_digest"
    done = lockswap("policy", "check", "--json", file, "--", digest, "--threads", "2", "--seconds", "0.05")
    assert done.returncode == 0, done.stderr
    (process,) = json.loads(done.stderr[done.stderr.index("[") :])
    (rule,) = process["policy"]["rules"]
    assert rule["rwlocks"] > 10 and rule["mutexes"] == 0
    for place in process["policy"]["places"]:
        of_libcrypto = re.fullmatch(r"libcrypto\.so\.3", Path(place["file"] or "").name) is not None
        assert of_libcrypto == (place["rule"] == 0) or place["kind"] == "mutex", place
