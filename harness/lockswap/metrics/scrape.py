"""`lockswap metrics`: one scrape, of a process or of a folder."""

import sys
from pathlib import Path

from lockswap.base.text import plural
from lockswap.metrics.exposition import Scraped, render
from lockswap.metrics.folder import Found, clean, is_alive, of_folder, of_process
from lockswap.metrics.labels import Labels


def run(subject: str, text: bool, removes: bool) -> int:
    """Errors and what is stale are said on stderr; status 1 if a file can't be read."""
    found = _find(subject)
    print(as_text(found, Labels(), not text), end="", flush=True)
    for error in found.unreadable:
        print(f"lockswap metrics: {error}", file=sys.stderr)
    ended = [one for one in found.records if is_alive(one, found.records) is False]
    if removes:
        removed = clean(found)
        print(f"lockswap metrics: removed {plural(len(removed), 'file')} of ended processes", file=sys.stderr)
    elif ended and not subject.isdigit():
        print(
            f"lockswap metrics: {plural(len(ended), 'file')} of ended processes; --clean removes what is scraped now",
            file=sys.stderr,
        )
    return 1 if found.unreadable else 0


def as_text(found: Found, labels: Labels, openmetrics: bool) -> str:
    scraped = [Scraped(one, is_alive(one, found.records), labels.of(one)) for one in found.records]
    return render(scraped, len(found.unreadable), openmetrics)


def _find(subject: str) -> Found:
    return Found([of_process(int(subject))], []) if subject.isdigit() else of_folder(Path(subject))
