"""``tune``: search over a model's arguments, each trial in its own process, safe against kills."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo.data.frames import parts_of
from dense_lstm_zoo.display import notes
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.search import trial
from dense_lstm_zoo.search.plan import Sweep, check_extent, make_oracle_of, options_of, plan
from dense_lstm_zoo.search.settings import claim
from dense_lstm_zoo.search.space import Space
from dense_lstm_zoo.search.surroundings import without_tuner_variables
from dense_lstm_zoo.search.trouble import SweepPausedError, TrialDiedError, TrialFailedError, paused
from dense_lstm_zoo.search.written_texts import written_texts
from dense_lstm_zoo.storage import files
from dense_lstm_zoo_runtime.streams import unread_output

if TYPE_CHECKING:
    import pandas as pd

    from dense_lstm_zoo.search.durable import Durable


def _silent(_: object) -> None:
    """Do nothing with it."""


@dataclass(frozen=True, eq=False)
class TuneResult:
    """The result of a sweep.

    Args:
        trials: One row per trial, best first: its number, status, values, dev score, parameters, seconds.
        best: The winner's row.
        test: Its scores on the test texts: ``mean``, ``std`` and ``runs`` by measure. Empty without test texts.
        run_dir: The sweep's folder.
    """

    trials: pd.DataFrame
    best: dict[str, Any]
    test: dict[str, Any]
    run_dir: Path

    @property
    def best_bundle(self) -> Path:
        """The folder of the winner's first run, for ``load``.

        Raises:
            FileNotFoundError: Its bundles have been deleted.
        """
        folder = self.run_dir / "trials" / self.best["trial"]
        runs = trial.bundles(folder)
        if not runs:
            raise FileNotFoundError(
                f"{folder / 'runs'} holds no bundle any more. The same call trains it again and keeps its scores; "
                f"{folder / 'log.txt'} says why it could not."
            )
        return runs[0]


def tune(
    name: str,
    /,
    dataset: Any,
    run_dir: str | Path,
    *,
    tuner: str = "random",
    space: Space | None = None,
    trials: int | None = None,
    budget: int | str | None = None,
    seeds: int = 1,
    folds: int | None = None,
    seed: int = 1,
    epochs: int | None = None,
    keep: int = 1,
    workers: int = 1,
    oracle: str | None = None,
    silence: float = 300.0,
    data: Mapping[str, Any] | None = None,
    recipe: str | None = None,
    progress: bool = True,
    **arguments: Any,
) -> TuneResult:
    """Search over a model's arguments. The test texts are scored once, at the end, for the winner only.

    Every trial runs in its own process, so memory does not grow, and its runs are bundles. After any kill the same call
    resumes: finished trials are kept, and the interrupted one continues after its last epoch. A trial that fails (out
    of memory, a loss that is not a number) is recorded with its reason, and the search goes on. A problem that is not a
    trial's fault (a full disk, permissions, the system killing it) pauses the sweep.

    Args:
        name: A registered model.
        dataset: A corpus's name, your own file or folder, or tables in memory (see ``load_corpus``), whose texts are
            written into the sweep's folder.
        run_dir: The sweep's folder.
        tuner: ``random``, ``bayesian``, ``hyperband`` or ``grid``.
        space: Values by argument: a ``Range``, or a list of choices. None means the task's default.
        trials: Maximum number of trials. None means 20, or all of a grid. Hyperband sets it itself.
        budget: Parameters of the encoder, not counting biases, such as ``"1.44M"``. They set the width.
        seeds: Runs per trial, with seeds 1, 2, .... The score is their mean.
        folds: Number of folds, to score by cross-validation on the training texts.
        seed: Seed for the search.
        epochs: Maximum number of epochs per run. None means the recipe's, else 30.
        keep: Number of best trials whose bundles are kept. Of others, only the scores are. Hyperband, most of whose
            trials are cut short, keeps the winner's alone.
        workers: Number of trials that run at a time on this machine. 0 with ``oracle`` if all workers are elsewhere.
        oracle: ``HOST:PORT`` to serve the oracle at, for workers on other machines (``tune --role worker``). They need
            the sweep's token, which is in the file ``token`` in the folder. Without a host, only this machine can
            connect. The channel is plain text.
        silence: Seconds after which a silent worker's trial is reassigned.
        data: Options of ``load_corpus``, such as ``{"train_file": "mine.csv"}`` or ``{"text_column": "review"}``.
        recipe: A recipe, whose settings are fixed unless they are searched.
        progress: Whether to print one line per trial.
        **arguments: Fixed arguments of ``train`` and of the model.

    Raises:
        ValueError: An unknown name, an empty space, a budget below the smallest model, a folder of another sweep, or a
            damaged file in it.
        SweepPausedError: A problem that is not a trial's fault stopped the sweep (a full disk, permissions, a trial
            killed by the system). The same call resumes it. This is an ``OSError``.
        RuntimeError: No trial got a score. The message gives the last reason.

    Example:
        ``zoo.tune("dc_bilstm", "trec", "runs/sweep", space={"num_dense_layers": [5, 10, 15]}, budget="1.44M")``
    """
    run_dir = files.resolved(run_dir)
    check_extent(tuner, trials, keep, workers, silence, oracle)
    if trials is None and tuner not in ("grid", "hyperband"):
        trials = 20
    with contextlib.ExitStack() as stack:
        if not isinstance(dataset, (str, os.PathLike)) and parts_of(dataset) is not None:
            task = registry.entry(name).task
            dataset, data = stack.enter_context(written_texts(dataset, data or {}, task, run_dir)), None
        sweep = plan(
            name,
            dataset,
            tuner=tuner,
            space=space,
            budget=budget,
            seeds=seeds,
            folds=folds,
            seed=seed,
            epochs=epochs,
            data=data,
            recipe=recipe,
            **arguments,
        )
        sweep, has_test = _with_data(sweep)  # a file that is wrong fails here
        say = notes.show if progress else _silent
        return run(sweep, run_dir, has_test, trials, keep, workers, oracle, silence, say)


@unread_output()
def run(
    sweep: Sweep,
    run_dir: Path,
    has_test: bool,
    trials: int | None = None,
    keep: int = 1,
    workers: int = 1,
    address: str | None = None,
    silence: float = 300.0,
    say: Callable[[str], Any] = notes.show,
    is_chosen: Callable[[Mapping[str, Any]], bool] | None = None,
    ended: Callable[[Path], Any] = _silent,
) -> TuneResult:
    """Run a sweep that was planned. The arguments are ``tune``'s, and those of a table of results.

    Args:
        sweep: The sweep.
        run_dir: Its folder.
        has_test: Whether its corpus has test texts.
        trials: Most trials.
        keep: Number of best trials whose bundles are kept.
        workers: Number of trials that run at a time.
        address: Where the oracle is kept for workers elsewhere.
        silence: Seconds after which a silent worker's trial is given to another.
        say: Prints a line.
        is_chosen: Of a grid: whether the point with these values is to be run now. A sweep with it may also grow: more
            seeds, folds or rows add to the runs that are there.
        ended: Called with the folder of each trial that ended.

    Raises:
        ValueError, SweepPausedError, RuntimeError: As ``tune``.
    """
    make_oracle_of(sweep, trials)  # what keras-tuner refuses claims no folder
    with without_tuner_variables(say), claim(run_dir, sweep, grows=is_chosen is not None):
        try:
            _search(run_dir, sweep, trials, keep, workers, address, silence, say, is_chosen, ended)
            return finish(run_dir, sweep, has_test, say)
        except (SweepPausedError, BrokenPipeError):
            raise
        except OSError as error:
            raise paused(error) from error


def _search(
    run_dir: Path,
    sweep: Sweep,
    trials: int | None,
    keep: int,
    workers: int,
    address: str | None,
    silence: float,
    say: Callable[[str], Any],
    is_chosen: Callable[[Mapping[str, Any]], bool] | None,
    ended: Callable[[Path], Any],
) -> None:
    """Run every trial: one after the other, in threads, or as the chief of workers elsewhere."""
    from dense_lstm_zoo.search.progress import Progress
    from dense_lstm_zoo.search.worker import Worker, forget_deaths, in_threads, share_of_cores

    oracle = make_oracle_of(sweep, trials)
    points = oracle.get_space()
    oracle.open(run_dir / "oracle")
    if is_chosen is not None:
        oracle.hyperparameters = points  # the folder's state has the rows that there were when it was written
        oracle.save()
    if address is None:
        oracle.requeue_silent(0)  # workers on this machine ended with the process that started them
    if is_chosen is not None:
        oracle.choose_points(is_chosen)
        _forget_outgrown(run_dir, sweep, oracle)
    without_result = [name for name in oracle.end_order if not (run_dir / "trials" / name / trial.RESULT).is_file()]
    for name in without_result:
        forget_deaths(run_dir / "trials" / name)
    oracle.run_again(without_result)
    progress = Progress(oracle, sweep, run_dir, keep, max(workers, 1), say, ended)
    progress.tell_deleted()
    heartbeat, environment = None if address is None else silence / 10, share_of_cores(workers)
    team = [
        Worker(oracle, sweep, run_dir, f"local{i}", heartbeat=heartbeat, environment=environment)
        for i in range(1, workers + 1)  # workers elsewhere are worker1, worker2, ...
    ]
    if workers == 1 and address is None:
        oracle.on_end = progress.tell
        team[0].search()
        progress.free()
        return
    with in_threads(team) as futures:

        def check() -> None:
            for future in futures:
                if future.done():
                    future.result()  # raises the error of a worker
            progress.catch_up()

        if address is None:
            while not oracle.is_over():
                time.sleep(0.2)
                check()
        else:
            from dense_lstm_zoo.search import access, chief

            oracle.look_ahead()
            chief.serve(oracle, address, silence, access.own_token(run_dir), check, say)
        progress.catch_up(wait=True)
        progress.free()


def _forget_outgrown(run_dir: Path, sweep: Sweep, oracle: Durable) -> None:
    """Delete the results of chosen trials that had fewer seeds or folds than the sweep has now. Their runs stay."""
    for name in oracle.end_order:
        folder, values = run_dir / "trials" / name, oracle.get_trial(name).hyperparameters.values
        if not oracle.is_chosen(values) or not (folder / trial.RESULT).is_file():
            continue
        data = {"data_sha256": sweep.data_sha256}  # a sweep of an earlier version does not tell
        if {**trial.read_spec(folder), **data} != sweep.spec(values):
            (folder / trial.RESULT).unlink()


def finish(run_dir: Path, sweep: Sweep, has_test: bool, say: Callable[[str], Any]) -> TuneResult:
    """Finish the winner's training if Hyperband had paused it, score its test texts once and write the report.

    A winner that was scored stays the winner. If its bundle is gone, it is trained again, for the bundle alone.
    """
    from dense_lstm_zoo.search import report

    complete_trials = set[str]()
    while True:  # until the best trial needs no training: its score may fall as it is trained to its end
        table = report.table(run_dir, sweep)
        scored = table[table["status"] == "completed"]
        if scored.empty:
            reason = table["reason"].iloc[-1] if len(table) else "there was none"
            raise RuntimeError(f"No trial of {run_dir} got a score; the last one's reason: {reason}")
        best = scored.iloc[0].to_dict()
        folder = run_dir / "trials" / best["trial"]
        if sweep.test != "best":
            break
        name, is_tested = f"the winner, trial {best['trial']},", (folder / trial.TEST).is_file()
        try:
            before = trial.read_spec(folder)
            runs = trial.read_result(folder, sweep.score).get("runs", ["*"])  # older results do not name them
            is_complete = all(list((folder / "runs").glob(f"{run}/manifest.json")) for run in runs)
            # The files of texts may have moved since the trial was trained.
            spec = {**before, "dataset": sweep.dataset, "data": dict(sweep.data), "pause_after": None}
            if spec != before:
                files.write_json(folder / trial.SPEC, spec)
            if best["trial"] not in complete_trials and (before["pause_after"] is not None or not is_complete):
                trial.wait(folder, trial.start(folder))
                complete_trials.add(best["trial"])
                continue
        except (TrialFailedError, TrialDiedError) as error:
            if is_tested:  # no other trial may be scored on the test texts
                say(f"{name} could not be trained again for its bundle, which is gone: {error}. Its scores stay.")
                break
            if isinstance(error, TrialDiedError):
                raise paused(f"{name} could not be trained to its end: {error}") from None
            files.write_json(folder / trial.RESULT, {"reason": f"trained to its end: {error}"})
            continue
        try:
            if (sweep.folds or has_test) and not is_tested:
                trial.wait(folder, trial.start(folder, test=True))
        except (TrialFailedError, TrialDiedError) as error:
            raise paused(f"{name} could not be scored on the test texts: {error}") from None
        break
    test = trial.read_test(folder) if (folder / trial.TEST).is_file() else {}
    if sweep.tuner == "hyperband":  # none of its trials can continue any more
        for other in (run_dir / "trials").iterdir():
            if other.name != best["trial"]:
                shutil.rmtree(other / "runs", ignore_errors=True)
    table = report.write(run_dir, sweep, test)
    say(report.summary(table, run_dir, sweep, test))
    return TuneResult(table, best, test, run_dir)


def _with_data(sweep: Sweep) -> tuple[Sweep, bool]:
    """Return the sweep with what its corpus decides, and whether that has test texts."""
    corpus, job_class = sweep.resolved.load(), sweep.task.job_class
    part = corpus if sweep.folds is None else corpus.fold(1, sweep.folds)  # too many of them fail here
    options = options_of(sweep.task, sweep.arguments, sweep.epochs, sweep.arguments.get("recipe"))
    has_dev = job_class.with_dev_part(part, options).dev is not None  # too few texts fail here
    sweep = dataclasses.replace(
        sweep, data_sha256=job_class.fingerprint(corpus), scored_on="dev" if has_dev else "cross_validation"
    )
    return sweep, corpus.test is not None
