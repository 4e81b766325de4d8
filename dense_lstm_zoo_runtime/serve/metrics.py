"""The content of ``GET /metrics``: one registry per server, in Prometheus' text format."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, PlatformCollector, ProcessCollector

from dense_lstm_zoo_runtime.serve.batching import Batcher
from dense_lstm_zoo_runtime.serve.settings import Settings

_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_TEXTS = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """Counts of requests, refusals, texts and batches, times, and the process' memory (Linux).

    Args:
        settings: Shown as the labels of ``zoo_server_info``, with the versions of what answers.
    """

    def __init__(self, settings: Settings) -> None:
        self.registry = registry = CollectorRegistry()
        info = {name: str(value) for name, value in vars(settings).items() if name not in ("models", "host", "port")}
        Info("zoo_server", "The server's settings and versions.", registry=registry).info(info | _versions())
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        self.requests = Counter("zoo_requests", "Requests answered.", ["path", "status"], registry=registry)
        self.seconds = Histogram(
            "zoo_request_seconds", "Time from a request to its answer.", ["path"], buckets=_SECONDS, registry=registry
        )
        self.rejected = Counter("zoo_rejected", "Requests refused, by reason.", ["reason"], registry=registry)
        self.in_progress = Gauge("zoo_requests_in_progress", "Requests not answered yet.", registry=registry)
        self.texts = Counter("zoo_texts", "Texts answered.", ["model", "operation"], registry=registry)
        self.batches = Histogram(
            "zoo_batch_texts", "Texts predicted together.", ["model", "operation"], buckets=_TEXTS, registry=registry
        )
        self.queue = Gauge("zoo_queue_texts", "Texts that wait.", ["model", "operation"], registry=registry)

    def batch_counter(self, model: str, operation: str) -> Callable[[int], None]:
        """Return what is called with the number of texts of each batch."""
        batches, texts = self.batches.labels(model, operation), self.texts.labels(model, operation)

        def count(size: int) -> None:
            batches.observe(size)
            texts.inc(size)

        return count

    def watch_queue(self, model: str, operation: str, batcher: Batcher) -> None:
        """Let the queue's length be asked when the metrics are read."""
        self.queue.labels(model, operation).set_function(lambda: batcher.waiting)


def _versions() -> dict[str, str]:
    """Return the versions of what answers, by distribution. One that is run from a folder has none."""
    versions = {}
    for name in ("dense-lstm-zoo-runtime", "onnxruntime", "numpy", "fastapi", "uvicorn"):
        try:
            versions[name.replace("-", "_")] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions
