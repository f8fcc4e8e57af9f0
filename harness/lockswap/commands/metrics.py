"""`lockswap metrics`."""

from __future__ import annotations

import click

from lockswap.base.errors import UserError
from lockswap.commands.options import SETTINGS


@click.command("metrics", context_settings=SETTINGS, short_help="Print lock metrics in Prometheus's format.")
@click.option("--listen", metavar="[HOST]:PORT", help="Serve DIR over HTTP, at /metrics, until Ctrl-C.")
@click.option(
    "--text", is_flag=True, help="Print Prometheus's older text format, for node_exporter's textfile collector."
)
@click.option("--clean", is_flag=True, help="Remove the files of processes that have ended, once they are printed.")
@click.argument("subject", metavar="PID|DIR")
def metrics_command(listen: str | None, text: bool, clean: bool, subject: str) -> int:
    """Print the acquisitions, waits and wait times of programs that run with LOCKSWAP_METRICS=DIR and the library, in
    the OpenMetrics text format: for PID, or for every process with a file in DIR, including those that have ended.

    \b
    lockswap metrics 4711
    lockswap metrics /run/lockswap
    lockswap metrics --listen localhost:9464 --clean /run/lockswap

    See docs/production.md.
    """
    if listen is not None:
        if text:
            raise UserError("--listen answers each scraper in the format that it asks for; leave out --text")
        from lockswap.metrics import serve

        return serve.run(subject, listen, clean)
    from lockswap.metrics import scrape

    return scrape.run(subject, text, clean)
