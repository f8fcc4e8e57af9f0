"""Ports on this machine: one that is free, and whether a process listens on one. Asks the kernel, sends nothing."""

import random
import socket
from pathlib import Path

_LISTEN = "0A"
# Ports without other servers: above the registered ones that matter, below those that the kernel gives to clients.
_LOWEST = 10_000


def free() -> int:
    """A port that no process uses, for TCP and UDP. The kernel does not give it to clients meanwhile."""
    highest = _first_client_port() - 1
    if highest - _LOWEST < 1000:
        highest = 65_535
    for _ in range(1000):
        port = random.randint(_LOWEST, highest)
        if _bindable(port, socket.SOCK_STREAM) and _bindable(port, socket.SOCK_DGRAM):
            return port
    raise OSError("no free port found")


def _first_client_port() -> int:
    try:
        return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError):
        return 32_768


def _bindable(port: int, kind: socket.SocketKind) -> bool:
    with socket.socket(socket.AF_INET, kind) as probe:
        try:
            probe.bind(("0.0.0.0", port))  # any address: conflicts with every user of the port
        except OSError:
            return False
    return True


def used(port: int, protocol: str) -> bool:
    """TCP: is there a socket that listens on the port, so that connections are accepted? UDP: is one bound to it?"""
    for version in ("", "6"):
        try:
            lines = Path(f"/proc/net/{protocol}{version}").read_text().splitlines()[1:]
        except OSError:  # no IPv6 here
            continue
        for line in lines:
            _, local, _, state = line.split()[:4]
            if int(local.rpartition(":")[2], 16) == port and (protocol == "udp" or state == _LISTEN):
                return True
    return False
