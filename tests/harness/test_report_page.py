"""The page of a campaign and what it shows first: verdict, words, locks, outliers, on a desk and on a phone."""

import math
import re
from pathlib import Path

import pytest

import synthetic
from browser import Browser
from lockswap.findings import reading
from lockswap.findings.findings import Findings
from lockswap.findings.stats import Ratio, Spread
from lockswap.report import answer, axes, drawing, page, writer

LOCKS = ("ba", "bravo-ba", "pf-t", "cohort", "mcs-rw", "percpu")


def figures(reads: float, writes: float, p99: float) -> dict[str, list[float]]:
    return {"reads": [1e6 * reads] * 2, "writes": [1e4 * writes] * 2, "read-p99": [100 * p99, 200 * p99]}


def give_one_run_thirty_times_as_much(path: Path) -> None:
    raw = path / "raw.csv"
    lines = raw.read_text().split("\n")
    names = lines[0].split(",")
    for number, line in enumerate(lines):
        values = dict(zip(names, line.split(","), strict=False))
        if (values.get("workload"), values.get("lock"), values.get("threads")) == ("db", "pf-t", "2"):
            values["metric.reads"] = str(30 * float(values["metric.reads"]))
            lines[number] = ",".join(values.values())
            break
    raw.write_text("\n".join(lines))


@pytest.fixture(scope="module")
def made(checkout, tmp_path_factory) -> tuple[Path, Findings]:
    """Two workloads: latencies 170 times longer, more processor time, one run far out, one lock far ahead."""
    metrics = [*synthetic.READS_AND_WRITES, synthetic.metric("read-p99", "time", "ns", "lower")]
    first = dict(
        zip(
            LOCKS, ((1.5, 1.1, 170), (2.2, 0.3, 40), (0.8, 1, 1), (1.4, 1.3, 2), (1, 1, 1), (4, 0.01, 900)), strict=True
        )
    )
    second = dict(
        zip(LOCKS, ((1.1, 1, 1), (1.2, 0.9, 1), (1, 1, 1), (1.2, 1.3, 1), (0.5, 0.5, 1), (40, 1, 1)), strict=True)
    )
    workloads = [
        (
            name,
            metrics,
            {lock: figures(*of) for lock, of in ({"none": (1, 1, 1), "pthread": (1, 1, 1)} | truth).items()},
        )
        for name, truth in (("db", first), ("cache", second))
    ]
    path = synthetic.plain(
        tmp_path_factory.mktemp("page") / "made-up", *workloads, cpu={"cohort": 1.9}, switches={"ba": 4}, noise=0.03
    )
    give_one_run_thirty_times_as_much(path)
    found = reading.read(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOCKSWAP_HOME", str(checkout))
        return writer.write(found), found


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.mark.parametrize("width", [420, 1400])
def test_it_begins_with_the_verdict(browser, made, width):
    """The picture and a sentence are on the first screen; the verdict in full stands behind them."""
    page, found = made
    browser.open(page, width)
    says = browser.run("return [...document.querySelectorAll('#answer > .say')].map((p) => p.textContent)")
    assert says == found.brief and says[0].startswith("Use cohort: better in 2 of 2 workloads")
    assert browser.run("return document.querySelector('.say').getBoundingClientRect().bottom") < 900
    assert browser.run(
        "const say = document.querySelector('.say');"
        "return [...document.querySelectorAll('table:not(.picture), figure, dl')].every("
        "  (part) => say.compareDocumentPosition(part) & Node.DOCUMENT_POSITION_FOLLOWING)"
    )
    long = browser.run("return [...document.querySelectorAll('#verdicts > .long')].map((p) => p.textContent)")
    assert long == [found.verdict.sentence] and long[0].startswith("Use cohort: ")
    each = browser.run(
        "return [...document.querySelectorAll('.verdicts li > p:nth-child(2)')].map((p) => p.textContent)"
    )
    assert each == [one.sentence for one in found.verdict.workloads] and len(each) == 2


def test_words_are_explained_where_they_first_stand(browser, made):
    browser.open(made[0])
    text = browser.run("return document.querySelector('main').innerText")
    first = re.search(r"noise", text, re.IGNORECASE)
    assert text[first.start() :].lower().startswith("noise: how far the program differs from itself")
    assert text.index("in 95 of 100 such measurements (the interval)") < text.index("whole interval")
    assert text.index("Rounds: in each, every lock runs once") < text.index(
        "95 % interval; each faint point is a round"
    )


def test_latencies_are_longer_not_a_fraction(made):
    html = made[0].read_text()
    assert re.search(r">1[78]0× longer<", html)
    assert "0.0059×" not in html and "0.0058×" not in html and "0.0060×" not in html
    assert re.search(r"read-p99\) against pthread: slower [^<]*1[78]0× longer", html)
    # In the plot as well.
    assert re.search(r"<text[^>]*>▼ 1[78]0× longer</text>", html) and ">shorter →<" in html


def test_one_verdict_a_cell_and_clock_and_cpu_apart(browser, made):
    page, _ = made
    browser.open(page)
    browser.open_details()
    cells = browser.run(
        "return [...document.querySelectorAll('td.verdict')].map((c) => c.querySelectorAll('.word').length)"
    )
    assert len(cells) > 50 and set(cells) == {1}
    names = browser.run(
        "const of = (table) => [...new Set([...table.querySelectorAll('td.figure')].map((cell) => cell.textContent))];"
        "return [...document.querySelectorAll('#figures table')].map(of)"
    )
    assert names == [["reads", "writes", "read-p99"], ["reads per CPU-s", "writes per CPU-s"]]
    text = browser.run("return document.querySelector('#figures h3 + ul').innerText")
    assert re.search(r"cohort in db \(reads, threads: 1 and 2\)[^.]*: it keeps more processors busy", text)


def test_none_stands_beside_the_baseline(browser, made):
    browser.open(made[0])
    heads = browser.run(
        "return [...document.querySelector('table.answer').tHead.rows[0].cells].map((c) => c.innerText.trim())"
    )
    # The lock that the verdict takes goes before it: a phone shows two columns.
    assert heads[2:6] == ["pthread", "cohort", "none", "ba"]
    assert browser.run(
        "const line = document.querySelector('#w-db figure svg [data-lock=none] path[style*=dasharray]');"
        "return Number(getComputedStyle(line).strokeOpacity)"
    ) == pytest.approx(0.9)


@pytest.mark.parametrize("width", [420, 1400])
def test_jump_to_each_lock(browser, made, width):
    browser.open(made[0], width)
    links = browser.run("return [...document.querySelectorAll('.jump a')].map((a) => [a.innerText, a.hash])")
    assert links == [[lock, f"#lock-{lock}"] for lock in LOCKS]
    for name, target in links:
        browser.run("document.querySelector(`.jump a[href='${arguments[0]}']`).click()", target)
        place, text = browser.run(
            "const part = document.querySelector(arguments[0]);"
            "return [part.getBoundingClientRect().top, part.innerText]",
            target,
        )
        assert 0 <= place < 900 and text.startswith(name) and "db: " in text and "cache: " in text


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_can_scroll_it(browser, made, dark):
    browser.open(made[0], 420, dark)
    assert browser.beyond_the_page() == [] and browser.low_contrast() == []
    # The table is wider than the phone, scrolls itself, and keeps figure and threads in sight.
    table, moved, figure = browser.run(
        "const part = document.querySelector('#figures > .scroll'); part.scrollLeft = 300;"
        "const cell = part.querySelector('td.figure').getBoundingClientRect();"
        "return [part.scrollWidth > part.clientWidth, part.scrollLeft, cell.left - part.getBoundingClientRect().left]"
    )
    assert table and moved == 300 and figure == pytest.approx(0, abs=1)
    rows = browser.run(
        "return [...document.querySelectorAll('#figures > .scroll tbody tr')].map((r) => r.offsetHeight)"
    )
    assert max(rows) <= 110
    browser.open_details()
    assert browser.beyond_the_page() == [] and browser.bad_plots() == []


TOP = "return [...document.querySelectorAll('#answer, #verdicts')].map((part) => part.innerText).join(' ')"


def test_only_what_could_overturn_it_stands_near_the_verdict(browser, made, tmp_path, monkeypatch):
    page, found = made
    browser.open(page)
    assert len(found.advice) >= 1 and all(not one.cautions for one in found.verdict.workloads)
    top = browser.run(TOP)
    assert "overturn" not in top and not any(str(hint) in top for hint in found.advice)
    assert browser.run(
        "return Boolean(document.querySelector('#w-cache').compareDocumentPosition("
        "document.querySelector('#cautions')) & Node.DOCUMENT_POSITION_FOLLOWING)"
    )
    # The preload eats the gain: that is said where the verdict is.
    truth = {"none": {"ops": [1.3e6]}, "pthread": {"ops": [1e6]}, "ba": {"ops": [1.3e6]}}
    metrics = [synthetic.metric("ops", "total", "ops/s", "higher")]
    monkeypatch.setattr(drawing, "cure", lambda _: "a test")
    browser.open(writer.write(reading.read(synthetic.plain(tmp_path / "x", ("w", metrics, truth), finished=False))))
    top = browser.run(TOP)
    assert "What could overturn this: against the program without the library (none) the gain is not shown" in top
    assert "And: the campaign was interrupted" in top


def test_an_outlier_has_an_arrow_and_its_value(browser, made):
    browser.open(made[0])
    texts = browser.run(
        "const svg = document.querySelector('#w-db figure svg');"
        "return [...svg.querySelectorAll('text')].map((text) => text.textContent)"
    )
    marked = [text for text in texts if text.startswith("↑ ")]
    assert len(marked) == 1 and 20 < float(marked[0].removeprefix("↑ ").removesuffix("M")) < 28
    # All else lies below 4.5 million, and so does the axis, but for the arrow's place.
    ticks = [float(text.removesuffix("M")) for text in texts if re.fullmatch(r"[\d.]+M", text)]
    assert ticks and max(ticks) <= 6
    assert browser.run("return document.querySelectorAll('#figures .scale .beyond.left').length") >= 4


def spread(*values: float) -> Spread:
    return Spread.of(values)


def test_how_far_axes_reach():
    near, far = spread(1, 1.1, 1.2, 1.1, 1.0, 1.1, 1.2), spread(1, 1.1, 1.2, 1.1, 1.0, 1.1, 30)
    assert axes.top([near, spread(2, 2.1, 2)]) == 2.1
    assert axes.top([near, far]) < 2
    # A run that is a little above the others, and runs that scatter widely, are not cut off.
    assert axes.top([spread(1, 1.1, 1.2, 1.1, 1.0, 1.1, 1.7)]) == 1.7
    assert axes.top([spread(1, 4, 9, 2, 7, 3, 20)]) == 20
    assert axes.top([]) == 0
    equal, ahead = Ratio(7, 1.1, 1.05, 1.2), Ratio(7, 50, 40, 60)
    assert axes.reach([equal] * 7 + [ahead], 1.5) == pytest.approx(1.5**3)
    assert axes.reach([ahead] * 3 + [equal], 1.5) == pytest.approx(60)
    assert axes.reach([equal], 1.5) == 1.5 and axes.reach([], 1.5) == 1.5
    assert axes.reach([Ratio(7, math.inf, math.inf, math.inf), Ratio(7, 0, 0, 0), equal], 1.1) == pytest.approx(1.2)


def test_a_ratio_beyond_the_scale_is_marked():
    scale = answer.Scale(4.0)
    assert scale.place(Ratio(7, 5, 4, 6)).beyond == "right" and scale.place(Ratio(7, 0.1, 0.1, 0.2)).beyond == "left"
    assert scale.place(Ratio(7, 3, 2, 6)).beyond == ""
    assert scale.place(Ratio(7, math.inf, 4, math.inf)).beyond == "right"


def test_a_price_stands_where_the_verdict_does(made):
    """In the same mark, and not in the colour of a gain without one."""
    html, found = made[0].read_text(), made[1]
    dear = [one for one in found.verdict.workloads if one.price]
    marks = re.findall(r'<span class="key (\w+)">([✓◆]) use ([^<]*)</span>', html)
    assert dear and [(tone, mark) for tone, mark, text in marks if ", at a price" in text] == [("hinted", "◆")] * len(
        dear
    )
    assert all((tone, mark) == ("good", "✓") for tone, mark, text in marks if "," not in text)


def test_ratios_have_one_notation(made):
    """A factor above 1 and a word for the side; no fraction, no percent, no 'times'."""
    text = re.sub(r"<svg.*?</svg>|<script.*?</script>|<style.*?</style>", "", made[0].read_text(), flags=re.DOTALL)
    assert re.search(r"\d× (higher|lower|longer|shorter)", text)
    assert not re.findall(
        r"(?<![\d.,])0(?:\.\d+)?×|\d times (?:as|higher|lower|longer|shorter)|\d % (?:higher|lower)", text
    )


_SIGNS = """
const number = (color) => color.match(/[\\d.]+/g).slice(0, 3).map(Number);
const light = (color) => {
  const [r, g, b] = color.map((c) => c / 255).map((c) => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4);
  return .2126 * r + .7152 * g + .0722 * b;
};
const contrast = (one, two) => {
  const [high, low] = [light(one), light(two)].sort((a, b) => b - a);
  return (high + .05) / (low + .05);
};
const paper = number(getComputedStyle(document.body).backgroundColor);
const arrow = getComputedStyle(document.querySelector(".sort"), "::after");
const drawn = number(arrow.color).map((c, i) => paper[i] + (c - paper[i]) * Number(arrow.opacity));
const frames = [...document.querySelectorAll(".verdict .scale .noise")].map((band) => {
  const [style, cell] = [getComputedStyle(band), getComputedStyle(band.closest("td"))];
  const higher = band.offsetHeight - band.parentElement.querySelector(".span").offsetHeight;
  const shown = contrast(number(style.borderLeftColor), number(cell.backgroundColor));
  return [higher, style.borderLeftStyle === "solid" ? shown : 0];
});
return [contrast(drawn, paper), frames];
"""


@pytest.mark.parametrize("dark", [False, True])
def test_arrows_and_noise_can_be_seen(browser, made, dark):
    """Also the noise behind an interval that covers it: its frame stands out."""
    browser.open(made[0], dark=dark)
    arrow, frames = browser.run(_SIGNS)
    assert arrow >= 3
    assert len(frames) > 20 and all(higher >= 4 and contrast >= 3 for higher, contrast in frames)


def test_each_sign_has_one_meaning_and_the_page_says_it(browser, made):
    browser.open(made[0])
    note = browser.run("return document.querySelector('#verdicts .note').innerText")
    for sign, meaning in (
        ("✓", "use"),
        ("◆", "use at a price"),
        ("■", "keep"),
        ("?", "can't tell"),
        ("⚠", "uncertain"),
    ):
        assert f"{sign} {meaning}" in note
    legend = browser.run("return document.querySelector('#figures > p').innerText")
    for words in (
        "the factor itself beyond the noise",
        "within the noise",
        "the middle line 1",
        "an arrow lies beyond",
    ):
        assert words in legend
    # What "can't tell" says of the table is not said of a verdict that keeps the lock, nor is "the same".
    assert not re.search(r'<span class="key \w+">[=▲▼]\s*(?:keep|use)', made[0].read_text())


def test_options_are_not_broken_and_words_are_escaped():
    assert page.options("more (--until 5%) <b>") == ('more (<span class="option">--until 5%</span>) &lt;b&gt;')


def test_cards_say_which_locks_the_program_takes(browser, made):
    browser.open(made[0])
    kinds = browser.run("return [...document.querySelectorAll('.which small')].map((s) => s.textContent)")
    assert kinds == ["db, reader-writer locks", "cache, reader-writer locks"]


def test_a_phone_shows_the_advised_lock(browser, made):
    browser.open(made[0], 420)
    right = browser.run(
        "return document.querySelector('table.answer thead th:nth-child(4)').getBoundingClientRect().right"
    )
    assert right <= 420
    assert browser.run("return document.querySelector('.sideways').offsetHeight") > 0
    browser.open(made[0], 1400)
    assert browser.run("return document.querySelector('.sideways').offsetHeight") == 0
