"""git packs from several threads."""

from suite.case import WAITS, case
from suite.stage import Stage


def stream(commits: int) -> str:
    """A history for git fast-import: each commit changes one of 50 files."""
    parts = []
    for number in range(commits):
        text = "".join(f"line {line} of commit {number - number % (line + 2)}\n" for line in range(60))
        message = f"commit {number}\n"
        parts.append(
            f"commit refs/heads/main\ncommitter A <a@example.org> {1_600_000_000 + number} +0000\n"
            f"data {len(message)}\n{message}\nM 100644 inline file{number % 50}\ndata {len(text)}\n{text}\n"
        )
    return "".join(parts)


@case("git-repack", packages=["git"], acquisitions=0, quick=True, waits=WAITS)
def repack(stage: Stage) -> None:
    """A history of 1000 commits packed by four threads, checked, indexed again and searched"""
    env = {"GIT_CONFIG_NOSYSTEM": "1"}
    stage.write("stream", stream(1000))
    stage.plain("git", "init", "-q", "-b", "main", "r", **env)
    stage.plain("sh", "-c", "git -C r fast-import --quiet <stream", **env)
    git = ["git", "-C", "r", "-c", "pack.threads=4", "-c", "grep.threads=4"]
    stage.swapped(*git, "repack", "-adfq", "--window=20", **env)
    stage.same(stage.swapped(*git, "fsck", "--full", "--strict", **env).stdout)
    stage.same(stage.swapped(*git, "rev-list", "--all", "--objects", **env).stdout)
    (pack,) = (stage.tmp / "r/.git/objects/pack").glob("*.pack")
    stage.swapped(*git, "index-pack", "--threads=4", "--strict", "-o", stage.tmp / "again.idx", pack, **env)
    index = (stage.tmp / "again.idx").read_bytes()
    stage.need(index == pack.with_suffix(".idx").read_bytes(), "index-pack made another index than repack")
    stage.same(stage.swapped(*git, "grep", "-c", "line 7 of", "main", **env).stdout)
