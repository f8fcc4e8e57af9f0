"""`lockswap export`."""

from __future__ import annotations

from pathlib import Path

import click

from lockswap.commands.options import SETTINGS


@click.command(
    "export",
    context_settings=SETTINGS,
    short_help="Export a comparison's figures, plots and versions for a paper.",
)
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write to DIR. Default: NAME-export here, with the campaign's name.",
)
@click.option("--to", type=click.Path(path_type=Path), hidden=True)  # what --out was
@click.argument("campaign", type=click.Path(path_type=Path), metavar="CAMPAIGN")
def export_command(out: Path | None, to: Path | None, campaign: Path) -> int:
    """Write what a paper needs from a campaign, which is the folder that 'lockswap compare' wrote: all figures as CSV
    and Parquet, plots as PDF and SVG, the exact versions, a Containerfile that runs the same comparison again, and a
    CITATION.cff for lockswap and the papers of the locks.

    \b
    lockswap export lockswap-results/2026-11-29-101500
    lockswap export results/2026-11-locktorture --out artifact

    Parquet needs the Python package arro3-io. Without it only CSV is written, and a line says how to install it.
    """
    from lockswap.base.paths import Paths
    from lockswap.paper import export

    return export.run(Paths.find(), campaign, out or to)
