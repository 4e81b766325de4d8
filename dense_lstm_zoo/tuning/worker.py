"""keras-tuner's loop, each of whose trials is a process."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from keras_tuner.engine.base_tuner import BaseTuner
from keras_tuner.engine.trial import Trial, TrialStatus
from keras_tuner.errors import FailedTrialError

from dense_lstm_zoo import files
from dense_lstm_zoo.tuning import report
from dense_lstm_zoo.tuning import trial as trials
from dense_lstm_zoo.tuning.oracles import Durable
from dense_lstm_zoo.tuning.sweep import Sweep, wait


class TrialRunner(BaseTuner):
    """Ask the oracle for a trial, run it in a process, give the result back, until there is none left.

    Args:
        oracle: Proposes values and keeps the results.
        sweep: What trials are.
        run_dir: The sweep's folder.
        keep: Of how many of the best trials the bundles are kept.
        say: Prints a line.
    """

    def __init__(self, oracle: Durable, sweep: Sweep, run_dir: Path, keep: int, say: Callable[[str], Any]) -> None:
        self.sweep, self.run_dir, self.keep, self.say = sweep, run_dir, keep, say
        self._seconds: list[float] = []
        (run_dir / "oracle").mkdir(exist_ok=True)
        super().__init__(oracle=oracle, directory=str(run_dir), project_name="oracle")
        if self.oracle.trials:
            ended = sum(t.status in (TrialStatus.COMPLETED, TrialStatus.FAILED) for t in self.oracle.trials.values())
            say(f"going on after {ended} trials, which an interrupted sweep had finished")

    def save(self) -> None:
        """Write the state of the oracle; a loop over processes has none of its own."""
        if not self._is_worker():
            self.oracle.save()

    def reload(self) -> None:
        """Read the oracle's state."""
        if not self._is_worker():
            self.oracle.reload()

    def _get_tuner_fname(self) -> str:
        return str(Path(self.project_dir) / "oracle.json")  # whether it is there decides about reload

    def run_trial(self, trial: Trial, *_: Any, **__: Any) -> dict[str, float]:
        """Return a trial's score; a trial that failed raises what keras-tuner takes for that."""
        started = time.perf_counter()
        folder = self.folder(trial)
        folder.mkdir(parents=True, exist_ok=True)
        spec = self.sweep.spec(trial.hyperparameters.values)
        parent = trial.hyperparameters.values.get("tuner/trial_id")
        if parent and not (folder / "runs").exists() and (self.run_dir / "trials" / parent / "runs").exists():
            shutil.copytree(self.run_dir / "trials" / parent / "runs", folder / "runs")  # it goes on from there
        with files.new_file(folder / "spec.json", "w") as file:
            file.write(files.to_json(spec))
        try:
            if not (folder / trials.RESULT).is_file():
                wait(folder, trials.start(folder))
            result = json.loads((folder / trials.RESULT).read_text(encoding="utf-8"))
            if "reason" in result:
                raise trials.TrialFailedError(result["reason"])
        except trials.TrialFailedError as error:
            with files.new_file(folder / trials.RESULT, "w") as file:
                file.write(files.to_json({"reason": str(error)}))
            raise FailedTrialError(str(error)) from None
        finally:
            self._seconds.append(time.perf_counter() - started)
        return {self.sweep.score: result[self.sweep.score]}

    def _try_run_and_update_trial(self, trial: Trial, *_: Any, **__: Any) -> None:
        """Run a trial and say how it ended: a failed one is no error of the sweep."""
        try:
            self._run_and_update_trial(trial)
            trial.status = TrialStatus.COMPLETED
        except FailedTrialError as error:
            trial.status, trial.message = TrialStatus.FAILED, str(error)

    def folder(self, trial: Trial) -> Path:
        """Return a trial's folder."""
        return self.run_dir / "trials" / trial.trial_id

    def on_trial_end(self, trial: Trial) -> None:
        """Hand in the result, bring table and report up to date, delete what is not kept."""
        super().on_trial_end(trial)
        table = report.write(self.run_dir, self.sweep)
        self.say(self._line(trial, table))
        self._delete_bundles(table)

    def _line(self, trial: Trial, table: Any) -> str:
        """Return a trial's line: which of how many, its values, its score, the best so far, the time left."""
        row = table[table["trial"] == trial.trial_id].iloc[0]
        values = " ".join(f"{name}={report.short(row[name])}" for name in report.value_columns(table))
        found = f"{self.sweep.score} {row['score']:.4f}" if row["status"] == "completed" else f"failed: {row['reason']}"
        best = table.iloc[0]
        so_far = f", best {best['score']:.4f} (trial {best['trial']})" if best["status"] == "completed" else ""
        remaining = self.oracle.remaining_trials()
        left = ""
        if remaining is not None:
            minutes = remaining * sum(self._seconds) / len(self._seconds) / 60
            left = f", {remaining} left, about {minutes:.0f} min" if remaining else ", the last"
        return f"trial {trial.trial_id}: {values}: {found}{so_far}, {self._seconds[-1]:.0f} s{left}"

    def _delete_bundles(self, table: Any) -> None:
        """Delete the bundles of all trials but the best, and of those that Hyperband may go on with."""
        if self.sweep.tuner == "hyperband":
            return
        for name in table["trial"].iloc[self.keep :]:
            shutil.rmtree(self.run_dir / "trials" / name / "runs", ignore_errors=True)
