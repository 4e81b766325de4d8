"""Signals that end a training run once it has saved the batch it is in."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType

# SIGHUP, a closed terminal, does not exist on Windows.
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class StopSignals:
    """Holds back SIGTERM and SIGHUP until the run is saved. A second signal ends the process at once.

    Signals that the program handles or ignores itself, such as SIGHUP under ``nohup``, are left alone.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self._numbers: list[int] = []

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():  # others cannot set handlers
            self._numbers = [number for number in _SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
            for number in self._numbers:
                signal.signal(number, self._hold)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._release()
        if self.number is not None and kind is None:  # it came after the last save of the run
            self.end()

    def end(self) -> None:
        """End the process by the signal that was received, as if it had not been held back."""
        self._release()
        number, self.number = self.number, None
        if number is not None:
            signal.raise_signal(number)

    def _release(self) -> None:
        for number in self._numbers:
            signal.signal(number, signal.SIG_DFL)
        self._numbers = []

    def _hold(self, number: int, frame: FrameType | None) -> None:
        if self.number is not None:
            self.end()
        self.number = number
