"""`lockswap report`."""

from __future__ import annotations

from pathlib import Path

import click

from lockswap.base.errors import UserError
from lockswap.commands.options import SETTINGS


@click.command(
    "report", context_settings=SETTINGS, short_help="Show a comparison or profile again, or compare several."
)
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="DIR [DIR...]")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write files to DIR. Default: the folder itself; for several campaigns, A-vs-B next to them; for two "
    "profiles, no files.",
)
@click.option("--silent", is_flag=True, help="Campaigns: print only where the report is.")
@click.option("--verbose", is_flag=True, help="One campaign: also print all tables, conclusions and warnings.")
@click.option("--markdown", is_flag=True, help="One campaign: print the tables and conclusions as Markdown.")
@click.option("--top", type=click.IntRange(1), metavar="N", help="Profiles: show the top N locks.  [default: 20]")
@click.option("--json", "as_json", is_flag=True, help="Two profiles: print the differences as JSON.")
def report_command(
    folders: tuple[Path, ...],
    out: Path | None,
    silent: bool,
    verbose: bool,
    markdown: bool,
    top: int | None,
    as_json: bool,
) -> int:
    """Show the results in a folder again, and write its HTML page and data files from what was recorded. With several
    folders, show what changed from the first to each of the others.

    \b
    lockswap report results/2026-11-seven-locks    a campaign of 'lockswap compare'
    lockswap report results/before results/after   two campaigns: how the ratios changed
    lockswap report hot                            what 'lockswap profile -o' or LOCKSWAP_PROFILE recorded
    lockswap report hot better                     two profiles: which locks got better or worse
    """
    from lockswap.profile import recording

    if any(recording.is_profile(one) for one in folders):
        for option, is_given in (("--silent", silent), ("--verbose", verbose), ("--markdown", markdown)):
            if is_given:
                raise UserError(f"{option} is for campaigns; a profile takes --top and -o")
        from lockswap.base.paths import Paths
        from lockswap.profile import profile

        return profile.show(Paths.find(), folders, out, top, as_json)
    if top is not None or as_json:
        raise UserError(f"{'--json' if as_json else '--top'} is for profiles, and {folders[0]} is not one")
    if len(folders) > 1:
        if markdown:
            raise UserError("--markdown prints one campaign; name one folder")
        _side_by_side(list(folders), out, silent)
        return 0
    from lockswap.findings import reading
    from lockswap.report import terminal, writer

    findings = reading.read(folders[0])
    page = writer.write(findings, out)
    if silent:
        print(page)
    else:
        terminal.show(findings, page, markdown, verbose)
    return 0


def _side_by_side(folders: list[Path], out: Path | None, silent: bool) -> None:
    from lockswap.side_by_side import campaigns, page, terminal

    found = campaigns.read(folders)
    file = page.write(found, out or page.default_folder(found))
    if silent:
        print(file)
    else:
        terminal.show(found, file)
