"""deploy/runtime: the load test, of servers that close connections, end or are not there."""

import contextlib
import http.server
import socket
import sys
import threading

import pytest

from deploy.runtime import load


@contextlib.contextmanager
def closing(*kinds):
    """A server that treats its requests in turn as ``kinds`` say: "answer", "close" without one, or "both"."""
    connections = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.answer()

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            kind = kinds[len(connections) % len(kinds)]
            connections.append(kind)
            self.close_connection = kind != "answer"
            if kind != "close":
                self.answer()

        def answer(self):
            self.send_response(200)
            self.send_header("Content-Length", "2")
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def run(url, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["load.py", "--url", url, "--requests=8", "--warm-up=4", "--clients=1"])
    return load.main()


@pytest.mark.parametrize(
    ("kinds", "lost"), [(("answer",), "0"), (("both",), "0"), (("answer", "close"), "4"), (("answer", "both"), "0")]
)
def test_requests_that_a_server_loses_are_counted_and_the_others_go_on(kinds, lost, monkeypatch, capsys):
    with closing(*kinds) as url:
        assert run(url, monkeypatch) == (lost != "0")
    summary = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines() if " " in line.strip())
    assert (summary["requests"].strip(), summary["not_200"].strip()) == ("8", lost)


def test_a_server_that_answers_nothing_or_is_not_there_is_told_on_one_line(monkeypatch, capsys):
    with closing("close") as url:
        assert run(url, monkeypatch) == 1
    assert capsys.readouterr().err == (
        f"error: {url}: none of 8 requests was answered: the server closed their connections.\n"
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}"
        assert run(nobody, monkeypatch) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"error: {nobody}: ")
    assert error.count("\n") == 1


def test_the_help_says_how_long_a_load_test_runs():
    described = load.parser().format_help()
    assert "seconds to run at most (default 30)" in " ".join(described.split())
    assert load.parser().parse_args([]).seconds == 30
