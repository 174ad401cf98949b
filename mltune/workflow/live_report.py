"""`mltune report --live`: the page of a running search, for browsers on this host."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from mltune.errors import UsageError
from mltune.report import render
from mltune.run.digest import digest
from mltune.run.run import Run
from mltune.workflow.report import live_content

REFRESH_SECONDS = 5
HOST = "127.0.0.1"


class LivePage:
    """The page of a run as it is now; made again only when the run has changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._state = ""
        self._page = b""
        self._lock = threading.Lock()

    def read(self) -> bytes:
        """Return the page.

        Raises:
            UsageError: when the run cannot be read.
        """
        with self._lock:
            if (state := digest(self._folder)) != self._state:
                with Run.open(self._folder) as run:
                    rows = tuple(run.store.measurements())
                    content = live_content(self._folder, run.info, rows, REFRESH_SECONDS)
                self._page, self._state = render(content).encode(), state
            return self._page


@contextmanager
def serve(folder: Path, port: int) -> Iterator[tuple[str, Callable[[], None]]]:
    """Serve the page of a run to browsers on this host only.

    Args:
        folder: of the run.
        port: to listen on; 0 for any free port.

    Yields:
        The page's address, and a function that serves it until it is interrupted.

    Raises:
        UsageError: when there is no such run, or the port is taken.
    """
    page = LivePage(folder)
    page.read()  # reports a problem of the run at once
    try:
        server = ThreadingHTTPServer((HOST, port), _handler(page))
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"report: --port {port}: {reason}") from error
    is_running = False

    def run() -> None:
        nonlocal is_running
        is_running = True
        server.serve_forever()

    with server:
        try:
            yield f"http://{HOST}:{server.server_address[1]}/", run
        finally:
            if is_running:  # in another thread, which would ask the closed socket without a pause
                server.shutdown()


def _handler(page: LivePage) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers every request with the page."""

        def do_GET(self) -> None:
            """Answer with the page."""
            if self.path != "/":
                self.send_error(404)
                return
            try:
                data = page.read()
            except UsageError as error:
                self.send_error(503, explain=str(error))
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Log no requests."""

    return Handler
