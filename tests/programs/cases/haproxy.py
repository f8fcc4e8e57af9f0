"""haproxy ends TLS with OpenSSL and answers by itself."""

from suite.case import case
from suite.stage import Stage
from suite.tls import CERTIFICATE, get, page


@case(
    "haproxy-tls", packages=["openssl"], unpacked=["haproxy"], acquisitions=10_000, quick=True, waits=("park", "yield")
)
def haproxy(stage: Stage) -> None:
    """Two threads, new and resumed sessions of four clients"""
    stage.plain("openssl", *CERTIFICATE)
    pem = stage.write("both.pem", (stage.tmp / "cert.pem").read_text() + (stage.tmp / "key.pem").read_text())
    page(stage, "page.txt")
    port = stage.port()
    config = stage.write(
        "haproxy.cfg",
        f"""
global
  nbthread 2
  tune.bufsize 65536
defaults
  mode http
  timeout client 120s
  timeout connect 120s
  timeout server 120s
frontend tls
  bind 127.0.0.1:{port} ssl crt {pem}
  http-request return status 200 content-type text/plain file {stage.tmp}/page.txt
""",
    )
    with stage.server("haproxy", "-db", "-f", config, ready=f"tcp:{port}"):
        stage.same(get(stage, port, "/", requests=400))
