"""The models that are served: loaded by name, and what each can be asked."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic_core import to_json

from dense_lstm_zoo_runtime.answers import fields


class Predicts(Protocol):
    """The part of ``dense_lstm_zoo_runtime.Predictor`` that the server needs.

    Classifiers also have ``embed`` and ``explain_steps``.
    """

    task: str
    model: str
    labels: list[str]

    def predict(self, texts: Sequence[Any]) -> Sequence[Any]:
        """Return one answer per text, each a dataclass."""
        ...


Operation = Callable[[list[Any]], list[bytes]]
Explain = Callable[[str, str | None], Iterator[bytes | None]]  # of a text, and a label or None for the likeliest


@dataclass(frozen=True)
class Model:
    """A model that is served: what it is, whether it takes lists of tokens, and its operations by name.

    An operation takes texts and returns an answer per text, as JSON. It is called in a worker thread, so that the
    answers of large batches are written there too. ``explain`` yields None after each step and the answer at the end.
    """

    name: str
    task: str
    model: str
    labels: Sequence[str]
    takes_tokens: bool
    operations: Mapping[str, Operation]
    explain: Explain | None = None

    def description(self) -> dict[str, Any]:
        """Return what ``GET /v1/models`` says of the model."""
        return {
            "name": self.name,
            "task": self.task,
            "model": self.model,
            "labels": list(self.labels),
            "operations": self.all_operations,
        }

    @functools.cached_property
    def all_operations(self) -> list[str]:
        """The names of its operations."""
        return sorted([*self.operations, *(["explain"] if self.explain else [])])


def serve(name: str, predictor: Predicts) -> Model:
    """Return the model over a predictor."""
    operations: dict[str, Operation] = {"predict": lambda texts: [_answer(a) for a in predictor.predict(texts)]}
    explain: Explain | None = None
    if predictor.task == "classification":
        steps: Callable[..., Iterator[Any]] = predictor.explain_steps  # type: ignore[attr-defined]
        explain = lambda text, label: (step and _answer(step) for step in steps(text, label=label))  # noqa: E731
        embed: Callable[[list[Any]], Any] = predictor.embed  # type: ignore[attr-defined]
        operations["embed"] = lambda texts: [to_json(row.tolist(), inf_nan_mode="null") for row in embed(texts)]
    tagger = predictor.task == "tagging"
    return Model(name, predictor.task, predictor.model, predictor.labels, tagger, operations, explain)


def load(sources: Mapping[str, str], threads: int) -> dict[str, Model]:
    """Load each source and predict an empty text with it, so that the first request finds everything in memory.

    Raises:
        ExportError: A source that is damaged, of another version or not an export.
        FileNotFoundError: A source that does not exist.
    """
    from dense_lstm_zoo_runtime import Predictor

    return {name: warm(serve(name, Predictor(source, threads=threads))) for name, source in sources.items()}


def warm(model: Model) -> Model:
    """Answer an empty text, and return the model."""
    for operation in model.operations.values():
        operation([""])
    return model


def _answer(answer: Any) -> bytes:
    """Return an answer as JSON. The text is left out, since the client has it, and infinity becomes null."""
    return to_json(fields(answer), inf_nan_mode="null", fallback=float)
