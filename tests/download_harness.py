"""Servers on this machine: of a folder, and of one file that can break off, stall or ignore a range."""

import contextlib
import functools
import hashlib
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer

from dense_lstm_zoo.data import download as download_module

CONTENT = bytes(range(256)) * 2000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """A server of CONTENT. Each number in ``cuts`` breaks off one answer after that many bytes."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/corpus.txt"
        self.ranges, self.cuts, self.statuses = [], [], []
        self.honours_ranges = True
        self.shift = 0
        self.most = None  # bytes of an answer to a range
        self.page = b""  # of HTML, in place of every answer
        self.content_type = "text/plain"
        self.length = None  # what Content-Length says, in place of the truth
        self.location = None  # where every answer redirects to
        self.pause = 0.0  # seconds in the middle of an answer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        byte_range = self.headers.get("Range")
        server.ranges.append(byte_range)
        if server.statuses and (status := server.statuses.pop(0)) != 200:
            self.send_error(status)
            return
        if server.location:
            self.send_response(302)
            self.send_header("Location", server.location)
            self.end_headers()
            return
        if server.page:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            if server.length:
                self.send_header("Content-Length", server.length)
            self.end_headers()
            self.wfile.write(server.page)
            return
        start = int(re.fullmatch(r"bytes=(\d+)-", byte_range)[1]) if byte_range and server.honours_ranges else 0
        if start >= len(CONTENT):
            self.send_error(416)
            return
        body = CONTENT[start:][: server.most if start else None]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start + server.shift}-{start + len(body) - 1}/{len(CONTENT)}")
        self.send_header("Content-Type", server.content_type)
        self.send_header("Content-Length", server.length or str(len(body)))
        self.end_headers()
        body = body[: server.cuts.pop(0) if server.cuts else None]
        self.wfile.write(body[: len(body) // 2])
        time.sleep(server.pause)
        self.wfile.write(body[len(body) // 2 :])

    def log_message(self, *args):
        pass


@contextlib.contextmanager
def running(server):
    """Run a server in a thread while the block does."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@contextlib.contextmanager
def serving(monkeypatch):
    """A server that runs while the block does, and is asked again at once."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(download_module, "WAIT_SECONDS", 0)
    with running(Server()) as server:
        yield server


@contextlib.contextmanager
def serving_folder(monkeypatch, folder):
    """A server of a folder's files that runs while the block does. Yields its address."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(download_module, "WAIT_SECONDS", 0)
    monkeypatch.setattr(SimpleHTTPRequestHandler, "log_message", lambda *args: None)
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(folder))
    with running(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as server:
        yield f"http://127.0.0.1:{server.server_port}"
