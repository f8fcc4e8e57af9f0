"""The site that ./run.sh site builds: without warnings, with all pages, as a browser shows it."""

import functools
import http.server
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/harness"), str(ROOT / "tests")]
from browser import Browser  # noqa: E402
from git_files import git_files  # noqa: E402

MKDOCS = ROOT / "build/site-venv/bin/mkdocs"
PAGE = r"""# A page

- An item.
  - An item in it.

        code

See [the source](../src/a.h), [its folder](../src/) and [the end](#the-end-of-it).

| a | b |
| --- | --- |
| `x\|y` | z |

## The `end` of it
"""

# Types a word into the search, and waits for what it finds.
SEARCH = """
const [word, done] = arguments;
const box = document.querySelector("input.md-search__input");
box.focus();
box.value = word;
for (const name of ["keyup", "input"]) box.dispatchEvent(new Event(name, {bubbles: true}));
const look = () => {
  const links = [...document.querySelectorAll(".md-search-result__link")];
  if (links.length) done(links.map((link) => link.href));
  else setTimeout(look, 100);
};
look();
"""

pytestmark = pytest.mark.full


class Links(HTMLParser):
    def __init__(self, page: Path) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attributes if name in ("href", "src") and value]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(["./run.sh", "site", folder], cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    assert "WARNING" not in built.stdout + built.stderr
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    one = Browser(tmp_path_factory.mktemp("profile"))
    yield one
    one.close()


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def small_tree(root: Path, page: str) -> subprocess.CompletedProcess[str]:
    """Builds a tree of two pages and a source file."""
    (root / "scripts").mkdir()
    for name in ("mkdocs.yml", "scripts/check_prose.py", "scripts/site_pages.py"):
        shutil.copy(ROOT / name, root / name)
    for name, text in {"README.md": "# Home\n", "docs/page.md": page, "src/a.h": "int answer();\n"}.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    subprocess.run(["git", "init", "-q", root], check=True)
    return subprocess.run([MKDOCS, "build", "--strict", "-f", root / "mkdocs.yml"], capture_output=True, text=True)


def test_it_has_every_page_and_each_is_in_the_navigation(site: Path) -> None:
    pages = [Path(name) for name in git_files("*.md", untracked=False) if not name.startswith(".")]
    expected = {
        str(page.parent / "index.html" if page.name == "README.md" else page.with_suffix(".html")) for page in pages
    }
    assert len(expected) > 10
    assert not [name for name in expected if not (site / name).exists()]
    assert not expected - set(Links(site / "index.html").found) - {"index.html"}


def test_no_link_is_dead_and_nothing_comes_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        if page.name in ("report.html", "404.html"):
            continue
        for link in Links(page).found:
            target = unquote(re.split("[?#]", link)[0])
            if not re.match(r"[a-z]+:", link) and target:
                assert (page.parent / target).exists(), f"{page.relative_to(site)}: {link}"
        assert not re.search(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=\"(?:https?:)?//", page.read_text())


def test_the_reference_of_the_headers_is_part_of_it(site: Path) -> None:
    if shutil.which("doxygen") is None:
        pytest.skip("doxygen is not installed")
    assert "../api/index.html" in Links(site / "docs/index.html").found
    assert "snapshot_for" in (site / "api/classlockswap_1_1bonsai__map.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_the_home_page_in_a_browser(site: Path, browser: Browser, dark: bool, width: int) -> None:
    browser.open(site / "index.html", width=width, dark=dark)
    pictures = "return [...document.querySelectorAll('article img')].filter((i) => i.checkVisibility())"
    shown = browser.run(f"{pictures}.map((i) => [i.currentSrc, i.complete && i.naturalWidth > 0])")
    assert [(Path(source.partition("#")[0]).stem, there) for source, there in shown] == [
        (f"comparison-{'dark' if dark else 'light'}", True)
    ]
    assert browser.run("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert all(url.startswith(site.as_uri()) for url in browser.requests())


def test_the_search_finds_a_page(address: str, browser: Browser) -> None:
    browser.size(1400)
    browser.driver.get(f"{address}/index.html")
    found = browser.driver.execute_async_script(SEARCH, "phase-fair")
    assert any("/docs/" in link for link in found)


def test_what_differs_from_the_markdown_of_github(site: Path, tmp_path: Path) -> None:
    built = small_tree(tmp_path, PAGE)
    assert built.returncode == 0, built.stderr
    page = (tmp_path / "build/site/docs/page.html").read_text()
    assert re.search(
        r'<li>An item\.\s*<ul>\s*<li>An item in it\.\s*<div class="highlight"><pre>.*?code\n</code></pre>', page
    )
    assert "<code>x|y</code>" in page
    assert 'href="../src/a.h.html"' in page and 'href="../src.html"' in page and 'id="the-end-of-it"' in page
    assert "answer" in (tmp_path / "build/site/src/a.h.html").read_text()
    assert "src/a.h" in (tmp_path / "build/site/src.html").read_text()


@pytest.mark.parametrize("link", ["[dead](nowhere.md)", "[dead](../README.md#nowhere)", "[dead](../src/none.h)"])
def test_a_dead_link_is_an_error(site: Path, tmp_path: Path, link: str) -> None:
    built = small_tree(tmp_path, f"# A page\n\n{link}\n")
    assert built.returncode != 0
    assert "docs/page.md" in built.stderr
