"""Name servers under dnsperf: rwlocks around zones and caches, a few for each query; bind9 has mutexes."""

import re

from suite.case import case
from suite.stage import Stage

NAMES = 2000
ROUNDS = 15


def ask(stage: Stage, port: int) -> None:
    """Every name so many times; each must be answered. Long waits: the machine may be busy."""
    queries = stage.write("queries", "".join(f"n{n}.test A\n" for n in range(NAMES)))
    output = stage.plain(
        "dnsperf", "-s", "127.0.0.1", "-p", str(port), "-d", queries, "-n", str(ROUNDS), "-c", "4", "-t", "60",
    ).stdout  # fmt: skip
    counted = re.findall(r"Queries (?:sent|completed):\s+(\d+)", output)
    codes = re.search(r"Response codes:\s+(.*)", output)
    stage.need(codes is not None, "dnsperf printed no response codes")
    stage.same(f"{counted} {codes[1]}\n")
    stage.need(counted == [str(NAMES * ROUNDS)] * 2, f"queries sent and answered: {counted}")


# Ends when the server gives the address of ns.test.
ANSWERED = """
import socket, sys, time
query = bytes.fromhex("000100000001000000000000" "026e73" "0474657374" "00" "00010001")
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
    client.settimeout(1)
    client.connect(("127.0.0.1", int(sys.argv[1])))
    while True:
        client.send(query)
        try:
            if client.recv(512)[3] & 15 == 0:
                break
        except TimeoutError:
            pass
        time.sleep(0.05)
"""


def write_zone(stage: Stage) -> None:
    zone = "$TTL 300\n@ SOA ns.test. root.test. 1 3600 600 86400 300\n@ NS ns.test.\nns A 127.0.0.1\n"
    stage.write("test.zone", zone + "".join(f"n{n} A 127.0.0.2\n" for n in range(NAMES)))


@case("unbound", unpacked=["unbound", "dnsperf"], acquisitions=10_000, quick=True, waits=("park", "yield"))
def unbound(stage: Stage) -> None:
    """unbound with two threads answers from a zone of its own"""
    port = stage.port()
    names = stage.write("names", "".join(f'local-data: "n{n}.test. A 127.0.0.2"\n' for n in range(NAMES)))
    config = stage.write("unbound.conf", f"""
        server:
          interface: 127.0.0.1
          port: {port}
          access-control: 127.0.0.0/8 allow
          num-threads: 2
          do-ip6: no
          do-daemonize: no
          username: ""
          chroot: ""
          pidfile: ""
          directory: "{stage.tmp}"
          use-syslog: no
          module-config: "iterator"
          local-zone: "test." static
          include: "{names}"
        remote-control:
          control-enable: no
    """)  # fmt: skip
    with stage.server("unbound", "-d", "-c", config, ready=f"udp:{port}"):
        ask(stage, port)


@case(
    "pdns_server", unpacked=["pdns-server", "pdns-backend-bind", "dnsperf"], acquisitions=10_000, quick=True,
    waits=("park", "yield"),
)  # fmt: skip
def pdns_server(stage: Stage) -> None:
    """PowerDNS with two receivers and a zone file, its packet cache on"""
    port = stage.port()
    write_zone(stage)
    stage.write("bind.conf", f'zone "test" {{ type master; file "{stage.tmp}/test.zone"; }};\n')
    stage.write("pdns.conf", "\n".join([
        "launch=bind", f"bind-config={stage.tmp}/bind.conf", f"module-dir={module_dir(stage)}",
        "local-address=127.0.0.1", f"local-port={port}", f"socket-dir={stage.tmp}", "daemon=no", "guardian=no",
        "receiver-threads=2", "distributor-threads=2", "cache-ttl=60", "write-pid=no", "disable-syslog=yes",
        "security-poll-suffix=", "loglevel=3", "",
    ]))  # fmt: skip
    with stage.server("pdns_server", f"--config-dir={stage.tmp}", ready=f"udp:{port}"):
        ask(stage, port)


def module_dir(stage: Stage) -> str:
    return str(stage.library("pdns/libbindbackend.so").parent)


@case("bind9", unpacked=["bind9", "dnsperf"], acquisitions=0, mutexes=10_000)
def bind9(stage: Stage) -> None:
    """named with two threads answers from a zone of its own, under dnsperf"""
    port = stage.port()
    write_zone(stage)
    config = stage.write("named.conf", f"""
        options {{
          directory "{stage.tmp}";
          pid-file "{stage.tmp}/pid";
          session-keyfile "{stage.tmp}/session.key";
          listen-on port {port} {{ 127.0.0.1; }};
          listen-on-v6 {{ none; }};
          recursion no;
          dnssec-validation no;
        }};
        controls {{ }};
        zone "test" {{ type primary; file "test.zone"; }};
    """)  # fmt: skip
    with stage.server("named", "-f", "-g", "-n", "2", "-c", config, ready=f"udp:{port}"):
        # It listens before it has read its zone.
        stage.plain("python3", "-c", ANSWERED, str(port))
        ask(stage, port)
