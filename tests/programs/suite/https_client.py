"""https_client.py PORT PATH REQUESTS: gets a page from four threads, each time over a new connection, and prints a line
for each different body: how often it came, its size, its digest. TLS sessions are resumed every other time."""

import hashlib
import ssl
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from socket import create_connection

port, path, requests = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE


def fetch(share: int) -> list[bytes]:
    bodies, session = [], None
    for _ in range(share):
        with (
            create_connection(("127.0.0.1", port)) as plain,
            context.wrap_socket(plain, server_hostname="localhost", session=session) as connection,
        ):
            connection.sendall(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
            answer = b""
            while chunk := connection.recv(65536):
                answer += chunk
            session = connection.session if session is None else None
        bodies.append(answer.partition(b"\r\n\r\n")[2])
    return bodies


with ThreadPoolExecutor(4) as pool:
    found = Counter(body for bodies in pool.map(fetch, [requests // 4] * 4) for body in bodies)
for body, count in sorted(found.items()):
    print(f"{count} times {len(body)} bytes {hashlib.sha256(body).hexdigest()}")
