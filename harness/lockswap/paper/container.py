"""A recipe of a container in which the campaign can be run again, on the system on which it ran."""

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

IMAGES = {"Debian GNU/Linux": "debian", "Ubuntu": "ubuntu", "Fedora Linux": "fedora"}
_PLACE = ("--name", "--out", "-o")  # where results go is another place in a container


def containerfile(about: Mapping[str, Any], env: Mapping[str, Any]) -> str:
    commit = commit_of(env)
    own = [workload for workload in about["workload"] if workload.get("own")]
    lines = [
        "# Runs a campaign of lockswap again, with the same locks, settings and order of runs:",
        "#",
        f"#     git clone LOCKSWAP lockswap && git -C lockswap checkout {commit}",
        f"#     podman build -t {_image_name(about['name'])} .",
        f"#     podman run --rm -v $PWD/results:/results {_image_name(about['name'])}",
        "#",
        "# LOCKSWAP is the address of its repository. A container has the kernel and the processors of its host:",
        f"# the campaign had {env.get('kernel', 'a kernel that was not recorded')},",
        f"# {_processors(env)}, and {env.get('glibc', 'a glibc that was not recorded')}.",
        *_system(env),
        "ENV DEBIAN_FRONTEND=noninteractive",
        "RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates git sudo",
        "COPY lockswap /lockswap",
        "WORKDIR /lockswap",
        "RUN ./run.sh build",
    ]
    if len(own) < len(about["workload"]):
        lines += [
            "# What the known workloads need. Their programs are fetched when the campaign begins.",
            "RUN bash -c 'set -e; for part in common packages build; do . scripts/$part.sh; done; \\",
            "    need_packages workloads'",
        ]
    if own:
        lines += [
            "# The program under test and its input belong where the command below expects them, seen from /lockswap.",
            "# Those that lockswap builds itself (build/apps) are made here:",
            "RUN cmake --build build --target benchmarks",
        ]
    lines.append(f"CMD {json.dumps(rerun(about), ensure_ascii=False)}")
    return "\n".join(lines) + "\n"


def rerun(about: Mapping[str, Any]) -> list[str]:
    """The campaign's command line, with its order of runs, and a folder of the container."""
    given = shlex.split(about["command_line"])[2:]
    end = given.index("--") if "--" in given else len(given)
    options = _without_place(given[:end])
    if "seed" in about and "--seed" not in options:
        options += ["--seed", str(about["seed"])]
    return ["build/bin/lockswap", "compare", "--out", f"/results/{about['name']}", *options, *given[end:]]


def _without_place(words: list[str]) -> list[str]:
    found, skipped = [], False
    for word in words:
        if skipped:
            skipped = False
        elif word in _PLACE:
            skipped = True
        elif not word.startswith(("--name=", "--out=", "-o")):
            found.append(word)
    return found


def commit_of(env: Mapping[str, Any]) -> str:
    """The commit that was measured, without the mark of changes that were not committed."""
    return str(env.get("lockswap", {}).get("commit", "unknown")).removesuffix("-dirty")


def _system(env: Mapping[str, Any]) -> list[str]:
    found = re.match(r"([A-Za-z/ ]+?) (\d+(?:\.\d+)?)\b", env.get("os", ""))
    if found and found[1] in IMAGES:
        return [f"FROM {IMAGES[found[1]]}:{found[2]}"]
    return [
        f"# Its system was {env.get('os', 'not recorded')}; this is one on which lockswap is tested.",
        "FROM debian:12",
    ]


def _processors(env: Mapping[str, Any]) -> str:
    cpu = env.get("cpu", {})
    return f"{cpu.get('model', 'processors that were not recorded')} ({cpu.get('topology', 'unknown topology')})"


def _image_name(name: str) -> str:
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._") or "campaign"
