"""Headless Chromium, driven by its own DevTools protocol through a pair of pipes, with nothing between."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PATIENCE = 30  # seconds that a page has for what must appear
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "chrome-headless-shell")
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe")
COMPLAINTS = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")


def binary() -> str | None:
    """Return the browser: that of ``$CHROME_BIN``, else the first of its names on the path."""
    return shutil.which(os.environ.get("CHROME_BIN", "")) or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A page of a browser that reads commands from one pipe and writes answers and events to another."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._number, self._rest, self._session = 0, b"", {}
        self._complaints: list[str] = []
        target = self._send("Target.createTarget", url="about:blank")
        self._session = {"sessionId": self._send("Target.attachToTarget", flatten=True, **target)["sessionId"]}
        for domain in ("Page", "Runtime", "Log"):
            self._send(f"{domain}.enable")

    def _send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return the answer to a command, and note the complaints that come before it."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters, **self._session}
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while (answer := self._receive()).get("id") != self._number:
            if answer.get("method") in COMPLAINTS:
                self._complaints.append(json.dumps(answer["params"]))
        assert "error" not in answer, (method, answer)
        return answer["result"]

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            assert select.select([self._answers], [], [], PATIENCE)[0], "the browser does not answer"
            piece = os.read(self._answers, 1 << 16)
            assert piece, "the browser has ended"
            self._rest += piece
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def show(self, url: str, *, width: int, scheme: str = "light") -> None:
        """Open a page in a window of a width, in a light or dark scheme."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self._send("Emulation.setDeviceMetricsOverride", **size)
        self._send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self._send("Page.navigate", url=url)
        self.wait(f"return location.href === {json.dumps(url)} && document.readyState === 'complete'")

    def run(self, script: str, *arguments: Any) -> Any:
        """Return what JavaScript returns."""
        expression = f"(function () {{ {script} }})(...{json.dumps(arguments)})"
        answer = self._send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, (script, answer)
        return answer["result"].get("value")

    def wait(self, script: str) -> Any:
        """Return the first value of JavaScript that is neither null nor false."""
        deadline = time.monotonic() + PATIENCE
        while (value := self.run(script)) in (None, False):  # an element is {} here
            assert time.monotonic() < deadline, f"never true: {script}"
            time.sleep(0.05)
        return value

    def type(self, selector: str, text: str) -> None:
        """Put a text in the place of that of a field."""
        self.run("const field = document.querySelector(arguments[0]); field.focus(); field.select()", selector)
        self._send("Input.insertText", text=text)

    def click(self, selector: str, number: int = 0) -> None:
        """Press the mouse on the element of a number that a selector finds."""
        place = (
            "const one = document.querySelectorAll(arguments[0])[arguments[1]];"
            "one.scrollIntoView({ block: 'center' });"
            "const box = one.getBoundingClientRect(); return { x: box.x + box.width / 2, y: box.y + box.height / 2 }"
        )
        point = {**self.run(place, selector, number), "button": "left", "clickCount": 1}
        for event in ("mousePressed", "mouseReleased"):
            self._send("Input.dispatchMouseEvent", type=event, **point)

    def console(self) -> list[str]:
        """Return what the page has complained about since the last call."""
        complaints, self._complaints = self._complaints, []
        return complaints

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self._send("Page.captureScreenshot")["data"]))


# The protocol's file descriptors, 3 and 4, which the process that becomes the browser gives itself.
_START = """
import fcntl, os, sys
pipes = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]]
for number, pipe in zip((3, 4), pipes):
    os.dup2(pipe, number)
os.execv(sys.argv[3], sys.argv[3:])
"""


@contextlib.contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Start Chromium with an empty profile."""
    its_commands, commands = os.pipe()
    answers, its_answers = os.pipe()
    ends = (its_commands, its_answers)
    command = [sys.executable, "-c", _START, *map(str, ends), str(binary()), *OPTIONS, f"--user-data-dir={profile}"]
    with subprocess.Popen(command, pass_fds=ends, stderr=subprocess.DEVNULL) as process:
        try:
            for end in ends:
                os.close(end)
            yield Browser(commands, answers)
        finally:
            process.terminate()
            os.close(commands)
            os.close(answers)
