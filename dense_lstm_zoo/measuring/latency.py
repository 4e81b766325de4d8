"""The time of predictions: calls on batches of one size, after a warm-up."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

from dense_lstm_zoo.measuring.turns import percentiles

MAX_SECONDS = 60.0  # for the timed calls of one size, and for their warm-up
MIN_CALLS = 3


def batches(texts: Sequence[str], size: int, most: int) -> list[list[str]]:
    """Return up to ``most`` batches of ``size`` texts in order, each text once. Too few texts are repeated.

    Example:
        >>> batches(["a", "b", "c", "d", "e"], 2, 10), batches(["a", "b"], 3, 10)
        ([['a', 'b'], ['c', 'd']], [['a', 'b', 'a']])
    """
    endless = itertools.cycle(texts)
    count = min(most, max(len(texts) // size, 1))
    return [list(itertools.islice(endless, size)) for _ in range(count)]


def time_calls(
    predict: Callable[[list[str]], Any],
    texts: Sequence[str],
    size: int,
    repeats: int,
    max_seconds: float = MAX_SECONDS,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Time ``predict`` on batches of ``size`` texts.

    Before any call is timed, every batch is predicted once (at least three calls, at most ``max_seconds``), since the
    first batch of a new shape may cost a compilation. Batches that the warm-up did not reach are not timed.

    Args:
        predict: Takes a list of texts.
        texts: The texts to batch.
        size: Texts per call.
        repeats: Number of timed calls. There are fewer if ``max_seconds`` run out, but at least three.
        max_seconds: See above.
        clock: Returns seconds.

    Returns:
        ``p50_ms`` and ``p99_ms`` of the calls, ``texts_per_s`` over all of them, and ``calls``, their number.
    """
    warm: list[list[str]] = []
    todo = batches(texts, size, repeats)
    started = clock()
    for number, batch in enumerate(itertools.cycle(todo)):
        if number >= MIN_CALLS and (number >= len(todo) or clock() - started >= max_seconds):
            break
        predict(batch)
        if number < len(todo):
            warm.append(batch)
    seconds: list[float] = []
    total = 0.0
    for batch in itertools.islice(itertools.cycle(warm), repeats):
        if len(seconds) >= MIN_CALLS and total >= max_seconds:
            break
        before = clock()
        predict(batch)
        seconds.append(clock() - before)
        total += seconds[-1]
    p50, p99 = percentiles(seconds, 50, 99)
    return {
        "p50_ms": 1e3 * p50,
        "p99_ms": 1e3 * p99,
        "texts_per_s": size * len(seconds) / total,
        "calls": len(seconds),
    }
