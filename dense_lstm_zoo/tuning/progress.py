"""What the oracle's side does when a trial ends: a line, the table, the report, and room on the disk."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from keras_tuner.engine.trial import Trial

from dense_lstm_zoo.tuning import report
from dense_lstm_zoo.tuning.oracles import Durable
from dense_lstm_zoo.tuning.plan import Sweep


class Progress:
    """Follow an oracle's trials.

    Args:
        oracle: Whose trials.
        sweep: What they are.
        run_dir: The sweep's folder.
        keep: Of how many of the best trials the bundles are kept.
        workers: How many trials run at a time.
        say: Prints a line.
    """

    def __init__(
        self, oracle: Durable, sweep: Sweep, run_dir: Path, keep: int, workers: int, say: Callable[[str], Any]
    ) -> None:
        self.oracle, self.sweep, self.run_dir = oracle, sweep, run_dir
        self.keep, self.workers, self.say = keep, workers, say
        self._seconds: list[float] = []
        oracle.on_end = self.trial_ended
        if oracle.trials:
            say(f"going on after {len(oracle.end_order)} trials, which an interrupted sweep had finished")

    def trial_ended(self, trial: Trial) -> None:
        """Bring table and report up to date, print the trial's line, delete what is not kept."""
        started = self.oracle.started.get(trial.trial_id)
        if started is not None:
            self._seconds.append(time.monotonic() - started)
        table = report.write(self.run_dir, self.sweep)
        self.say(self._line(trial, table))
        # Hyperband may go on with any of its trials.
        if self.sweep.tuner != "hyperband":
            for name in table["trial"].iloc[self.keep :]:
                shutil.rmtree(self.run_dir / "trials" / name / "runs", ignore_errors=True)

    def _line(self, trial: Trial, table: Any) -> str:
        """Return which trial of how many, its values, its score, the best so far, the time left."""
        row = table[table["trial"] == trial.trial_id].iloc[0]
        values = " ".join(f"{name}={report.short(row[name])}" for name in report.value_columns(table))
        found = f"{self.sweep.score} {row['score']:.4f}" if row["status"] == "completed" else f"failed: {row['reason']}"
        best = table.iloc[0]
        so_far = f", best {best['score']:.4f} (trial {best['trial']})" if best["status"] == "completed" else ""
        took = f", {self._seconds[-1]:.0f} s" if self._seconds else ""
        return f"trial {trial.trial_id}: {values}: {found}{so_far}{took}{self._left()}"

    def _left(self) -> str:
        remaining = self.oracle.remaining_trials()
        if remaining is None or not self._seconds:
            return ""
        waiting = remaining + len(self.oracle.ongoing_trials)
        minutes = waiting * sum(self._seconds) / len(self._seconds) / 60 / self.workers
        return f", {waiting} left, about {minutes:.0f} min" if waiting > 0 else ", the last"
