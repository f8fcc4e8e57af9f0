"""memcached: mutexes of buckets, of slabs, of its lists; condition variables of its background threads."""

import re

from suite.case import case
from suite.stage import Stage


@case(
    "memcached", unpacked=["memcached", "libmemcached-tools"], acquisitions=0, mutexes=30_000, quick=True,
    waits=("park", "yield"),
)  # fmt: skip
def memcached(stage: Stage) -> None:
    """Four threads under memcaslap; every key that was set is found, with what was put there"""
    port = stage.port()
    where = f"--servers=127.0.0.1:{port}"
    user = ["-u", "root"] if stage.is_root else []
    with stage.server(
        "memcached", "-l", "127.0.0.1", "-p", str(port), "-U", "0", *user, "-t", "4", "-m", "64", ready=f"tcp:{port}"
    ):
        # One get in ten is verified.
        load = stage.plain(
            "memcaslap", where, "--threads=1", "--concurrency=8", "--execute_number=20000", "--verify=0.1"
        ).stdout
        stage.write("kept", "a value\n" * 1000)
        stage.plain("memccp", where, "kept")
        stage.same(stage.plain("memccat", where, "kept").stdout)
    counted = dict(re.findall(r"^(cmd_get|cmd_set|get_misses|verify_misses|verify_failed): (\d+)", load, re.MULTILINE))
    stage.need(int(counted.get("cmd_get", 0)) >= 10_000, "memcaslap got no answers to its gets")
    wrong = {name: counted.get(name) for name in ("get_misses", "verify_misses", "verify_failed")}
    stage.need(set(wrong.values()) == {"0"}, f"memcaslap missed keys or got wrong values: {wrong}")
