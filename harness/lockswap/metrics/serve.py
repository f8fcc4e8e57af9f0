"""`lockswap metrics --listen`: serves the scrapes of a folder by HTTP, from a process of its own."""

import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.metrics.exposition import OPENMETRICS, TEXT
from lockswap.metrics.folder import clean, of_folder
from lockswap.metrics.labels import Labels
from lockswap.metrics.scrape import as_text


def run(folder: str, address: str, removes: bool) -> int:
    if folder.isdigit():
        raise UserError("--listen serves a folder, with all processes in it; name the folder")
    of_folder(Path(folder))  # an error now if there is none
    host, _, port = address.rpartition(":")
    if not port.isdigit():
        raise UserError(f"'{address}' is not an address; write HOST:PORT, as in localhost:9464")
    try:
        server = _Server((host.strip("[]") or "localhost", int(port)), _Handler)
    except (OSError, OverflowError) as error:
        raise UserError(f"can't listen on {address}: {error}") from error
    server.folder, server.removes = Path(folder), removes
    print(f"lockswap metrics: http://{host or 'localhost'}:{server.server_port}/metrics serves {folder}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
    return 0


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    folder: Path
    removes: bool

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        self._labels = Labels()
        self._one_at_a_time = threading.Lock()

    def scrape(self, openmetrics: bool) -> str:
        with self._one_at_a_time:
            found = of_folder(self.folder)
            text = as_text(found, self._labels, openmetrics)
            if self.removes:
                clean(found)
            return text


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        if self.path.partition("?")[0] not in ("/metrics", "/"):
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        openmetrics = "application/openmetrics-text" in self.headers.get("Accept", "")
        try:
            body = self.server.scrape(openmetrics).encode()
        except UserError as error:
            self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR, explain=str(error))
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", OPENMETRICS if openmetrics else TEXT)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """A line for each scrape would fill a journal."""
