"""What cases of TLS servers share: a certificate, a page, and a client that looks at what it gets."""

import sys
from pathlib import Path

from suite.stage import Stage

# Arguments of openssl: key.pem and cert.pem, good for localhost for some days.
CERTIFICATE = (
    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "key.pem", "-out",
    "cert.pem", "-days", "9", "-subj", "/CN=localhost",
)  # fmt: skip


def page(stage: Stage, name: str) -> None:
    stage.write(name, "".join(f"{line} of a page\n" for line in range(2000)))


def get(stage: Stage, port: int, path: str, requests: int) -> str:
    """A digest of each different answer to so many requests from four threads."""
    client = Path(__file__).with_name("https_client.py")
    return stage.plain(sys.executable, client, str(port), path, str(requests)).stdout
