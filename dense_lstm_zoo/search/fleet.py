"""Workers on other machines, which ask the chief of a sweep for trials.

All of them see the sweep's folder, which may be on a network. Without a worker's signs of life, the chief gives its
trial to another.
"""

from __future__ import annotations

import dataclasses
import json
import os
import socket
import time
from pathlib import Path
from typing import Any

import grpc
from keras_tuner.engine.trial import Trial

from dense_lstm_zoo import checks
from dense_lstm_zoo.corpora.dataset import Dataset
from dense_lstm_zoo.data.cells import escape_controls
from dense_lstm_zoo.display import notes
from dense_lstm_zoo.search.access import TOKEN_VARIABLE, TokenShown, workers_token
from dense_lstm_zoo.search.chief import SERVICE, parse_address
from dense_lstm_zoo.search.plan import Sweep, plan
from dense_lstm_zoo.search.progress import SHOWS_WITHIN
from dense_lstm_zoo.search.settings import SETTINGS, read_settings
from dense_lstm_zoo.search.surroundings import WITHOUT_PROXY, without_tuner_variables
from dense_lstm_zoo.search.trouble import SweepPausedError, paused
from dense_lstm_zoo.search.worker import Worker
from dense_lstm_zoo.storage import files
from dense_lstm_zoo.storage.json_files import DamagedFileError
from dense_lstm_zoo_runtime.streams import unread_output


def default_worker_id() -> str:
    """Return an Indexed Job's or a Slurm array's index, which survives restarts, else one of this process."""
    for variable in ("JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID"):
        if variable in os.environ:
            return os.environ[variable]
    return f"{socket.gethostname()}-{os.getpid()}"


class RefusedError(PermissionError):
    """A worker whose token is not the chief's."""


class Client:
    """A worker's side of the chief's oracle.

    Args:
        address: The chief's address.
        token: The chief's token.
        patience: Seconds to wait for a chief that does not answer.

    Raises (by every call):
        ConnectionError: The chief did not answer, or answered with an error.
        RefusedError: The token is not the chief's.
    """

    def __init__(self, address: str, token: str, patience: float) -> None:
        host, port = parse_address(address)
        self._address, self._patience = f"{host}:{port}", patience
        self._channel = grpc.insecure_channel(self._address, options=WITHOUT_PROXY)
        self._calls = grpc.intercept_channel(self._channel, TokenShown(token, patience))

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    def create_trial(self, tuner_id: str) -> Trial:
        """Return the trial that this worker has, or the next one."""
        return Trial.from_state(self._ask("create_trial", worker=tuner_id))

    def update_trial(self, trial_id: str, metrics: dict[str, float]) -> None:
        """Submit a score."""
        self._ask("update_trial", trial=trial_id, metrics=metrics)

    def end_trial(self, trial: Trial) -> None:
        """Report how a trial ended."""
        self._ask("end_trial", trial=trial.trial_id, status=trial.status, message=trial.message or "")

    def _ask(self, method: str, **fields: Any) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = json.loads(
                self._calls.unary_unary(f"/{SERVICE}/{method}")(json.dumps(fields).encode())
            )
            return answer
        except grpc.RpcError as error:
            code, details = error.code(), error.details()
        if code in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE):
            raise unreachable(self._address, self._patience)
        if code == grpc.StatusCode.UNAUTHENTICATED:
            raise RefusedError(
                f"The chief at {self._address} refused this worker: {details}. A worker needs the token in the chief's "
                f"folder or, if set for both, the one in {TOKEN_VARIABLE}."
            )
        raise ConnectionError(f"The chief at {self._address} answered with an error: {details}")


def work(
    run_dir: Path, sweep: Sweep, address: str, worker_id: str, token: str, *, heartbeat: float, patience: float
) -> None:
    """Run trials for a chief until it has none left.

    Args:
        run_dir: The sweep's folder, shared with the chief.
        sweep: The sweep.
        address: The chief's.
        worker_id: Stays the same after a restart, so that the worker gets its trial back.
        token: The chief's token.
        heartbeat: Seconds between signs of life.
        patience: Seconds to wait for a chief that does not answer.

    Raises:
        ConnectionError: The chief did not answer in that time, or it could not continue.
        RefusedError: The token is not the chief's.
        SweepPausedError: Something that is not a trial's fault prevents the sweep from continuing.
    """
    wait_for_chief(address, patience)
    client = Client(address, token, patience)
    try:
        Worker(client, sweep, run_dir, f"worker{worker_id}", heartbeat=heartbeat).search()
    except (ConnectionError, RefusedError, SweepPausedError):
        raise
    except OSError as error:
        raise paused(error) from error
    finally:
        client.close()


def wait_for_chief(address: str, patience: float) -> None:
    """Return when a chief answers, or raise ``ConnectionError`` after ``patience`` seconds."""
    host, port = parse_address(address)
    with grpc.insecure_channel(f"{host}:{port}", options=WITHOUT_PROXY) as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=patience)
        except grpc.FutureTimeoutError:
            raise unreachable(address, patience) from None


def unreachable(address: str, patience: float) -> ConnectionError:
    """Return the error of a chief that does not answer."""
    return ConnectionError(f"No oracle answered at {address} for {patience:g} s.")


@unread_output()
def join(
    name: str,
    dataset: str | Path | Dataset,
    run_dir: str | Path,
    *,
    oracle: str,
    worker_id: str | None = None,
    silence: float = 300.0,
    patience: float = 300.0,
    progress: bool = True,
    **options: Any,
) -> None:
    """Be a worker of a sweep whose chief is elsewhere, with the arguments that ``tune`` has on the chief.

    Args:
        name: A registered model.
        dataset: A corpus's name, or your own file or folder. See ``load_corpus``.
        run_dir: The sweep's folder, which the chief also sees.
        oracle: ``HOST:PORT`` of the chief. Its token is in the folder or in ``DENSE_LSTM_ZOO_SWEEP_TOKEN``.
        worker_id: Stays the same after a restart. None means ``default_worker_id()``.
        silence: The same as on the chief. Signs of life are sent ten times as often.
        patience: Seconds to wait for a chief that does not answer.
        progress: Whether to print progress.
        **options: As for ``tune``.

    Raises:
        ConnectionError: No chief answered for ``patience`` seconds.
        RefusedError: The token is not the chief's.
        SweepPausedError: Something that is not a trial's fault stopped the sweep. The same call resumes it.
        ValueError: The folder is another sweep's.
    """
    parse_address(oracle)
    checks.positive("silence", silence)
    run_dir, worker_id = files.resolved(run_dir), worker_id or default_worker_id()
    planned = {key: value for key, value in options.items() if key not in ("trials", "keep", "workers")}
    requested = plan(name, dataset, **planned)
    if progress:
        notes.show(escape_controls(f"worker {worker_id} asks {oracle} for trials"))
    wait_for_chief(oracle, patience)
    token = workers_token(run_dir, min(patience, SHOWS_WITHIN))
    _wait_for_file(run_dir / SETTINGS, min(patience, SHOWS_WITHIN))
    sweep = read_sweep(run_dir)
    # Each trial looks at its texts itself.
    requested = dataclasses.replace(requested, data_sha256=sweep.data_sha256, scored_on=sweep.scored_on)
    if sweep.to_json() != requested.to_json():
        differences = checks.difference(sweep.to_json(), requested.to_json())
        raise ValueError(f"{run_dir} holds another sweep: {differences}.")
    with without_tuner_variables(notes.show if progress else lambda text: None):
        work(run_dir, sweep, oracle, worker_id, token, heartbeat=silence / 10, patience=patience)


def _wait_for_file(path: Path, patience: float) -> None:
    """Return when a file exists, or after ``patience`` seconds: a network file system may show it late."""
    deadline = time.monotonic() + patience
    while not path.is_file() and time.monotonic() < deadline:
        time.sleep(0.5)


def read_sweep(run_dir: Path) -> Sweep:
    """Return the sweep of a folder."""
    try:
        return Sweep.from_json(read_settings(run_dir))
    except TypeError as error:
        raise DamagedFileError(f"{run_dir / SETTINGS} is damaged: {error}.") from None
