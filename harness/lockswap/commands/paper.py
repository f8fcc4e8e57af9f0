"""`lockswap paper`."""

from __future__ import annotations

from pathlib import Path

import click

from lockswap.base.errors import UserError
from lockswap.campaign import request
from lockswap.campaign.headings import HeadedCommand, HeadedOption
from lockswap.commands import options
from lockswap.commands.options import SETTINGS, given_parameters, nothing_beside_resume
from lockswap.findings.stats import MIN_PAIRS


def _for_papers() -> dict[str, str]:
    """The installation's results folder, to fill in the help of `paper`."""
    from lockswap.base.paths import Paths

    return {request.DEFAULT_FOLDER: Paths.find().workload_results_in_words}


_MODEL = "On a machine that you don't have"


def _model_figure(options: dict[str, object], machine: str, draws: int) -> int:
    from lockswap.base.paths import Paths
    from lockswap.predict import figure_page

    for one in given_parameters():
        if one.name not in ("figure", "machine", "draws", "threads", "out"):
            raise UserError(f"{one.opts[0]} has no effect with --machine, which measures nothing: drop it")
    request_of = request.Request.from_command_line(options)
    return figure_page.run(
        Paths.find(),
        figure_page.Request(request_of.figure, machine, tuple(sorted(request_of.threads or ())), draws, request_of.out),
    )


@click.command(
    "paper",
    cls=HeadedCommand,
    words=_for_papers,
    context_settings=SETTINGS,
    short_help="Measure a paper's figure here.",
)
@request.with_some_options(
    "quick", "threads", "repeats", "seconds", "until", "budget", "pin", "preload", "per_cpu", "name", "out"
)
@options.resume("measurement")
@click.option(
    "--machine",
    cls=HeadedOption,
    heading=_MODEL,
    metavar="NAME|FILE.toml",
    help="Measure nothing: plot what the model of 'lockswap predict' gives for that machine.",
)
@click.option(
    "--draws",
    cls=HeadedOption,
    heading=_MODEL,
    type=click.IntRange(MIN_PAIRS),
    default=24,
    show_default=True,
    metavar="N",
    help="Sample unknown machine parameters N times.",
)
@click.argument("figure", required=False, metavar="[FIGURE]")
def paper_command(resume: Path | None, machine: str | None, draws: int, **options: object) -> int:
    """Measure a figure or table of a paper on this machine, and plot it with the paper's axes and lines. The HTML page
    also lists what the paper says about the figure, and whether that holds here: hit, miss, or can't tell here.

    \b
    lockswap list papers             all figures, a line each, and why some can't be measured
    lockswap paper bravo-3           measure one; the programs that it needs are built or fetched
    lockswap paper bravo-3 --quick   fewer points, shorter runs, 6 rounds
    lockswap paper bravo-5 --machine x5-2    model one, on a machine that you don't have

    Thread counts go beyond the number of processors; that part of the plot is gray. The results are a folder like that
    of 'lockswap compare', so 'lockswap report' and 'lockswap export' work with it.

    \b
    Exit status:
      0    the figure was measured, whether or not the paper's statements hold
      2    bad input, or a figure that can't be measured; nothing was run
      4    no run succeeded
      130  interrupted; --resume continues
    """
    from lockswap.campaign import compare

    if resume is not None:
        nothing_beside_resume(options)
        return compare.resume(resume)
    if options["figure"] is None:
        raise UserError("name a figure: 'lockswap paper bravo-3'; 'lockswap list papers' shows all")
    if machine is not None:
        return _model_figure(options, machine, draws)
    if any(one.name == "draws" for one in given_parameters()):
        raise UserError("--draws has no effect without --machine: drop it")
    return compare.run(request.Request.from_command_line(options))
