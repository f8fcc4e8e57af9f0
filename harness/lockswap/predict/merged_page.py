"""`lockswap predict --merge --page DIR`: a page of the files that `--validate` wrote, each machine by itself."""

from collections.abc import Sequence
from pathlib import Path

from lockswap.predict.validation import Validation
from lockswap.records.folder import make_folder
from lockswap.report import page as pages


def write(found: Sequence[Validation], out: Path) -> Path:
    """The page's path."""
    make_folder(out)
    file = out / "validated.html"
    text = pages.render(
        "validated.html.j2", {}, title="Predicted, then measured", kicker="lockswap: validations", validations=found
    )
    file.write_text(text, encoding="utf-8")
    return file
