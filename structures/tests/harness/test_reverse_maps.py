"""The recipe ldu-pair in its quick form, with the library as it was built: its figures come to the page."""

import csv
import html
import math
import tomllib

import pytest

from harness_support import ROOT, Lockswap

LOCKS = ["none", "mutex:pthread", "mutex:mcs"]
RECIPE = tomllib.loads((ROOT / "structures/apps/recipes/ldu-pair.toml").read_text(encoding="utf-8"))
METRICS = RECIPE["metric"]

built = all(
    (ROOT / "build" / file).exists()
    for file in ("liblockswap.so", "bin/lockswap-registry", "bin/lockswap-meter", "apps/ldubench")
)
pytestmark = [
    pytest.mark.skipif(not built, reason="build/liblockswap.so or ldubench is not built"),
    pytest.mark.full,  # 20 CPU seconds; the test of ldubench itself runs each time
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ldu") / "campaign"
    done = Lockswap(ROOT)("compare", "--quick", "-w", "ldu-pair", "-m", "mcs", "-r", "1", "-t", "2", "--out", folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_each_run_has_each_figure(folder):
    with (folder / "raw.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["lock"]: row["status"] for row in rows} == dict.fromkeys(LOCKS, "ok")
    for row in rows:
        for metric in METRICS:
            figure = float(row["metric." + metric["name"]])
            where = f"{metric['name']} under {row['lock']}: {figure}"
            if metric["role"] == "total":
                assert math.isfinite(figure) and figure > 0, where
            else:
                assert 0 <= figure <= 1, where
        # One mapping that comes and goes: a remove takes its insert back, unless a reader came between.
        for maps in ("pldu", "gldu", "paper"):
            assert float(row[f"metric.{maps}-absorbed"]) > 0, (maps, row["lock"])


def test_the_page_has_each_figure(folder):
    page = html.unescape((folder / "report.html").read_text(encoding="utf-8"))
    assert RECIPE["title"] in page
    for metric in METRICS:
        assert f"{metric['name']} <small>[{metric['unit']}]</small>" in page, "the table of runs"
        assert f">{metric['name']} [" in page, "the plots"
        if metric["role"] == "total":
            assert f'<td class="figure">{metric["name"]}</td>' in page, "the table of ratios"
    for lock in LOCKS[1:]:
        assert f'data-lock="{lock}"' in page
