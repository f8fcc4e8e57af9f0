"""A hook of mkdocs (mkdocs.yml), which makes a site of all Markdown pages of the tree as they are.

Each page keeps its place in the tree, so links between pages need no change. A link to a source file leads to a page
that shows it, and a link to a folder to its README, to a campaign's report, or to a list of its files.
"""

import os
import re
import shutil
import subprocess
from fnmatch import fnmatchcase
from pathlib import Path

from check_prose import CODE_SPAN, FENCE, LINK_TARGET, LIST_MARK, tracked
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
HOME = "README.md"
# A link to these settings leads to what doxygen makes by them, the reference of the public headers, if it is installed.
REFERENCE = "docs/Doxyfile"
# The other pages, by reader and in order. A pattern stands for the pages that match and were not named before.
GROUPS = {
    "Use it": (
        *("docs/start.md", "docs/locks.md", "docs/limits.md", "docs/measuring.md", "docs/diagnose.md"),
        *("docs/range-locks.md", "docs/production.md", "docs/installing.md", "examples/*"),
    ),
    "Research": (
        *("docs/results.md", "docs/papers.md", "docs/predict.md", "docs/recipes.md", "apps/README.md", "results/*"),
    ),
    "How it works": ("docs/architecture.md", "docs/interposition.md", "docs/algorithms.md", "docs/*"),
    "Structures": ("structures/README.md", "structures/*"),
    "Contribute": ("CONTRIBUTING.md", "CHANGELOG.md", "src/*", "harness/*", "tests/README.md", "*"),
}
LANGUAGES = {".h": "cpp", ".hpp": "cpp", ".cpp": "cpp", ".c": "c", ".toml": "toml", ".py": "python", ".sh": "bash"}
PICTURE = re.compile(r'<picture>\s*<source[^>]*srcset="([^"]+)">\s*<img src="([^"]+)" alt="([^"]+)"[^>]*>\s*</picture>')


def pages() -> list[str]:
    return [name for name in tracked(ROOT) if name.endswith(".md") and not name.startswith(".")]


def text_of(name: str) -> str:
    """The page's text, with a picture for each of the site's two colour schemes."""
    return PICTURE.sub(r"![\3](\1#only-dark)\n![\3](\2#only-light)", (ROOT / name).read_text(encoding="utf-8"))


def goal(name: str, target: str) -> str:
    """The file or folder of the tree that a link of this page leads to; nothing if it leads elsewhere."""
    path = (ROOT / name).parent / target.partition("#")[0]
    return os.path.relpath(path, ROOT) if not re.match(r"[a-z]+:|#", target) and path.exists() else ""


def shown(path: str) -> str:
    """The page or file of the site that shows this file or folder of the tree."""
    if path == REFERENCE and shutil.which("doxygen"):
        return "api/index.html"
    if (ROOT / path).is_dir():
        shows = [name for name in ("README.md", "report.html") if (ROOT / path / name).exists()]
        return f"{path}/{shows[0]}" if shows else f"{path}.md"
    return path if path.endswith((".md", ".svg", ".png", ".html")) else f"{path}.md"


def with_links_to_pages(name: str, text: str) -> str:
    def rewrite(link: re.Match[str]) -> str:
        path = goal(name, link[1])
        if not path or shown(path) == path:
            return link[0]
        return f"]({os.path.relpath(shown(path), Path(name).parent)})"

    return LINK_TARGET.sub(rewrite, text)


def for_python_markdown(text: str) -> str:
    """What differs from GitHub's Markdown: what belongs to an item of a list is indented by four columns, not by the
    width of the item's mark; a | in code in a table has no backslash."""
    lines = []
    inside: list[int] = []  # the columns where the text of the items begins that this line may belong to
    in_fence = False
    for line in text.splitlines():
        if line.startswith("|"):
            line = CODE_SPAN.sub(lambda code: code[0].replace("\\|", "|"), line)
        column = len(line) - len(line.lstrip())
        if line.strip() and not in_fence:
            while inside and column < inside[-1]:
                inside.pop()
        if line.strip() and inside:
            lines.append(" " * (4 * len(inside) + max(0, column - inside[-1])) + line.lstrip())
        else:
            lines.append(line)
        if FENCE.match(line):
            in_fence = not in_fence
        elif not in_fence and (mark := LIST_MARK.match(line)) and column < (inside[-1] if inside else 0) + 4:
            inside.append(mark.end())
    return "\n".join(lines) + "\n"


def source_page(path: str) -> str:
    if (ROOT / path).is_dir():
        content = "\n".join(name for name in tracked(ROOT) if name.startswith(f"{path}/"))
    else:
        content = (ROOT / path).read_text(encoding="utf-8")
    return f"# {path}\n\n````{LANGUAGES.get(Path(path).suffix, 'text')}\n{content}\n````\n"


def reference(config: MkDocsConfig) -> dict[str, File]:
    subprocess.run(["doxygen", REFERENCE], cwd=ROOT, check=True)
    made = ROOT / "build/api/html"
    names = {path: f"api/{path.relative_to(made)}" for path in made.rglob("*") if path.is_file()}
    return {name: File.generated(config, name, abs_src_path=str(path)) for path, name in names.items()}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    left = [name for name in pages() if name != HOME]
    nav: list[dict[str, str | list[str]]] = [{"Home": HOME}]
    for group, patterns in GROUPS.items():
        members = list(dict.fromkeys(name for pattern in patterns for name in left if fnmatchcase(name, pattern)))
        left = [name for name in left if name not in members]
        nav.append({group: members})
    config.nav = nav
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The theme's files, and those of the tree in the place of what mkdocs found in docs/."""
    made = {name: File.generated(config, name, abs_src_path=str(ROOT / name)) for name in pages()}
    linked = {goal(name, target) for name in made for target in LINK_TARGET.findall(text_of(name))} - {""}
    for path in sorted(linked):
        name = shown(path)
        if name == "api/index.html":
            made |= reference(config)
        elif name == f"{path}.md":
            made[name] = File.generated(config, name, content=source_page(path), inclusion=InclusionLevel.NOT_IN_NAV)
        elif name not in made:
            made[name] = File.generated(config, name, abs_src_path=str(ROOT / name))
    return Files([*(file for file in files if file.src_dir != config.docs_dir), *made.values()])


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    name = page.file.src_uri
    if page.file.abs_src_path is None:  # a source file
        return markdown
    return for_python_markdown(with_links_to_pages(name, text_of(name)))
