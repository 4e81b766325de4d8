"""A peer in a process of its own, with the Python of the peers' environment.

``train`` fits and saves a peer, and scores it. ``serve`` loads it and measures what predictions cost.
"""

from __future__ import annotations

import importlib.metadata
import platform
import time
from pathlib import Path
from typing import Any

from benchmarks.frontier.peer import Peer, accuracy
from benchmarks.frontier.peers import PEERS, SERVED
from dense_lstm_zoo import machine
from dense_lstm_zoo.measuring.latency import time_calls
from dense_lstm_zoo.measuring.process import answer_requests

SIZES = (1, 32)


def train(peer: str, folder: str, parts: dict[str, Any]) -> dict[str, Any]:
    """Fit a peer, save it to ``folder``, and return its scores and what it took."""
    model = PEERS[peer]()
    started = time.perf_counter()
    model.fit(parts["train"], parts["dev"])
    seconds = time.perf_counter() - started
    dev, test = (accuracy(model.predict(parts[name][0]), parts[name][1]) for name in ("dev", "test"))
    model.save(Path(folder))
    scores = {"dev_accuracy": dev, "test_accuracy": test}
    return {**scores, "train_s": round(seconds, 1), "settings": model.settings}


def serve(peer: str, folder: str, texts: list[Any], repeats: int) -> dict[str, Any]:
    """Load a peer and return what its predictions cost."""
    model = SERVED[peer]()
    model.load(Path(folder))
    model.predict(texts[:1])
    costs: dict[str, Any] = {"start_s": machine.process_age(), "versions": _versions(model)}
    for size in SIZES:
        times = time_calls(model.predict, texts, size, repeats)
        costs |= {f"{name}_{size}": round(times[name], 3) for name in ("p50_ms", "p99_ms")}
    return {**costs, "peak_mb": round(machine.peak_mb(), 1)}


def _versions(model: Peer) -> str:
    packages = {name: importlib.metadata.version(name) for name in (*model.packages, "numpy")}
    return " ".join(f"{name}={version}" for name, version in {"python": platform.python_version(), **packages}.items())


if __name__ == "__main__":
    answer_requests({"train": train, "serve": serve})
