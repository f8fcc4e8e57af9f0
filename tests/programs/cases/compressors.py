"""Compressors with threads: what they wrote must be the same, and come back as it was."""

import hashlib

from suite.case import WAITS, case
from suite.stage import Stage


@case("xz-zstd", packages=["xz-utils", "zstd"], acquisitions=0, mutexes=200, quick=True, waits=WAITS)
def compressors(stage: Stage) -> None:
    """xz and zstd with four threads, there and back"""
    text = "".join(f"{n} {n * n} {n % 7}\n" for n in range(120_000))
    stage.write("text", text)
    stage.swapped("xz", "-k", "-1", "-T4", "--block-size=256KiB", "text")
    stage.swapped("zstd", "-q", "-k", "-3", "-T4", "-B512KiB", "text")
    for file, tool in (("text.xz", ["xz", "-dc", "-T4"]), ("text.zst", ["zstd", "-qdc"])):
        stage.same(hashlib.sha256((stage.tmp / file).read_bytes()).hexdigest())
        stage.need(stage.swapped(*tool, file).stdout == text, f"{tool[0]} did not give back what it was given")


@case("pigz-pbzip2", packages=["pigz", "pbzip2"], acquisitions=0, mutexes=80, quick=True, waits=("park", "yield"))
def blocks(stage: Stage) -> None:
    """pigz and pbzip2 with four threads: a queue of blocks, condition variables"""
    text = "".join(f"{n} {n * n} {n % 7}\n" for n in range(60_000))
    stage.write("text", text)
    stage.swapped("pigz", "-k", "-n", "-p", "4", "text")
    stage.swapped("pbzip2", "-k", "-p4", "-b1", "text")
    for file, tool in (("text.gz", ["pigz", "-dc"]), ("text.bz2", ["pbzip2", "-dc", "-p4"])):
        stage.same(hashlib.sha256((stage.tmp / file).read_bytes()).hexdigest())
        stage.need(stage.swapped(*tool, file).stdout == text, f"{tool[0]} did not give back what it was given")
