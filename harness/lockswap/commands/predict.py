"""`lockswap predict`."""

from __future__ import annotations

from pathlib import Path

import click

from lockswap.base.errors import UserError
from lockswap.commands.options import SETTINGS, given_parameters

# What each way to use `predict` reads; the empty one is a plain prediction.
_PREDICT = {
    "show_list": (),
    "merge": ("files", "as_json", "page"),
    "page": ("draws",),
    "replay": ("machine", "rwlock", "mutex", "draws", "calls", "as_json"),
    "validate": ("machine", "rwlock", "mutex", "threads", "draws", "virtual_ms", "rounds", "seconds"),
    "": ("machine", "workload", "writes", "rwlock", "mutex", "threads", "draws", "virtual_ms", "as_json"),
}


def _refuse_what_predict_does_not_read(given: list[click.Parameter]) -> None:
    way = next((one for name in _PREDICT for one in given if one.name == name), None)
    reads = _PREDICT[way.name if way else ""]
    unread = next((one for one in given if one is not way and one.name not in reads), None)
    if unread is None:
        return
    if unread.name == "files":
        raise UserError("a file needs --merge, which reads files that --validate wrote")
    needed = next(name for name, read in _PREDICT.items() if unread.name in (name, *read))
    where = f"with {way.opts[0]}" if way else f"without --{needed}"
    raise UserError(f"{unread.opts[0]} has no effect {where}: drop it")


def _names(listed: str) -> tuple[str, ...]:
    """Each once, in the order in which they were given."""
    return tuple(dict.fromkeys(filter(None, map(str.strip, listed.split(",")))))


@click.command(
    "predict", context_settings=SETTINGS, short_help="Model how locks scale on a machine that you don't have."
)
@click.option(
    "--machine",
    metavar="NAME|FILE.toml",
    help="The machine: one that --list shows, or a file that 'lockswap machine' wrote.",
)
@click.option("--workload", "-w", default="rwbench", show_default=True, metavar="NAME", help="What the threads do.")
@click.option(
    "--writes",
    type=click.FloatRange(0, 1),
    default=0.01,
    show_default=True,
    metavar="SHARE",
    help="Share of the acquisitions that write.",
)
@click.option("--rwlock", "-l", metavar="LOCKS", help="Reader-writer locks, comma-separated.")
@click.option("--mutex", "-m", metavar="MUTEXES", help="Mutexes, comma-separated.")
@click.option(
    "--threads",
    metavar="N,N...",
    help="Thread counts. Default: 1, 2, 4 ... up to the machine's hardware threads.",
)
@click.option(
    "--draws",
    type=click.IntRange(2),
    metavar="N",
    help="Sample unknown machine parameters N times. Fewer samples are faster but less certain. Default: 200; 40 with "
    "--validate; 12 with --page.",
)
@click.option(
    "--virtual",
    "virtual_ms",
    type=click.FloatRange(0.1),
    metavar="MS",
    help="Length of each modelled run, in virtual milliseconds. Default: 5; 0.5 with --validate.",
)
@click.option(
    "--page",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Use the model to check what papers say about locks, and write an HTML page with plots into DIR. The locks "
    "and machines are the papers'. If it was interrupted, the same command continues. With --merge: write a page about "
    "the files instead.",
)
@click.option(
    "--replay",
    type=click.Path(path_type=Path),
    metavar="DIR|FILE",
    help="Instead of a workload, replay what 'lockswap record' recorded: a process's file, or the busiest "
    "one in a folder.",
)
@click.option(
    "--calls",
    type=click.IntRange(100),
    default=5_000,
    show_default=True,
    metavar="N",
    help="With --replay: replay N acquisitions in each sample. Each sample replays one of up to 20 parts of a "
    "long record, in turn.",
)
@click.option("--list", "show_list", is_flag=True, help="List machines and workloads.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option(
    "--validate",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Predict this machine, then measure it, and write both to FILE. The threads (1, 2, 4 ...) do nothing but "
    "take the lock.",
)
@click.option(
    "--rounds",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    metavar="N",
    help="With --validate: measure N rounds.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0.05),
    default=0.25,
    show_default=True,
    metavar="S",
    help="With --validate: length of each measured run.",
)
@click.option("--merge", is_flag=True, help="Show how accurate the predictions in files written by --validate were.")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE...]")
def predict_command(
    replay: Path | None,
    calls: int,
    machine: str | None,
    workload: str,
    writes: float,
    rwlock: str | None,
    mutex: str | None,
    threads: str | None,
    draws: int | None,
    virtual_ms: float | None,
    page: Path | None,
    show_list: bool,
    as_json: bool,
    validate: Path | None,
    rounds: int,
    seconds: float,
    merge: bool,
    files: tuple[Path, ...],
) -> int | None:
    """Predict how locks scale on a machine that you don't have. The locks' own code runs on a modelled machine,
    with cache-line transfer times measured on the real machine. All figures are modelled, not measured.

    \b
    lockswap predict --list
    lockswap predict --machine x5-2 --rwlock ba,bravo-ba --writes 0.01
    lockswap predict --machine e5-2680-v4 --workload pairs --writes 1 --mutex mcs,ticket --threads 2,28
    lockswap predict --validate here.json        predict this machine, then measure it
    lockswap predict --merge here.json its.json  show how accurate the predictions were on several machines
    lockswap predict --page predictions          compare the model with what papers say
    lockswap predict --replay lockswap-record --machine x5-2 --mutex mcs,cohort

    See docs/predict.md for what the model covers, and how good its predictions were.
    """
    from lockswap.base.paths import Paths
    from lockswap.predict import predict

    given = given_parameters()
    _refuse_what_predict_does_not_read(given)
    if show_list:
        predict.show_list(Paths.find())
        return None
    if merge:
        from lockswap.predict import validate as validating

        return validating.merge(files, as_json, page)
    if page is not None:
        from lockswap.predict import page as pages

        print(f"{pages.write(Paths.find(), page, draws or pages.DRAWS)}: modelled, not measured")
        return None
    if machine is None and validate is None:
        raise UserError("name a machine: --machine x5-2; 'lockswap predict --list' shows all")
    locks = tuple(_names(one or "") for one in (rwlock, mutex))
    if replay is not None:
        from lockswap.predict import replay as replaying

        replaying.run(Paths.find(), replaying.Request(replay, machine, *locks, draws or predict.DRAWS, calls, as_json))
        return None
    try:
        counts = tuple(sorted({int(n) for n in threads.split(",")})) if threads else ()
    except ValueError:
        counts = (0,)
    if threads and (not counts or counts[0] < 1):
        raise UserError(f"--threads '{threads}' is not a list of numbers from 1 on; write it like 1,8,36")
    if validate is not None:
        from lockswap.predict import validate as validating

        return validating.run(
            Paths.find(),
            validating.Request(
                validate,
                machine,
                counts,
                *locks,
                draws or validating.DRAWS,
                virtual_ms or validating.VIRTUAL_MS,
                rounds,
                seconds,
            ),
        )
    predict.run(
        Paths.find(),
        predict.Request(
            machine,
            workload,
            writes,
            *locks,
            counts,
            draws or predict.DRAWS,
            virtual_ms or predict.VIRTUAL_MS,
            as_json,
        ),
    )
    return None
