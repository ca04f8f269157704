"""A small site that writes down what is sent to it."""

import threading
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Recorder(BaseHTTPRequestHandler):
    """Writes down what comes, and answers with the status in the query, else 200."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        self.server.seen[self.headers["X-Forwarded-For"]].append((self.command, self.path))
        if "drop" in self.path:
            self.close_connection = True
            return
        status = int(self.path.partition("status=")[2] or 200)
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()
        # As idle connections end: the client is not told.
        self.close_connection = "hangup" in self.path

    do_GET = do_POST = do_HEAD = answer

    def log_message(self, *args):
        pass


@pytest.fixture
def recorder():
    """A site on a free port; its `seen` holds, for each client, the requests in the order in which they came."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Recorder) as server:
        server.daemon_threads = True
        server.seen = defaultdict(list)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()
