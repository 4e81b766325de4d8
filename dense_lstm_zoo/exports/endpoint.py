"""An endpoint: a signature of an export before it is traced, and the texts that show and warm it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

# A function of some SavedModels beside their signatures: texts to all that answers are made from.
ANSWER = "answer"
EXAMPLE = ("It was not a bad film.", "The soup was cold, but everybody liked the waiter.")

_LONG = (
    "We had read about the place for years, and in the end we went there on a rainy evening in November, four of us, "
    "hungry and a little late; the waiter found a table by the window, brought bread and water before we had asked, "
    "and never once made us feel that the kitchen was about to close, which it was."
)
# A server with batching refuses a larger request than its largest batch, which deploy/tf_serving sets to 32.
_LARGEST = 32

# The texts of each warm-up request: one short text, one long one, and a batch of all lengths.
WARM_UP: tuple[tuple[str, ...], ...] = (
    EXAMPLE[:1],
    (_LONG,),
    tuple([*EXAMPLE, "Why?", _LONG] * (_LARGEST // 4)),
)


@dataclass(frozen=True)
class Endpoint:
    """A signature of an export: a function, and what there is to know for calling it.

    Args:
        function: A graph function from the inputs to a dictionary of tensors.
        inputs: The specs of its arguments, named. An argument may be a dictionary of specs.
        request: A function from texts to inputs by name, for the example and the warm-up.
        meaning: What it returns, in sentences of Markdown.
        is_concatenated: Whether an input or output has a row per token of all texts together, rather than one per text.
            A server must not batch such requests: it could not tell which rows belong to which request.
    """

    function: Callable[..., Any]
    inputs: list[Any]
    request: Callable[[Sequence[str]], dict[str, Any]]
    meaning: str
    is_concatenated: bool = False


Endpoints = dict[str, Endpoint]  # by the name of the signature


def texts_alone(texts: Sequence[str]) -> dict[str, Any]:
    """Return the inputs of a signature that takes texts and nothing else."""
    return {"text": list(texts)}
