"""Headless Chromium, driven by the W3C's WebDriver protocol through chromedriver."""

from __future__ import annotations

import base64
import contextlib
import json
import re
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATIENCE = 30  # seconds that a page has for what must appear
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the protocol's own key of a reference


def is_installed() -> bool:
    return shutil.which("chromedriver") is not None


@dataclass(frozen=True)
class Browser:
    """A window of a browser."""

    address: str  # of its session

    def _send(self, path: str, **body: Any) -> Any:
        request = urllib.request.Request(self.address + path, json.dumps(body).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)["value"]

    def _devtools(self, command: str, **parameters: Any) -> None:
        self._send("/goog/cdp/execute", cmd=command, params=parameters)

    def show(self, url: str, *, width: int, scheme: str = "light") -> None:
        """Open a page in a window so wide, in a light or dark scheme."""
        self._devtools(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600
        )
        self._devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self._send("/url", url=url)

    def run(self, script: str, *arguments: Any) -> Any:
        """Return what JavaScript returns."""
        return self._send("/execute/sync", script=script, args=arguments)

    def wait(self, script: str) -> Any:
        """Return the first value of JavaScript that is true."""
        deadline = time.monotonic() + PATIENCE
        while not (value := self.run(script)):
            assert time.monotonic() < deadline, f"never true: {script}"
            time.sleep(0.05)
        return value

    def element(self, selector: str) -> str:
        return self._send("/element", using="css selector", value=selector)[_ELEMENT]

    def type(self, selector: str, text: str) -> None:
        element = self.element(selector)
        self._send(f"/element/{element}/clear")
        self._send(f"/element/{element}/value", text=text)

    def click(self, selector: str) -> None:
        self._send(f"/element/{self.element(selector)}/click")

    def console(self) -> list[str]:
        """Return what the page has complained about since the last call."""
        return [entry["message"] for entry in self._send("/se/log", type="browser")]

    def picture(self, path: Path) -> None:
        with urllib.request.urlopen(f"{self.address}/screenshot", timeout=PATIENCE) as answer:
            path.write_bytes(base64.b64decode(json.load(answer)["value"]))


@contextlib.contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Start Chromium with an empty profile."""
    driver = ["chromedriver", "--port=0"]
    with subprocess.Popen(driver, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            lines = iter(process.stdout.readline, "")
            port = next(match[1] for line in lines if (match := re.search(r"successfully on port (\d+)", line)))
            options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]}
            wishes = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
            driver_address = Browser(f"http://127.0.0.1:{port}")
            session = driver_address._send("/session", capabilities={"alwaysMatch": wishes})
            window = Browser(f"http://127.0.0.1:{port}/session/{session['sessionId']}")
            try:
                yield window
            finally:  # chromedriver alone would leave the browser behind
                request = urllib.request.Request(window.address, method="DELETE")
                urllib.request.urlopen(request, timeout=PATIENCE).close()
        finally:
            process.terminate()
