"""The recipes of docs/production.md for Docker and Kubernetes, run as they stand, by podman and on a small Debian."""

import re
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
import roots
from containers import Podman, why_not

LIBRARY = roots.ROOT / "build/liblockswap.so"
LOCKSWAP = roots.ROOT / "build/bin/lockswap"
PAGE = (roots.ROOT / "docs/production.md").read_text().partition("\n## Containers\n")[2].partition("\n## ")[0]
# Names on the page, and what they are here.
WITH_LIBRARY, SERVER = "registry.example/lockswap:0.2", "registry.example/server"
STANDS_FOR = {"SERVICE": SERVER, "/usr/local/lib:/from": f"{LIBRARY.parent}:/from"}
FORM = """
apiVersion: v1
kind: Pod
metadata:
  name: pod
  annotations: {{io.podman.annotations.init.container.type: always}}
spec:
  restartPolicy: Never
{spec}
"""

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(why_not() is not None, reason=str(why_not())),
    pytest.mark.skipif(not LIBRARY.exists(), reason="the library is not built"),
]


def commands() -> list[str]:
    lines = re.findall(r"^    (docker .*)$", PAGE.replace("\\\n", " "), re.MULTILINE)
    for name, found in STANDS_FOR.items():
        lines = [re.sub(rf"(?<!\S){re.escape(name)}\b", found, line) for line in lines]
    return lines


def check(container: str) -> str:
    """The command that the page has for that."""
    return re.search(r"`(lockswap doctor \$\(docker inspect .*?)`", PAGE)[1].replace("CONTAINER", container)


@pytest.fixture(scope="module")
def podman() -> Iterator[Podman]:
    debian = roots.make("bookworm")
    with tempfile.TemporaryDirectory(prefix="containers-", dir=roots.ROOTS) as name:
        made = Podman(Path(name))
        made.set_up()
        (made.folder / "bin/lockswap").symlink_to(LOCKSWAP)
        try:
            made.import_image(debian, "docker.io/library/debian:12")
            made.build_image(SERVER, 'FROM debian:12\nCMD ["sleep", "600"]\n')
            recipe = f"FROM debian:12\nCOPY {LIBRARY.name} /usr/local/lib/\n"
            made.build_image(WITH_LIBRARY, recipe, LIBRARY)
            yield made
        finally:
            made.run("podman system reset --force")


def test_the_commands_for_docker_give_the_service_the_library(podman: Podman) -> None:
    *prepare, start = commands()
    assert len(prepare) == 2 and start.startswith("docker run ")
    podman.run("\n".join(prepare))
    podman.run(start.replace("docker run ", "docker run --detach --name service ", 1))
    has_loaded(podman.run(check("service")))
    podman.run("docker rm --force --time 0 service")


def test_the_pod_for_kubernetes_gives_the_service_the_library(podman: Podman) -> None:
    (spec,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (podman.folder / "pod.yaml").write_text(FORM.format(spec=textwrap.indent(spec, "  ")))
    podman.run("podman play kube --network host pod.yaml")
    has_loaded(podman.run(check("pod-server")))
    podman.run("podman play kube --down pod.yaml")


def has_loaded(said: str) -> None:
    assert re.search(r"^ok +\S+ \(process \d+\) has loaded /opt/lockswap/liblockswap\.so$", said, re.MULTILINE), said
    assert re.search(r"^ok +it uses rwlock \S+ \(auto\)", said, re.MULTILINE), said
