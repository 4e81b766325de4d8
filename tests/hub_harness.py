"""A server on this machine that speaks the few endpoints of the hub that bundles need."""

import base64
import contextlib
import hashlib
import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

from tests.download_harness import running

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(ThreadingHTTPServer):
    """Repositories by name, each a dictionary of files. The answer for ``truncated_file`` breaks off."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.repositories, self.branches, self.private, self.requests = {}, [], [], []
        self.truncated_file, self.status, self.page, self.redirects = "", None, None, False
        self.sizes = {}  # by file, in place of the right ones

    def add(self, name, folder):
        self.repositories[name] = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.handle_any()

    def do_GET(self):
        self.handle_any()

    def do_POST(self):
        self.handle_any()

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = unquote(urlsplit(self.path).path)
        hub = self.server
        hub.requests.append((self.command, path, self.headers.get("Authorization")))
        if hub.status is not None:
            return self.answer(hub.status, {"error": "not today"})
        if hub.page is not None:
            return self.send(200, hub.page.encode(), "text/html")
        if hub.redirects:
            return self.send(302, b"", "text/html", Location=self.path)
        if path == "/api/repos/create":
            request = json.loads(body)
            name = "/".join(filter(None, [request.get("organization"), request["name"]]))
            hub.private.append(bool(request.get("private") or request.get("visibility") == "private"))
            hub.repositories.setdefault(name, {})
            return self.answer(200, {"url": f"{hub.url}/{name}"})
        if path == "/api/validate-yaml":
            return self.answer(200, {"errors": [], "warnings": []})
        if path == "/api/whoami-v2":
            return self.answer(200, {"name": "owner", "type": "user"})
        if match := re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            return self.send_file(*match.groups())
        match = re.fullmatch(r"/api/models/([^/]+/[^/]+?)(?:/(revision|branch|preupload|commit)/(.+))?", path)
        if match is None or match[1] not in hub.repositories:
            return self.missing("RepoNotFound")
        return self.of_repository(*match.groups(), body)

    def of_repository(self, name, action, revision, body):
        hub = self.server
        if action == "branch":
            hub.branches.append(revision)
            return self.answer(200, {})
        if action == "preupload":
            files = [{"path": file["path"], "uploadMode": "regular"} for file in json.loads(body)["files"]]
            return self.answer(200, {"files": [{**file, "shouldIgnore": False} for file in files]})
        if action == "commit":
            lines = [json.loads(line) for line in body.splitlines()]
            for line in lines:
                if line["key"] == "file":
                    hub.repositories[name][line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            oid = {"commitUrl": f"{hub.url}/{name}/commit/{COMMIT}", "commitOid": COMMIT, "pullRequestUrl": None}
            return self.answer(200, {"success": True, **oid})
        if revision not in (None, "main", "small", COMMIT):
            return self.missing("RevisionNotFound")
        sizes = {file: len(data) for file, data in hub.repositories[name].items()} | hub.sizes
        files = [{"rfilename": file, "size": size} for file, size in sizes.items()]
        return self.answer(200, {"id": name, "sha": COMMIT, "siblings": files, "tags": [], "private": False})

    def send_file(self, name, revision, file):
        hub = self.server
        data = hub.repositories.get(name, {}).get(file)
        if data is None:
            return self.missing("EntryNotFound")
        start = int(re.fullmatch(r"bytes=(\d+)-.*", self.headers.get("Range") or "bytes=0-")[1])
        self.send_response(206 if start else 200)
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{hashlib.sha1(data).hexdigest()}"')
        self.send_header("Accept-Ranges", "bytes")
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data[start:] if file != hub.truncated_file else b"")
            self.close_connection = file == hub.truncated_file

    def missing(self, code):
        self.send_response(404)
        self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def answer(self, status, value):
        self.send(status, json.dumps(value).encode(), "application/json")

    def send(self, status, body, kind, **headers):
        self.send_response(status)
        for name, content in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, content)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *args):
        pass


@contextlib.contextmanager
def serving(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with running(Hub()) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        yield hub
