"""Explanations, which cost as much as a hundred predictions: in short steps, while nobody waits for a prediction."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator
from concurrent.futures import Executor

from dense_lstm_zoo_runtime.serve.batching import Batcher
from dense_lstm_zoo_runtime.serve.errors import too_busy

_MOST_WAITING = 8
_LOOK = 0.005  # seconds between two looks at whether texts wait


class Explainer:
    """One explanation at a time. Each of its steps begins only when no text waits to be predicted.

    Args:
        executor: Runs the steps, and predictions.
        batchers: The queues that go first.
    """

    def __init__(self, executor: Executor, batchers: Collection[Batcher]) -> None:
        self._executor = executor
        self._batchers = batchers
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def explain(self, steps: Iterator[bytes | None]) -> bytes:
        """Return the last value of an iterator, which yields None before it. Cancelled, it stops after a step.

        Raises:
            RequestError: Too many explanations wait (503).
            Exception: Whatever a step raises.
        """
        if self._waiting >= _MOST_WAITING:
            raise too_busy("explanations", f"{self._waiting} explanations are waiting")
        self._waiting += 1
        try:
            async with self._turn:
                answer = None
                while answer is None:
                    while any(batcher.waiting for batcher in self._batchers):
                        await asyncio.sleep(_LOOK)
                    answer = await asyncio.get_running_loop().run_in_executor(self._executor, next, steps)
                return answer
        finally:
            self._waiting -= 1
