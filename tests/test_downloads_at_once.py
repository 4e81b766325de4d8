"""Processes that want the same file at once: one downloads it, the others wait, and nothing else is left."""

import contextlib
import hashlib
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests import download_harness
from tests.bundle_harness import bundle
from tests.test_archives import PUBLISHED, archive

# A process says that it is ready, and goes on when it is told to.
START = """
import sys
from pathlib import Path
from dense_lstm_zoo.bundles import archives
from dense_lstm_zoo.data import sources
from dense_lstm_zoo.data.download import download, download_member

url, sha256, folder = *sys.argv[1:3], Path(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
"""
FILE = 'download(url, folder / "corpus.txt", sha256)'
MEMBER = 'download_member(url + ".zip", "folder/corpus.txt", folder / "{}", sha256)'
BUNDLE = 'archives.fetch(f"{url}#sha256={sha256}")'
PREPARED = """
def prepare(archive, folder, progress):
    (folder / "a.txt").write_bytes(archive.read_bytes())

file = sources.SourceFile("a.txt", url, sha256, 1 << 30)
sources.find_files(sources.Source("mine", (file,), print, prepare=prepare))
"""


@pytest.fixture
def server(monkeypatch):
    with download_harness.serving(monkeypatch) as server:
        server.pause = 1.0
        yield server


def at_once(scripts, server, sha256, folder):
    """Run scripts in processes that begin together. Return their texts on stderr."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder)}
    environment.pop("DENSE_LSTM_ZOO_DATA", None)
    with contextlib.ExitStack() as stack:
        started = []
        for script in scripts:
            command = [sys.executable, "-c", START + script, server.url, sha256, str(folder)]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
            process = stack.enter_context(subprocess.Popen(command, env=environment, text=True, **pipes))
            stack.callback(process.kill)
            started.append(process)
        for process in started:
            assert process.stdout.readline() == "ready\n"
        for process in started:
            process.stdin.write("go\n")
            process.stdin.flush()
        errors = [child.communicate(timeout=60)[1] for child in started]
        assert [child.returncode for child in started] == [0] * len(started), errors
        return errors


def left_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("scripts", "files"),
    [
        ([FILE] * 3, ["corpus.txt"]),
        ([PREPARED] * 2, ["dense_lstm_zoo/mine/a.txt"]),
    ],
)
def test_one_process_downloads_a_file_that_several_want(server, tmp_path, scripts, files):
    errors = at_once(scripts, server, download_harness.SHA256, tmp_path)
    assert server.ranges == [None]
    assert left_in(tmp_path) == files
    assert (tmp_path / files[0]).read_bytes() == download_harness.CONTENT
    name = "corpus.txt" if scripts[0] == FILE else "mine"
    waited = [text.count(f"{name}: waiting for another process that makes it\n") for text in errors]
    assert (min(waited), max(waited)) == (0, 1)


def test_two_files_of_one_archive_need_one_download(server, tmp_path, monkeypatch):
    monkeypatch.setattr(download_harness, "CONTENT", archive())
    at_once([MEMBER.format("a.txt"), MEMBER.format("b.txt")], server, PUBLISHED, tmp_path)
    assert server.ranges == [None]
    assert left_in(tmp_path) == ["a.txt", "b.txt", "corpus.txt.zip"]


def test_one_process_unpacks_a_bundle_that_two_want(server, tmp_path, monkeypatch):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as target:
        for file in bundle("bilstm").save(tmp_path / "saved").iterdir():
            target.write(file, file.name)
    monkeypatch.setattr(download_harness, "CONTENT", packed.getvalue())
    sha256 = hashlib.sha256(packed.getvalue()).hexdigest()
    at_once([BUNDLE] * 2, server, sha256, tmp_path / "cache")
    assert server.ranges == [None]
    folder = tmp_path / "cache" / "dense_lstm_zoo" / "presets" / "archives"
    assert [path.name for path in folder.iterdir()] == [sha256]
    assert left_in(folder / sha256) == left_in(tmp_path / "saved")


def test_an_archive_that_is_gone_when_it_is_refused_is_no_other_error(server, tmp_path, monkeypatch):
    from dense_lstm_zoo.data import download

    def fail(files, *_):
        Path(files.filename).unlink()
        raise ValueError("it is damaged")

    server.pause = 0
    monkeypatch.setattr(download_harness, "CONTENT", archive())
    monkeypatch.setattr(download, "_unpack", fail)
    with pytest.raises(ValueError, match="is not the published archive: it is damaged"):
        download.download_member(server.url, "folder/corpus.txt", tmp_path / "a.txt", PUBLISHED, progress=False)
    assert left_in(tmp_path) == []
