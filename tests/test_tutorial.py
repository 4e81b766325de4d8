"""The tutorial, step by step, as a reader types it: what it prints is what the page shows, numbers aside."""

import contextlib
import os
import re
import shlex
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests import pages
from tests.fleet_harness import free_address

PAGE = pages.ROOT / "docs" / "tutorial.md"
NUMBER = re.compile(r"\d[\d,.]*")
PRESETS = pages.ROOT / "presets" / "dense_lstm_zoo_presets"


def pattern(line: str) -> str:
    """The line as a regular expression, with any numbers and anything for an ellipsis."""
    parts = (r"\d[\d,.]*".join(map(re.escape, NUMBER.split(part))) for part in line.split("..."))
    return re.sub(r"(\\ )+", r"\\s+", ".*".join(parts))


class Reader:
    """Types the commands of a page in a folder, and reads what they print on both streams."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_address().rpartition(":")[2]
        environment = {"DENSE_LSTM_ZOO_PRESETS": str(PRESETS), "PYTHONPATH": str(pages.ROOT), "COLUMNS": "200"}
        self.options = {"cwd": folder, "env": {**os.environ, **environment}, "text": True}
        self.server: subprocess.Popen[str] | None = None

    def type(self, command: str) -> str:
        command = command.replace("8000", self.port)
        if command.startswith("dense-lstm-zoo "):
            command = f"{shlex.quote(sys.executable)} -m dense_lstm_zoo {command.partition(' ')[2]}"
        if " serve " in command:
            self.server = subprocess.Popen(["sh", "-c", f"exec {command}"], **self.options)
            wait_for(f"http://127.0.0.1:{self.port}/readyz")
            return ""
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.run(["sh", "-c", command], timeout=900, **streams, **self.options).stdout


def wait_for(address: str) -> None:
    for _ in range(600):
        with contextlib.suppress(OSError), urllib.request.urlopen(address) as answer:
            if answer.status == 200:
                return
        time.sleep(0.1)
    raise TimeoutError(address)


@pytest.mark.slow
def test_every_step_of_the_tutorial_prints_what_the_page_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reader, output = Reader(tmp_path), ""
    try:
        for token in pages.tokens(PAGE):
            language = token.info.strip() if token.type == "fence" else ""
            if language == "python":
                exec(compile(token.content, str(PAGE), "exec"), {})
            elif language in ("shell", "sh"):
                output = "".join(map(reader.type, token.content.splitlines()))
            elif language == "text":
                for line in token.content.splitlines():
                    assert re.search(rf"^{pattern(line)}\s*$", output, re.M), f"{line}\n\nis not in\n\n{output}"
    finally:
        if reader.server:
            reader.server.terminate()
            reader.server.wait(30)


def test_a_line_is_the_same_with_other_numbers_and_not_with_other_words():
    line = "    2/30    0.6875    56.0 %    60.1 % *     22 s   14 min"
    assert re.fullmatch(pattern(line), line.replace("56.0", "7.25").replace("14 min", "3 min"))
    assert not re.fullmatch(pattern(line), line.replace("min", "h"))
    assert re.fullmatch(
        pattern("error: a.csv ... (--encoding cp1252)."), "error: a.csv is not ... (--encoding cp1252)."
    )
