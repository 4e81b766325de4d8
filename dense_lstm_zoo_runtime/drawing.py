"""Drawing the words that continue a text. Bundles and exports draw the same ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dense_lstm_zoo_runtime import checks
from dense_lstm_zoo_runtime.answers import Continuation

# What a model knows after a text: log probabilities of the next word (words,), float64, and its states.
Read = tuple[np.ndarray, Any]
BACKWARD = (
    "This language model was trained backward, from the last word to the first, so it cannot continue a text. Use one "
    "that was trained with direction='forward'; score and next_words (the words before a text) work with this one."
)


def continuation(
    prompt: str,
    words: Sequence[str],
    read_prompt: Callable[[str], Read],
    step: Callable[[int, Any], Read],
    max_tokens: int,
    *,
    temperature: float,
    top_k: int | None,
    seed: int | None,
    stop_at_line_end: bool,
    allow_unknown: bool,
) -> Continuation:
    """Continue a prompt word by word, carrying the states along.

    Args:
        prompt: The start of the text.
        words: The words in the order of their ids, ``<eos>`` and ``<unk>`` among them.
        read_prompt: Reads the prompt.
        step: Reads one more word's id after the states.
        max_tokens: As for ``Predictor.generate``, and so are the others.
        temperature: See there.
        top_k: See there.
        seed: See there.
        stop_at_line_end: See there.
        allow_unknown: See there.

    Raises:
        ValueError: A value out of range.
    """
    checks.integer("max_tokens", max_tokens)
    checks.temperature("temperature", temperature, zero=True)
    top_k = len(words) if top_k is None else checks.integer("top_k", top_k)
    generator = np.random.default_rng(None if seed is None else checks.integer("seed", seed, minimum=0))
    eos, unknown = words.index("<eos>"), words.index("<unk>")
    ids: list[int] = []
    total = 0.0
    log_p, states = read_prompt(prompt)
    for _ in range(max_tokens):
        weights = log_p.copy()
        if not allow_unknown:
            weights[unknown] = -np.inf
        best = np.argsort(-weights, kind="stable")[: 1 if temperature == 0 else top_k]
        shares = np.exp((weights[best] - weights[best[0]]) / (temperature or 1.0))
        ids.append(int(generator.choice(best, p=shares / shares.sum())))
        total += float(log_p[ids[-1]])
        if ids[-1] == eos and stop_at_line_end:
            break
        log_p, states = step(ids[-1], states)
    tokens = ["\n" if i == eos else words[i] for i in ids]
    return Continuation(prompt, re.sub(" ?\n ?", "\n", " ".join(tokens)).removesuffix("\n"), total)


def likeliest(log_p: np.ndarray, words: Sequence[str], k: int) -> list[tuple[str, float]]:
    """Return the ``k`` likeliest words with their probabilities, likeliest first.

    Raises:
        ValueError: ``k`` is not a positive integer.
    """
    best = np.argsort(-log_p, kind="stable")[: checks.integer("k", k)]
    return [(words[i], float(np.exp(log_p[i]))) for i in best]


def log_softmax(row: np.ndarray) -> np.ndarray:
    """Return the log probabilities of logits, or of log probabilities that are rounded, in float64."""
    row = row.astype(np.float64)
    row -= row.max()
    return row - np.log(np.exp(row).sum())
