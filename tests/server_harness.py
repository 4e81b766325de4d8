"""The runtime's HTTP server on a free port, over predictors that a test can stop, watch and make fail."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import uvicorn

from dense_lstm_zoo_runtime.answers import Explanation, Prediction, Score, TaggedSentence
from dense_lstm_zoo_runtime.serve.app import create_app
from dense_lstm_zoo_runtime.serve.models import serve
from dense_lstm_zoo_runtime.serve.protocol import HalfClosing
from dense_lstm_zoo_runtime.serve.settings import Settings
from dense_lstm_zoo_runtime.spans import SpanReader

PATIENCE = 30  # seconds that a test waits for what must happen


@dataclass
class Classifier:
    """A model of even and odd lengths. The text "bad" makes it fail, and ``gate`` stops it."""

    task = "classification"
    model = "dc_bilstm"
    labels = ("even", "odd")
    batches: list[list[str]] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)  # of explanations
    gate: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.gate.set()

    def predict(self, texts: Sequence[str]) -> list[Prediction]:
        self.batches.append(list(texts))
        assert self.gate.wait(PATIENCE)
        if "bad" in texts:
            raise RuntimeError("a fault inside the model")
        labels = [self.labels[len(text) % 2] for text in texts]
        return [
            Prediction(t, x, 0.75, {"even": 0.25, "odd": 0.25} | {x: 0.75}) for t, x in zip(texts, labels, strict=True)
        ]

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([[len(text), 0.5] for text in texts], np.float32)

    def explain_steps(self, text: str, *, label: str | None = None) -> Iterator[Explanation | None]:
        """Explain a text, a step for each word. Capitals count against the label."""
        words = text.split()
        for word in words:
            self.steps.append(word)
            assert self.gate.wait(PATIENCE)
            yield None
        (prediction,) = self.predict([text])
        effects = [-1.0 if word.isupper() else 2.0 if word in ("good", "fine") else 0.0 for word in words]
        in_vocabulary = [word != "zzz" for word in words]
        shares = prediction.probabilities
        label = label or prediction.label
        yield Explanation(text, label, shares[label], shares, words, effects, in_vocabulary, 1)


class Tagger:
    task = "tagging"
    model = "gated_skip_tagger"
    labels = ("X",)

    def predict(self, texts: Sequence[Any]) -> list[TaggedSentence]:
        sentences = [text.split() if isinstance(text, str) else text for text in texts]
        return [TaggedSentence(tokens, ["X"] * len(tokens), [1.0] * len(tokens)) for tokens in sentences]


class SpanTagger(Tagger):
    """A tagger in which each word with a capital is a span. Neighbours are one. The label is that of ``labels``."""

    labels = ("B-LOC", "I-LOC", "O")

    def predict(self, texts: Sequence[Any]) -> list[TaggedSentence]:
        reader = SpanReader(self.labels)
        answers = []
        for answer in super().predict(texts):
            is_in = [token[0].isupper() for token in answer.tokens]
            tags = [self.labels[(1 if i and is_in[i - 1] else 0) if x else 2] for i, x in enumerate(is_in)]
            text = " ".join(answer.tokens)
            answers.append(reader.answer(text, answer.tokens, tags, [0.75] * len(tags)))
        return answers


class LanguageModel:
    task = "language_model"
    model = "dense_lstm_lm"
    labels = ()

    def predict(self, texts: Sequence[str]) -> list[Score]:
        return [Score(text, -1.5, float("inf"), len(text.split()) + 1, 0) for text in texts]


@dataclass(frozen=True)
class Answer:
    """An answer's status, headers and JSON."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        (key,) = self.json
        assert key == "error"
        return self.json["error"]


@dataclass(frozen=True)
class Running:
    """A running server. ``ask`` sends one request on a connection of its own."""

    port: int

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def ask(self, path: str, body: Any = None, method: str | None = None, **headers: str) -> Answer:
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        with contextlib.closing(self.connect()) as connection:
            connection.request(method or ("GET" if body is None else "POST"), path, data, headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())

    def metric(self, name: str) -> float:
        """Return the sum of a metric over its labels. ``name`` may end in some of them."""
        lines = self.ask("/metrics").body.decode().splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


@contextlib.contextmanager
def running(*predictors: Any, **settings: Any) -> Iterator[Running]:
    """Serve predictors as ``m0``, ``m1``, ... from a thread of this process."""
    models = {f"m{i}": serve(f"m{i}", predictor) for i, predictor in enumerate(predictors)}
    app = create_app(models, Settings(**settings))
    server = uvicorn.Server(
        uvicorn.Config(app, port=0, http=HalfClosing, log_level="critical", timeout_graceful_shutdown=5)
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        eventually(lambda: server.started)
        yield Running(server.servers[0].sockets[0].getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()


def eventually(condition: Callable[[], object]) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.005)
