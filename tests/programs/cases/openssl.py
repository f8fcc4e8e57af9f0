"""OpenSSL 3: hundreds of read locks for a handshake, eight for a digest."""

import re
import sys

from suite.case import WAITS, case
from suite.stage import Stage
from suite.tls import CERTIFICATE, get, page

PACKAGES = ("openssl",)


@case("openssl-s_server", packages=PACKAGES, acquisitions=10_000, waits=WAITS)
def s_server(stage: Stage) -> None:
    """s_server under s_time, then a page fetched by several clients"""
    stage.plain("openssl", *CERTIFICATE)
    page(stage, "page.txt")
    port = stage.port()
    with stage.server(
        "openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert", "cert.pem", "-key", "key.pem", "-WWW", "-quiet",
        ready=f"tcp:{port}",
    ):  # fmt: skip
        load = stage.plain(
            "openssl", "s_time", "-connect", f"127.0.0.1:{port}", "-new", "-time", "1", "-www", "/page.txt"
        )
        stage.same(get(stage, port, "/page.txt", requests=40))
    done = re.search(r"(\d+) connections in \d+ real seconds, (\d+) bytes read per connection", load.stdout)
    stage.need(done and int(done[1]) > 0, "s_time made no connection")
    stage.same(f"{done[2]} bytes read per connection")


@case("openssl-tools", packages=PACKAGES, acquisitions=100, quick=True, waits=WAITS)
def tools(stage: Stage) -> None:
    """A digest, a key, a signature and its check"""
    text = stage.write("text", "lockswap\n" * 10_000)
    stage.same(stage.swapped("openssl", "dgst", "-sha256", "-r", text.name).stdout)
    stage.swapped("openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", "key.pem")
    stage.swapped("openssl", "dgst", "-sha256", "-sign", "key.pem", "-out", "signature", text.name)
    stage.swapped("openssl", "pkey", "-in", "key.pem", "-pubout", "-out", "public.pem")
    check = stage.swapped("openssl", "dgst", "-sha256", "-verify", "public.pem", "-signature", "signature", text.name)
    stage.same(check.stdout)


DIGESTS = """
import hashlib, threading
found = {}
def work(me):
    for i in range(2000):
        found[me, i] = hashlib.new("sha256", b"%d" % i + b"x" * 3000).hexdigest()
threads = [threading.Thread(target=work, args=(me,)) for me in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
import ssl
ssl.create_default_context()
print(hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest())
"""


@case("openssl-digest-threads", packages=PACKAGES, acquisitions=8000, quick=True, waits=WAITS)
def digest_threads(stage: Stage) -> None:
    """Digests from four threads of Python, which lets go of its own lock for them"""
    stage.same(stage.swapped(sys.executable, "-c", DIGESTS).stdout)
