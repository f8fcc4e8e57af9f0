"""The picture that answers first: its squares are the verdict's, and it fits a terminal and a first screen."""

import re
from pathlib import Path

import pytest

import synthetic
from browser import Browser
from git_files import git_files, is_checkout
from harness_support import ROOT
from lockswap.findings import evidence, hints, reading
from lockswap.findings.findings import Findings
from lockswap.findings.picture import BETTER, FAILED, MISSING, MIXED, OPEN, SAME, WORSE, Square
from lockswap.findings.stats import EQUAL, FASTER, SLOWER
from lockswap.findings.stats import OPEN as UNDECIDED
from lockswap.findings.whole import KEEP, NOTHING, TAKE, TRADE
from lockswap.findings.whole import OPEN as CANT_TELL
from lockswap.report import drawing, squares, terminal, writer

OPS = [synthetic.metric("ops", "total", "ops/s", "higher")]
TIME = [synthetic.metric("time", "time", "s", "lower")]
# What `compare --quick` takes: the workloads, and the locks that are compared by default.
RWLOCKS = ("auto", "ba", "eventual", "cohort", "per-cpu", "rlu", "bravo-ba")
MUTEXES = ("auto", "ba", "cohort", "per-cpu", "rlu")


def work(name: str, metrics: list = OPS, **locks: float | list[float]) -> tuple:
    """One figure, under each lock a multiple of glibc's, a thread count each."""
    values = {"none": 1, "pthread": 1, **{lock.replace("_", "-"): value for lock, value in locks.items()}}
    threads = max(len(value) if isinstance(value, list) else 1 for value in values.values())
    name_of = metrics[0]["name"]
    return name, metrics, {
        lock: {name_of: [1e6 * one for one in (value if isinstance(value, list) else [value] * threads)]}
        for lock, value in values.items()
    }  # fmt: skip


def found(path: Path, *workloads: tuple, **more) -> Findings:
    return reading.read(synthetic.plain(path, *workloads, **more))


def kinds(findings: Findings) -> dict[tuple[str, str], str]:
    return {
        (row.workload.name, lock): square.kind
        for picture in findings.pictures
        for row in picture.rows
        for lock, square in row.squares.items()
    }


@pytest.fixture(scope="module")
def every_kind(tmp_path_factory) -> Findings:
    return reading.read(synthetic.write(tmp_path_factory.mktemp("picture") / "made-up"))


@pytest.mark.parametrize(
    ("truth", "noise", "kind", "verdict"),
    [(1.5, 0.02, BETTER, FASTER), (0.6, 0.02, WORSE, SLOWER), (1, 0.003, SAME, EQUAL), (1.03, 0.15, OPEN, UNDECIDED)],
)
@pytest.mark.parametrize("metrics", [OPS, TIME], ids=["rate", "time"])
def test_a_square_of_one_figure_has_its_verdict(tmp_path, metrics, truth, noise, kind, verdict):
    findings = found(tmp_path / "x", work("w", metrics, ba=truth if metrics is OPS else 1 / truth), noise=noise)
    (workload,) = findings.campaign.workloads
    ratio = workload.ratio(1, "ba", workload.metrics[0])
    square = findings.pictures[0].squares("ba")["w"]
    assert (ratio.verdict, square.kind) == (verdict, kind)
    places = {BETTER: square.gains, WORSE: square.losses}.get(kind, ())
    assert [place.ratio for place in places] == [ratio] * len(places) and bool(places) == bool(square.amount)


@pytest.mark.parametrize(
    ("span", "detail"),
    [
        ((0.5, 1.5), "2.0× worse to 1.50× better"),
        ((1.29, 1.56), "1.29× to 1.56× better, maybe by chance"),
        ((0.5, 0.8), "1.25× to 2.0× worse, maybe by chance"),
        ((0.0, 0.8), "nothing to 1.25× worse"),
        ((1.5, float("inf")), "1.50× better to any gain"),
    ],
)
def test_what_an_open_square_leaves_possible(span, detail):
    """One whose intervals all lie on one side of 1 is open by the noise or by the number of comparisons."""
    assert Square(OPEN, span=span).detail == detail


def test_a_square_of_several_thread_counts_promises_the_least_and_admits_the_worst(tmp_path):
    locks = {"ba": [1.3, 3, 2, 1.5], "pf_t": [0.8, 0.3, 0.5, 0.6], "cohort": [3, 0.25, 2, 1.5]}
    (picture,) = found(tmp_path / "x", work("w", **locks)).pictures
    factor = {}
    for lock in ("ba", "pf-t", "cohort"):
        square = picture.squares(lock)["w"]
        factor[lock] = [float(one) for one in re.findall(r"([\d.]+)×", square.both)]
        assert square.judged == 4
    assert picture.squares("ba")["w"].kind == BETTER and factor["ba"] == [pytest.approx(1.3, rel=0.05)]
    assert picture.squares("pf-t")["w"].kind == WORSE and factor["pf-t"] == [pytest.approx(1 / 0.3, rel=0.05)]
    both = picture.squares("cohort")["w"]
    assert both.kind == MIXED and factor["cohort"] == pytest.approx([1.5, 4], rel=0.05)
    assert re.fullmatch(r"4 of 4: 1\.[23]\d*× to [23]\.\d×", picture.squares("ba")["w"].detail)


def campaigns() -> list[Path]:
    """Those that are kept, without one's own, which git ignores."""
    names = git_files("results/2026-11-*/raw.csv") if is_checkout() else []
    return sorted(ROOT / Path(name).parent for name in names)


def check_against_the_verdict(findings: Findings) -> None:
    measured = max(1, sum(workload.measured() for workload in findings.campaign.workloads))
    by_name = {one.workload: one for one in findings.verdict.workloads}
    for picture in findings.pictures:
        for row in picture.rows:
            verdict, some = by_name[row.workload.name], row.squares
            gaining = {lock for lock, square in some.items() if square.kind in (BETTER, MIXED)}
            known = {one.lock: one for one in evidence.of(row.workload, measured)}
            assert {lock for lock, square in some.items() if square.kind == MISSING} == set(some) - set(known)
            assert {lock for lock, square in some.items() if square.kind == FAILED} == {
                lock for lock, one in known.items() if one.failure
            }
            assert all(list(some[lock].gains) == one.wins for lock, one in known.items())
            if verdict.kind in (TAKE, TRADE):
                assert verdict.lock in gaining and some[verdict.lock].loses == (verdict.kind == TRADE)
            else:
                assert verdict.kind in (KEEP, CANT_TELL, NOTHING) and not gaining


def test_squares_agree_with_the_verdicts_of_every_kind_of_row(every_kind):
    check_against_the_verdict(every_kind)
    found = kinds(every_kind)
    assert found["starving", "bravo-ba"] == BETTER and found["timed", "pf-t"] == FAILED
    assert found["broken", "pf-t"] == MISSING and found["hopeless", "ba"] == MISSING


@pytest.mark.parametrize("campaign", campaigns(), ids=lambda path: path.name)
def test_squares_agree_with_the_verdicts_of_the_kept_campaigns(campaign):
    findings = reading.read(campaign)
    assert findings.pictures
    check_against_the_verdict(findings)


def test_a_price_in_another_figure_makes_it_mixed(tmp_path):
    metrics = [*OPS, synthetic.metric("p99", "time", "ns", "lower")]
    figures = {lock: {"ops": [1e6], "p99": [100]} for lock in ("none", "pthread")} | {
        "ba": {"ops": [2e6], "p99": [17e3]}
    }
    findings = found(tmp_path / "x", ("w", metrics, figures))
    assert kinds(findings) == {("w", "ba"): MIXED}
    assert re.fullmatch(r"◆ ▲[12]\.\d+× ▼1[67]0×", findings.pictures[0].squares("ba")["w"].both)
    assert re.fullmatch(r"Use ba: \S+ times glibc's rate; the price: p99 1[67]0× longer\.", findings.brief[0])


def test_a_price_beside_a_gain_says_which_figure_pays(tmp_path):
    """Processor time and context switches are in no square, so a gain alone is seen there."""
    costs = {"switches": {"ba": 3}, "cpu": {"ba": 2}}
    findings = found(tmp_path / "x", work("a", ba=1.5), work("b", ba=2), **costs)
    assert set(kinds(findings).values()) == {BETTER}
    (text,) = findings.brief
    assert text.endswith(", at a price in both (ops per CPU-s and context switches)."), text
    paid = [{place.metric.name for place in row.squares["ba"].price} for row in findings.pictures[0].rows]
    assert paid == [{"ops per CPU-s", "context switches"}, {"context switches"}]
    assert ["ops per CPU-s" in one.price for one in findings.verdict.workloads] == [True, False]
    depends = brief(tmp_path / "y", work("a", ba=1.5, pf=0.5), work("b", ba=0.5, pf=2), switches={"ba": 3})
    assert " use ba if your program is like a (at a price: context switches), pf if it is like b; " in depends


def brief(path: Path, *workloads: tuple, **more) -> str:
    (text,) = found(path, *workloads, **more).brief
    return text


def test_what_one_would_tell_a_colleague(tmp_path):
    one = brief(tmp_path / "a", work("w", ba=1.5))
    assert re.fullmatch(r"Use ba: 1\.[45]\d* times glibc's rate, no loss shown\.", one)
    assert re.search(r"^Use ba: [12]\.\d+ times as fast as glibc's, ", brief(tmp_path / "b", work("w", TIME, ba=0.5)))
    several = brief(
        tmp_path / "c", work("a", ba=1.5, pf=0.5), work("b", ba=2, pf=1.2), work("c", ba=1, pf=1), noise=0.01
    )
    assert re.fullmatch(r"Use ba: better in 2 of 3 workloads \(1\.[45]\d?× to [12]\.\d+×\), no loss shown\.", several)
    trade = brief(tmp_path / "d", work("w", ba=[2, 0.5]))
    assert trade.startswith("Use ba if it runs with 1 thread: ops/s ") and trade.endswith("Otherwise keep glibc's.")
    assert brief(tmp_path / "e", work("w", ba=0.5, pf=1), noise=0.003) == (
        "Keep glibc's: none of the 2 other locks gains, and 1 of them loses."
    )
    assert re.fullmatch(r"Keep glibc's: ba is (2\.0|1\.9\d)× worse\.", brief(tmp_path / "f", work("w", ba=0.5)))
    for fixed_work, cure in ((False, "longer runs (--seconds)"), (True, "more work in each run")):
        open_ = brief(tmp_path / cure, work("w", ba=1.02, pf=1.01), noise=0.15, fixed_work=fixed_work)
        assert open_.startswith(f"Can't tell: no gain is shown, and none ruled out; {cure}, ")
    lost = brief(tmp_path / "h", work("a", ba=0.5), work("b", ba=0.7))
    assert lost == "Keep glibc's: no other lock is shown to be better in any of the 2 workloads."
    depends = brief(tmp_path / "i", work("a", ba=2, pf=0.5), work("b", ba=0.5, pf=2))
    assert depends == (
        "No lock is best everywhere: use ba if your program is like a, pf if it is like b; else keep glibc's."
    )
    assert "only 5 pairs" in brief(tmp_path / "j", work("w", ba=2), rounds=5)
    assert brief(tmp_path / "k", work("w", ba=1), rounds=0, finished=False) == "Can't tell: nothing was measured."


@pytest.fixture(scope="module")
def quick(tmp_path_factory) -> Findings:
    """A campaign of the size of `compare --quick`."""
    dice = (0.31, 0.9, 1.4, 0.04, 2.5, 0.0031)
    base = {"reads": [1e6], "writes": [2e4]}
    workloads = []
    for number, name in enumerate(("db-bench", "kccachetest-wicked", "kcprototest-order", "test-rwlock")):
        by = dict(zip(RWLOCKS, (1.3 + number, *(dice[(number + n) % 6] for n in range(6))), strict=True))
        figures = {lock: {key: [value * of[0]] for key, of in base.items()} for lock, value in by.items()}
        workloads.append((name, synthetic.READS_AND_WRITES, {"none": base, "pthread": base} | figures))
    for name in ("cache-bench", "kcutiltest-cond"):
        by = dict(zip(MUTEXES, (1.4, *dice), strict=False))
        figures = {f"mutex:{lock}": {"ops": [1e6 * value]} for lock, value in by.items()}
        workloads.append((name, OPS, {lock: {"ops": [1e6]} for lock in ("none", "mutex:pthread")} | figures))
    path = tmp_path_factory.mktemp("quick") / "results"
    threads = synthetic.THREADS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synthetic, "THREADS", [8])
        synthetic.plain(path, *workloads, rounds=6, noise=0.04, busy=2)
    assert threads == synthetic.THREADS
    about, env = (path / name for name in ("campaign.toml", "env.json"))
    assert about.exists()
    env.write_text(env.read_text().replace('"usable": 8', '"usable": 2').replace('"performance"', '"powersave"'))
    return reading.read(path)


def printed(findings: Findings, capsys, monkeypatch, columns: int = 80, verbose: bool = False) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(columns))
    terminal.show(findings, Path("results/2026-11-29-031522/report.html"), verbose=verbose)
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_the_end_of_a_quick_campaign_is_twelve_lines(quick, capsys, monkeypatch):
    lines = printed(quick, capsys, monkeypatch)
    first = next(number for number, line in enumerate(lines) if line.startswith("▲ better"))
    end = lines[first:]
    assert len(end) == 12 and max(map(len, end)) <= 80, end
    assert end[1].split() == ["rwlocks", "vs", "glibc's", *RWLOCKS]
    assert end[6].split() == ["mutexes", "vs", "glibc's", *MUTEXES]
    assert end[9] == "Report: results/2026-11-29-031522/report.html"
    assert end[10].startswith("Use auto for rwlocks: better in 4 of 4 workloads (") and end[10:] == quick.brief
    assert end[11].startswith("Use auto for mutexes: better in 2 of 2 workloads (")
    for picture in quick.pictures:
        for row in picture.rows:
            (line,) = (line for line in end if line.startswith(row.workload.name))
            assert (
                line.removeprefix(row.workload.name).split()
                == " ".join(row.squares[lock].brief for lock in picture.locks).split()
            )


def test_each_warning_is_one_line_and_verbose_has_all_of_it(quick, capsys, monkeypatch):
    lines = printed(quick, capsys, monkeypatch)
    marked = [line.removeprefix("! ") for line in lines if line.startswith("! ")]
    assert marked == hints.folded(quick.advice) and len(marked) >= 3 and max(map(len, marked)) <= 78
    assert lines[0].startswith("Before you read the figures ('lockswap report --verbose ")
    assert lines[: len(marked) + 1] == [lines[0], *(f"! {line}" for line in marked)]
    said = " ".join(" ".join(printed(quick, capsys, monkeypatch, verbose=True)).split())
    everything = [*map(str, quick.advice), quick.verdict.sentence, *quick.brief]
    everything += [sentence for sentences in quick.sentences.values() for sentence in sentences]
    assert all(" ".join(text.split()) in said for text in everything)
    assert not any(" ".join(str(hint).split()) in " ".join(lines) for hint in quick.advice)


def test_warnings_of_one_kind_share_a_line():
    several = [hints.Hint("runs are short", f"Runs of {n} are short.", (f"workload-{n}",)) for n in range(9)]
    other = hints.Hint("the machine was busy", "The machine was busy. End that.")
    first, second = hints.folded([*several, other])
    assert first == "runs are short (workload-0, workload-1, workload-2, workload-3, 5 more)" and len(first) <= 78
    assert second == "the machine was busy"
    assert hints.folded([hints.recorded("All of it, " * 20 + "end. And more.")])[0].endswith(" ...")
    assert hints.recorded("A program takes no lock. Try -m.").brief == "A program takes no lock"


def test_every_warning_has_a_line_that_fits(every_kind):
    for path in campaigns():
        assert all(len(line) <= 78 for line in hints.folded(reading.read(path).advice))
    assert all(len(line) <= 78 for line in hints.folded(every_kind.advice))


@pytest.mark.parametrize("columns", [40, 60, 72, 80, 200])
def test_a_terminal_shows_the_locks_that_fit_and_counts_the_others(quick, columns):
    picture = quick.pictures[0]
    lines = [line.plain for line in squares.lines(picture, columns)]
    shown = [lock for lock in picture.locks if f" {lock}" in lines[0]]
    assert shown == picture.locks[: len(shown)] and shown[0] == "auto"
    assert (f"+{len(RWLOCKS) - len(shown)} lock" in lines[0]) == (len(shown) < len(RWLOCKS))
    assert max(map(len, lines)) <= columns and (columns < 80 or len(shown) == len(RWLOCKS))


def test_one_sentence_is_not_lost_where_no_lock_is_under_test(tmp_path):
    findings = found(tmp_path / "x", work("w", ba=0.8), against="ba")
    assert findings.pictures == [] and findings.brief == findings.verdict.sentences


@pytest.fixture(scope="module")
def page(checkout, quick, tmp_path_factory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCKSWAP_HOME", str(checkout))
        patch.setattr(drawing, "cure", lambda _: "a test")  # its plots would take longer than all else here
        return writer.write(quick, tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


SQUARES = """
return [...document.querySelectorAll("table.picture")].map((table) => [...table.tBodies[0].rows].map((row) =>
  [...row.querySelectorAll("td")].map((cell) => [cell.querySelector("b").textContent, cell.className.split(" ")[1]])));
"""


def test_the_page_begins_with_the_picture_and_a_sentence_a_kind(browser, quick, page):
    browser.open(page)
    cells = browser.run(SQUARES)
    tones = {}
    for picture, rows in zip(quick.pictures, cells, strict=True):
        for row, line in zip(picture.rows, rows, strict=True):
            for lock, (text, tone) in zip(picture.locks, line, strict=True):
                square = row.squares[lock]
                assert text == " ".join(filter(None, [square.sign, square.amount, square.kind]))
                tones.setdefault(tone, set()).add(square.kind)
    # A colour each, and the sign and the word besides.
    assert all(len(found) == 1 for found in tones.values()) and {"good", "bad"} <= set(tones)
    says = browser.run("return [...document.querySelectorAll('#answer > .say')].map((p) => p.textContent)")
    assert says == quick.brief
    assert browser.run("return Math.max(...[...document.querySelectorAll('#answer > .say')].map((p) => "
                       "p.getBoundingClientRect().bottom))") < 900  # fmt: skip
    # Nothing but what is compared stands before it.
    before = browser.run("return document.querySelector('table.picture').getBoundingClientRect().top")
    assert before < 300


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_scrolls_the_picture_beside_its_workloads(browser, page, dark):
    browser.open(page, 400, dark)
    assert browser.beyond_the_page() == [] and browser.low_contrast() == []
    moved, name = browser.run(
        "const part = document.querySelector('#answer > .scroll'); part.scrollLeft = 200;"
        "const head = part.querySelector('tbody th').getBoundingClientRect();"
        "return [part.scrollLeft, head.left - part.getBoundingClientRect().left]"
    )
    assert moved == 200 and 0 <= name <= 4


def test_names_as_long_as_those_of_a_scan_are_wrapped(browser, checkout, tmp_path, monkeypatch):
    monkeypatch.setenv("LOCKSWAP_HOME", str(checkout))
    locks = {f"ba@LOCKSWAP_READER_PATIENCE_US={value}": 1 + value for value in (1, 20, 500)}
    name, metrics, figures = work("a-workload-with-a-name-of-some-length", ba=0.5)
    figures |= {lock: {"ops": [1e6 * by]} for lock, by in locks.items()}
    campaign = found(tmp_path / "x", (name, metrics, figures))
    browser.open(writer.write(campaign), 400)
    assert browser.beyond_the_page() == []
    browser.size(1000)
    assert browser.run("const part = document.querySelector('#answer > .scroll');"
                       "return part.scrollWidth - part.clientWidth") == 0  # fmt: skip


def test_the_picture_needs_no_script(page):
    html = re.sub(r"<script.*?</script>", "", page.read_text(), flags=re.DOTALL)
    assert html.count('<table class="picture">') == 2 and not re.search(r'class="square[^>]*hidden', html)
