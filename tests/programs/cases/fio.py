"""fio with threads: process-shared mutexes and condition variables, which stay glibc's."""

import json

from suite.case import case
from suite.stage import Stage


@case("fio", packages=["fio"], acquisitions=0)
def fio(stage: Stage) -> None:
    """Four threads write and verify files"""
    output = stage.swapped(
        "fio", "--thread", "--name=job", "--numjobs=4", "--size=4m", "--rw=randrw", "--ioengine=psync", "--bs=4k",
        "--verify=crc32c", "--verify_fatal=1", "--randseed=1", f"--directory={stage.tmp}", "--output-format=json",
    )  # fmt: skip
    jobs = json.loads(output.stdout[output.stdout.index("{") :])["jobs"]
    stage.same("\n".join(f"{job['error']} {job['write']['io_bytes']}" for job in jobs))
    stage.need(len(jobs) == 4 and all(job["error"] == 0 for job in jobs), "fio met an error")
