"""The end of a trial, in the oracle's process: print a line, update the table and the report, free disk space."""

from __future__ import annotations

import collections
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keras_tuner.engine.trial import Trial

from dense_lstm_zoo.search import report, trouble
from dense_lstm_zoo.search.durable import Durable
from dense_lstm_zoo.search.plan import Sweep
from dense_lstm_zoo.search.trial import RESULT

if TYPE_CHECKING:
    import pandas as pd

SHOWS_WITHIN = 90.0  # seconds: a network file system may hide a new file for up to a minute


class Progress:
    """Follow an oracle's trials.

    Args:
        oracle: The oracle.
        sweep: The sweep.
        run_dir: The sweep's folder.
        keep: Number of best trials whose bundles are kept.
        workers: Number of trials that run at a time.
        say: Prints a line.
        ended: Called with the folder of each trial that ended, before its bundles may be deleted.
    """

    def __init__(
        self,
        oracle: Durable,
        sweep: Sweep,
        run_dir: Path,
        keep: int,
        workers: int,
        say: Callable[[str], Any],
        ended: Callable[[Path], Any] = lambda folder: None,
    ) -> None:
        self.oracle, self.sweep, self.run_dir = oracle, sweep, run_dir
        self.keep, self.workers, self.say = keep, workers, say
        self._call = ended
        self._seconds: list[float] = []
        self._ended: collections.deque[tuple[Trial, float]] = collections.deque()
        oracle.on_end = self.trial_ended
        if oracle.trials:
            say(f"going on with a sweep after {len(oracle.end_order)} finished trials")

    def trial_ended(self, trial: Trial) -> None:
        """Queue a finished trial, without making the oracle wait for the report."""
        self._ended.append((trial, time.monotonic()))

    def tell(self, trial: Trial) -> None:
        """Report a trial that ended on this machine."""
        self.trial_ended(trial)
        self.catch_up(wait=True)

    def catch_up(self, *, wait: bool = False) -> None:
        """Report the finished trials whose results are visible, in order.

        Args:
            wait: Whether to wait for results that are not visible yet.

        Raises:
            SweepPausedError: A result did not become visible within ``SHOWS_WITHIN`` seconds.
        """
        while self._ended:
            trial, ended = self._ended[0]
            if self._tell(trial, ended):
                self._ended.popleft()
            elif time.monotonic() - ended > SHOWS_WITHIN:
                raise trouble.paused(
                    f"trial {trial.trial_id} has ended, but its result is not visible in {self.run_dir / 'trials'} "
                    f"after {SHOWS_WITHIN:g} s; do its worker and this machine see the same folder?"
                )
            elif not wait:
                return
            else:
                time.sleep(0.5)

    def tell_deleted(self) -> None:
        """Name the best trials whose bundles an earlier call, which kept fewer, has deleted."""
        if self.keep == 1 or self.sweep.tuner == "hyperband" or not self.oracle.end_order:
            return
        table = report.table(self.run_dir, self.sweep)
        best = table[table["status"] == "completed"]["trial"].iloc[: self.keep]
        deleted = [name for name in best if not (self.run_dir / "trials" / name / "runs").exists()]
        if deleted:
            self.say(
                f"no bundle of trial {', '.join(deleted)}: an earlier call kept fewer than {self.keep} and deleted it"
            )

    def _tell(self, trial: Trial, ended: float) -> bool:
        """Update table and report, print the trial's line and delete bundles. Return False if there is no result."""
        if not (self.run_dir / "trials" / trial.trial_id / RESULT).is_file():
            return False  # a network file system may show it later
        table = report.write(self.run_dir, self.sweep)
        if trial.trial_id not in set(table["trial"]):
            return False
        started = self.oracle.started.get(trial.trial_id)
        if started is not None:
            self._seconds.append(ended - started)
        self.say(self._line(trial, table))
        self._call(self.run_dir / "trials" / trial.trial_id)
        self._free(table)
        return True

    def free(self) -> None:
        """Delete the bundles that are not kept: a call that was killed, or that kept more, has left some."""
        self._free(report.table(self.run_dir, self.sweep))

    def _free(self, table: pd.DataFrame) -> None:
        if self.sweep.tuner == "hyperband":  # it may go on with any of its trials
            return
        for name in table["trial"].iloc[self.keep :]:
            shutil.rmtree(self.run_dir / "trials" / name / "runs", ignore_errors=True)

    def _line(self, trial: Trial, table: pd.DataFrame) -> str:
        """Return a line with the trial's values and score, the best so far and the time left."""
        row = table[table["trial"] == trial.trial_id].iloc[0]
        values = report.point_text(row, table)
        outcome = (
            f"{self.sweep.score} {row['score']:.4f}" if row["status"] == "completed" else f"failed: {row['reason']}"
        )
        best = table.iloc[0]
        so_far = f", best {best['score']:.4f} (trial {best['trial']})" if best["status"] == "completed" else ""
        took = f", {self._seconds[-1]:.0f} s" if self._seconds else ""
        return f"trial {trial.trial_id}: {values}: {outcome}{so_far}{took}{self._remaining()}"

    def _remaining(self) -> str:
        remaining = self.oracle.remaining_trials()
        if remaining is None or not self._seconds:
            return ""
        waiting = remaining + len(self.oracle.ongoing_trials)
        minutes = waiting * sum(self._seconds) / len(self._seconds) / 60 / self.workers
        return f", {waiting} left, about {minutes:.0f} min" if waiting > 0 else ", the last"
