"""The report: from a folder with every kind of row to page, plots, CSV, JSON and sentences."""

import csv
import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

import synthetic
from harness_support import one_line_error
from lockswap.base.text import duration, quantity, share, si, times, words
from lockswap.findings import advice, loading, reading, sentences
from lockswap.records.folder import Folder
from lockswap.report import terminal, writer


@pytest.fixture(scope="module")
def made(made_up):
    return made_up, reading.read(made_up)


def said(made, workload: str) -> str:
    return "\n".join(made[1].sentences[workload])


def test_all_files_are_there(made):
    path, _ = made
    for kind in ("throughput", "ratio", "resources"):
        for workload in ("starving", "timed", "broken"):
            ET.fromstring((path / f"plots/{workload}-{kind}.svg").read_text())
            assert (path / f"plots/{workload}-{kind}.png").read_bytes().startswith(b"\x89PNG")
    assert not list((path / "plots").glob("hopeless*"))


def test_sentences_say_what_the_spread_allows(made):
    text = said(made, "starving")
    assert re.search(r"bravo-ba \(reads\) against pthread, by the clock: faster at every thread count", text)
    assert re.search(r"ba \(reads\) against pthread, by the clock: slower with 4 and 8 threads", text)
    assert "faster with 2, 4 and 8 threads" in text  # writes under ba
    assert re.search(r"The preload itself \(pthread against none, reads\), by the clock: ", text)
    # 2 % with 5 % noise: no claim.
    assert "preload itself (pthread against none, reads), by the clock: faster" not in text


def test_starved_writers_are_named_with_rates(made):
    text = said(made, "starving")
    line = next(line for line in text.splitlines() if "starves" in line)
    assert line.startswith("glibc's lock (none and pthread) starves writers: ")
    assert "0 writes/s with 8 threads" in line and "with ba" in line and "with 4 threads" in line
    assert "with 1 thread" not in line
    assert "pthread got none" in text and "∞" not in text


def test_less_time_is_faster(made):
    text = said(made, "timed")
    assert re.search(r"^bravo-ba against pthread, by the clock: faster with 2 threads \(1\.[34]", text, re.MULTILINE)


def test_failures_are_said(made):
    text = said(made, "broken")
    assert "ba: 6 of 6 runs crashed at every thread count, 1 and 2: died by SIGSEGV." in text
    assert "bravo-ba: 2 of 14 runs failed" in text
    assert "pf-t: not measured, it does not take the lock under test: 0 rwlock calls seen." in text
    assert said(made, "timed").endswith(
        "pf-t: 7 of 7 runs printed no result or a wrong result with 2 threads: its checksum differs."
    )
    assert said(made, "hopeless") == "Every lock: not measured: needs 12400 MB of memory, 8000 MB are available."


def test_disturbed_runs_are_marked_and_counted(made):
    starving = made[1].campaign.workloads[0]
    cell = starving.cell(2, "ba")
    assert (len(cell.good), cell.busy, starving.busy_rounds(2)) == (7, 1, {3})
    assert starving.ratio(2, "ba", starving.metrics[0]).n == 7
    assert starving.ratio(2, "ba", starving.metrics[0], quiet=True).n == 6


def test_too_few_rounds_make_no_claims(tmp_path):
    campaign = loading.load(Folder(synthetic.write(tmp_path / "short", rounds=3)))
    text = "\n".join(sentences.of(campaign.workloads[0]))
    assert "faster" not in text and "slower" not in text and "only 3 pairs of runs where 6 are needed" in text
    assert any("no 95 % interval" in hint for hint in map(str, advice.of(campaign)))


def test_advice_names_cause_and_cure(made):
    text = "\n".join(map(str, made[1].advice))
    assert "governor is 'powersave'" in text and "cpupower" in text
    assert "load was 3.0" in text and "4 of" in text and "8 threads shared 2 CPUs" in text


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.links, self.ids, self.text, self.depth = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for key, value in attributes:
            if key in ("href", "src", "xlink:href", "srcset"):
                self.links.append(value)
            if key == "id":
                self.ids.append(value)

    def handle_data(self, data):
        self.text.append(data)


def test_the_page_is_self_contained(made):
    html = (made[0] / "report.html").read_text()
    page = Page(html)
    assert all(link.startswith(("#", "data:")) for link in page.links)
    assert not re.search(r"@import|url\((?!#)", html)
    assert not re.search(r"<script[^>]+src|fetch\(|XMLHttpRequest|import\(", html)
    assert len(page.ids) == len(set(page.ids))
    for link in page.links:
        assert not link.startswith("#") or link[1:] in page.ids, link


def test_the_page_shows_every_failure_and_escapes_it(made):
    html = (made[0] / "report.html").read_text()
    for words_ in ("died by SIGSEGV", "its checksum differs", "0 rwlock calls seen", "needs 12400 MB", "6 of 7"):
        assert words_ in html
    assert "<b>no &" not in html and "&lt;b&gt;no &amp; memory&lt;/b&gt;" in html


def test_the_page_follows_the_theme(made):
    html = (made[0] / "report.html").read_text()
    assert "prefers-color-scheme: dark" in html
    svgs = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    svgs = [svg for svg in svgs if 'class="glyph"' not in svg]
    # Figures, ratios, per CPU-second, cost: a panel each.
    assert len(svgs) == (4 + 4 + 2 + 3) + 2 * (1 + 1 + 1 + 3)
    for svg in svgs:
        # Every colour of a plot is a variable, so none stays dark on dark.
        assert not re.search(r"#[0-9a-f]{6}\b", re.sub(r'(id|href)="[^"]*"|url\([^)]*\)', "", svg)), svg[:300]
        assert "var(--ink)" in svg


def test_csv_and_json_agree(made):
    path, _ = made
    with (path / "summary.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    data = json.loads((path / "summary.json").read_text())
    assert data["schema"] == 2 and data["brief"] == made[1].brief
    assert data["advice"] == [hint.text for hint in made[1].advice]
    assert data["verdict"] == made[1].verdict.sentence
    assert [(x["verdict"]["kind"], x["verdict"]["lock"]) for x in data["workloads"]] == [
        ("take", "bravo-ba"), ("take", "bravo-ba"), ("can't tell", None), ("nothing", None)
    ]  # fmt: skip
    starving = data["workloads"][0]
    cell = next(cell for cell in starving["cells"] if (cell["threads"], cell["lock"]) == (2, "bravo-ba"))
    line = next(
        x
        for x in lines
        if (x["workload"], x["threads"], x["lock"], x["metric"]) == ("starving", "2", "bravo-ba", "reads")
    )
    assert float(line["median"]) == pytest.approx(cell["metrics"]["reads"]["median"], rel=1e-6)
    assert float(line["ratio"]) == pytest.approx(cell["metrics"]["reads"]["ratio_to_pthread"]["estimate"], rel=1e-6)
    assert line["verdict"] == "faster" and line["against"] == "pthread"
    noise = next(x for x in starving["noise"] if (x["threads"], x["metric"]) == (2, "reads"))
    assert noise["pairs"] == 7 and 1 < noise["floor"] < 1.2
    assert float(line["noise"]) == pytest.approx(noise["floor"], rel=1e-6)
    assert cell["metrics"]["reads per CPU-s"]["unit"] == "reads/CPU-s"
    dead = next(x for x in lines if (x["workload"], x["lock"]) == ("timed", "pf-t"))
    assert dead["median"] == "" and "checksum differs" in dead["failures"]


def test_report_command_makes_the_same_files_from_the_same_data(checkout, lockswap, tmp_path, monkeypatch):
    truth = {"none": (1e7, 10), "pthread": (9e6, 0), "ba": (8e6, 1e4)}
    figures = {lock: {"reads": [1e7, reads], "writes": [1e4, writes]} for lock, (reads, writes) in truth.items()}
    path, other = (
        synthetic.plain(tmp_path / name / "made-up", ("starving", synthetic.READS_AND_WRITES, figures)) for name in "ab"
    )
    monkeypatch.setenv("LOCKSWAP_HOME", str(checkout))
    writer.write(reading.read(other))
    done = lockswap("report", "--verbose", path, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "glibc's lock (none and pthread) starves writers" in done.stdout and "report.html" in done.stdout
    for name in ("report.html", "summary.csv", "summary.json", "plots/starving-ratio.svg", "plots/starving-ratio.png"):
        assert (path / name).read_bytes() == (other / name).read_bytes(), name


def test_a_campaign_of_schema_1_is_read(tmp_path):
    """It had no second run without lockswap, so no column for it, and no noise floor."""
    path = synthetic.write(tmp_path / "old")
    about = (path / "campaign.toml").read_text()
    (path / "campaign.toml").write_text(about.replace("schema = 2", "schema = 1"))
    with (path / "raw.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row.pop("twin") == "0"]
    with (path / "raw.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    findings = reading.read(path)
    starving = findings.campaign.workloads[0]
    assert starving.noise(2, starving.metrics[0]) is None
    assert starving.ratio(2, "bravo-ba", starving.metrics[0]).verdict == "faster"
    assert any("There is no noise floor for starving" in str(hint) for hint in findings.advice)


def test_an_interrupted_campaign_says_so(tmp_path):
    findings = reading.read(synthetic.write(tmp_path / "x", rounds=6, finished=False))
    assert any("was interrupted after" in hint for hint in map(str, findings.advice))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("campaign.toml", "schema = 99", "schema 99"),
        ("campaign.toml", "[", "campaign.toml"),
        ("env.json", "{", "env.json"),
        ("raw.csv", "a,b\n1,2\n", "columns"),
    ],
)
def test_damaged_folders(lockswap, tmp_path, name, content, says):
    path = synthetic.write(tmp_path / "x", rounds=1)
    (path / name).write_text(content)
    assert says in one_line_error(lockswap.inside("report", path))


def test_a_profile_is_no_campaign(lockswap, tmp_path):
    """It was called neither of both."""
    (tmp_path / "1.0.lockprof").touch()
    for asked in (["export", tmp_path], ["compare", "--resume", tmp_path]):
        said = one_line_error(lockswap.inside(*asked))
        assert said == f"lockswap: {tmp_path} has a profile and no campaign; 'lockswap report {tmp_path}' shows it"


def test_an_emptied_file_is_damaged(lockswap, tmp_path):
    (tmp_path / "campaign.toml").touch()
    assert "campaign.toml is damaged: it has no schema" in one_line_error(lockswap.inside("report", tmp_path))


def test_no_folder(lockswap):
    assert "neither a campaign nor a profile" in one_line_error(lockswap.inside("report", "/nonexistent"))


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (si(0), "0"),
        (si(7), "7"),
        (si(1234), "1.23k"),
        (si(24e6), "24.0M"),
        (si(999.6), "1.00k"),
        (si(0.01234), "0.0123"),
        (quantity(0.0456, "s"), "45.6 ms"),
        (quantity(0, "writes/s"), "0 writes/s"),
        (times(1.234), "1.23×"),
        (times(float("inf")), "∞×"),
        (times(0), "∞×"),
        (times(0.5), "2.0×"),
        (times(1.996), "2.0×"),
        (times(9.96), "10×"),
        (times(99.7), "100×"),
        (times(1 / 4512), "4,500×"),
        (times(2.34e6), "2.34M×"),
        (share(0.99971), "99.97 %"),
        (share(1.0), "100 %"),
        (words([1, 2, 8]), "1, 2 and 8"),
        (words([1]), "1"),
        (words([]), ""),
        (duration(3725), "1:02:05"),
        (duration(65), "1:05"),
    ],
)
def test_text(found, wanted):
    assert found == wanted


@pytest.mark.parametrize("markdown", [False, True])
def test_the_last_line_is_the_verdict(made, capsys, markdown):
    terminal.show(made[1], None, markdown)
    last = capsys.readouterr().out.splitlines()[-1].strip("*")
    assert [last] == made[1].brief and last == (
        "No lock is best everywhere: use bravo-ba if your program is like starving or timed; else keep glibc's. "
        "Runs of bravo-ba failed in broken."
    )


def columns_of(text: str) -> list[str]:
    """The heads of all tables of a terminal's text."""
    lines = [line for line in text.splitlines() if re.match("(threads|thr)  lock", line)]
    return [head for line in lines for head in re.split(r"  +", line.strip())[2:]]


@pytest.mark.parametrize("wide", [30, 60, 80, 120, 300])
def test_no_width_of_a_terminal_loses_a_column(made, wide, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(wide))
    terminal.show(made[1], None, verbose=True)
    heads = columns_of(capsys.readouterr().out)
    first = ["reads", "to pthread", "per CPU-s, reads", "writes", "to pthread", "per CPU-s, writes", "CPU s", "runs"]
    assert heads[: len(first)] == first


def test_as_markdown(made, capsys):
    terminal.show(made[1], None, markdown=True)
    lines = capsys.readouterr().out.splitlines()
    assert "### Readers that never pause, and one writer" in lines
    head = next(line for line in lines if line.startswith("| threads | lock | reads | to pthread |"))
    assert head.endswith("| CPU s | runs |")
    table = lines[lines.index(head) :]
    table = table[: table.index("")]
    assert {line.count("|") for line in table} == {head.count("|")} and set(table[1]) == set("|-: ")
    assert any(line.startswith("| 8 | none |") or line.startswith("|  | bravo-ba | 58") for line in table)
    for sentence in made[1].sentences["starving"]:
        assert f"- {sentence}" in lines
    squares = [line for line in lines if line.startswith(("| rwlocks vs glibc's | ", "| timed | "))]
    assert squares[0] == "| rwlocks vs glibc's | bravo-ba | ba | pf-t |"
    assert squares[1].startswith("| timed | ▲1.") and squares[1].endswith(" | ✗ failed |")
