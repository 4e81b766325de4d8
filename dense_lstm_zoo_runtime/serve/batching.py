"""Dynamic batching: texts of requests that arrive together are predicted together, in worker threads."""

from __future__ import annotations

import asyncio
import collections
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

from dense_lstm_zoo_runtime.serve.errors import too_busy


@dataclass(eq=False)
class Piece:
    """Texts of one request that are predicted together, and where their answers go."""

    texts: list[Any]
    arrived: float
    answers: asyncio.Future[list[bytes]] = field(repr=False)


class Batcher:
    """A queue of texts for one operation of a model, and the tasks that predict them in batches.

    A batch begins with the text that has waited longest. It takes what has come meanwhile, at most ``max_batch``
    texts, and waits for more until its first text has waited ``max_wait`` seconds. While all workers predict, texts
    gather, so that under load batches grow by themselves and a wait of 0 is enough.

    Args:
        operation: Takes texts and returns an answer each. It is called in a thread.
        executor: Runs the operation.
        workers: Batches predicted at a time.
        max_batch: Texts in a batch.
        max_wait: Seconds that a text waits for others.
        max_queue: Texts that may wait.
        on_batch: Called with the number of texts of each batch that is answered.
    """

    def __init__(
        self,
        operation: Callable[[list[Any]], Sequence[bytes]],
        executor: Executor,
        *,
        workers: int = 1,
        max_batch: int = 8,
        max_wait: float = 0.0,
        max_queue: int = 1024,
        on_batch: Callable[[int], None] = lambda texts: None,
    ) -> None:
        self._operation = operation
        self._executor = executor
        self._workers = workers
        self._max_batch = max_batch
        self._max_wait = max_wait
        self._max_queue = max_queue
        self._on_batch = on_batch
        self._queue: collections.deque[Piece] = collections.deque()
        self._arrived = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.waiting = 0  # texts in the queue

    @property
    def full(self) -> bool:
        """True if not one more text may wait."""
        return self.waiting >= self._max_queue

    def start(self) -> None:
        """Start the workers, in the running event loop."""
        self._tasks = [asyncio.create_task(self._work()) for _ in range(self._workers)]

    async def stop(self) -> None:
        """Stop the workers. What is being predicted goes on in its thread, but is not answered."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def predict(self, texts: list[Any]) -> list[bytes]:
        """Return the answers to the texts of one request, in order.

        Cancelled, the request's texts leave the queue. A batch that is being predicted is finished in its thread, and
        the request's answers are dropped.

        Raises:
            RequestError: The queue is full (503).
            Exception: Whatever the operation raises for these texts.
        """
        if self.waiting + len(texts) > self._max_queue:
            raise too_busy("queue_full", f"{self.waiting:,} texts are waiting")
        loop = asyncio.get_running_loop()
        starts = range(0, len(texts), self._max_batch)
        pieces = [Piece(texts[i : i + self._max_batch], loop.time(), loop.create_future()) for i in starts]
        self._queue.extend(pieces)
        self.waiting += len(texts)
        self._arrived.set()
        try:
            return [answer for piece in pieces for answer in await piece.answers]
        finally:
            for piece in pieces:
                self._forget(piece)

    def _forget(self, piece: Piece) -> None:
        if piece.answers.cancel() or piece.answers.cancelled():
            if piece in self._queue:
                self._queue.remove(piece)
                self.waiting -= len(piece.texts)
        else:
            piece.answers.exception()  # read, so that asyncio does not report it as unnoticed

    async def _work(self) -> None:
        while True:
            await self._gather()
            batch = self._take()
            if batch:
                await self._answer(batch)

    async def _gather(self) -> None:
        """Wait until a full batch is there, or the first text has waited long enough."""
        while not self._queue:
            self._arrived.clear()
            await self._arrived.wait()
        deadline = self._queue[0].arrived + self._max_wait
        while self._queue and self.waiting < self._max_batch:
            seconds_left = deadline - asyncio.get_running_loop().time()
            if seconds_left <= 0:
                return
            self._arrived.clear()
            try:
                await asyncio.wait_for(self._arrived.wait(), seconds_left)
            except TimeoutError:
                return

    def _take(self) -> list[Piece]:
        batch: list[Piece] = []
        room = self._max_batch
        while self._queue and len(self._queue[0].texts) <= room:
            batch.append(self._queue.popleft())
            room -= len(batch[-1].texts)
        self.waiting -= self._max_batch - room
        return batch

    async def _answer(self, batch: list[Piece]) -> None:
        texts = [text for piece in batch for text in piece.texts]
        try:
            answers = await asyncio.get_running_loop().run_in_executor(self._executor, self._operation, texts)
        except Exception as error:  # whatever a text did, the worker goes on, and the other requests get their answers
            if len(batch) > 1:
                for piece in batch:
                    if not piece.answers.done():
                        await self._answer([piece])
            elif not batch[0].answers.done():
                batch[0].answers.set_exception(error)
            return
        self._on_batch(len(texts))
        end = 0
        for piece in batch:
            start, end = end, end + len(piece.texts)
            if not piece.answers.done():
                piece.answers.set_result(list(answers[start:end]))
