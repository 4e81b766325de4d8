"""Many workers: a chief that keeps the oracle, and workers that ask it for trials, on one machine or on several.

keras-tuner's chief and workers are the engine. What is added: a chief that ends when the work is done, workers that are
started again, and trials of workers that never come back. All of them see the sweep's folder; it may be a network's.
Whoever reaches the chief's port can hand in results: keep it inside a network you trust.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
from keras_tuner.src import protos
from keras_tuner.src.distribute import oracle_chief, oracle_client

from dense_lstm_zoo import checks, files
from dense_lstm_zoo.tuning.oracles import Durable
from dense_lstm_zoo.tuning.plan import Sweep, plan
from dense_lstm_zoo.tuning.sweep import PLAN_DEFAULTS, SETTINGS, make_oracle_of
from dense_lstm_zoo.tuning.trial import end_with_parent
from dense_lstm_zoo.tuning.worker import TrialRunner

MOST_RESTARTS = 5  # of a worker that ends again and again without a trial between


def parse_address(text: str) -> tuple[str, int]:
    """Read ``HOST:PORT``.

    Example:
        >>> parse_address("127.0.0.1:8000")
        ('127.0.0.1', 8000)
    """
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"An oracle's address is HOST:PORT, such as 10.0.0.1:8000; received {text!r}.")
    return host, int(port)


def default_worker_id() -> str:
    """Return an id that an orchestrator's restart keeps: an Indexed Job's or a Slurm array's index, else the host's."""
    for variable in ("JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID"):
        if variable in os.environ:
            return os.environ[variable]
    return f"{socket.gethostname()}-{os.getpid()}"


def serve(oracle: Durable, address: str, silence: float, alive: Callable[[], Any] = lambda: None) -> None:
    """Answer workers until every trial has ended and every worker was told.

    Args:
        oracle: The oracle.
        address: Where to listen.
        silence: Seconds after which a silent worker's trial is given to another.
        alive: Called every second.

    Raises:
        ValueError: The port is taken.
    """
    host, port = parse_address(address)
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=1))
    servicer = oracle_chief.OracleServicer(oracle)
    protos.get_service_grpc().add_OracleServicer_to_server(servicer, server)
    try:
        bound = server.add_insecure_port(f"{host}:{port}")
    except RuntimeError:
        bound = 0
    if bound != port:
        raise ValueError(f"No oracle can listen on {address}: the port is taken, or the address is not this machine's.")
    server.start()
    try:
        while not (servicer.stop_triggered and oracle_chief.exit_chief(oracle)):
            time.sleep(1)
            oracle.requeue_silent(silence)
            alive()
    finally:
        server.stop(grace=2).wait()


def work(run_dir: Path, sweep: Sweep, address: str, worker_id: str, *, heartbeat: float, patience: float) -> None:
    """Run trials for a chief until it has none left.

    Args:
        run_dir: The sweep's folder, the chief's own.
        sweep: What trials are.
        address: The chief's.
        worker_id: The same after a restart: the worker gets its trial back.
        heartbeat: Seconds between two signs of life.
        patience: Seconds to wait for a chief that does not answer.

    Raises:
        ConnectionError: The chief did not answer for so long.
    """
    host, port = parse_address(address)
    wait_for_chief(address, patience)
    # How keras-tuner is told that it is a worker, and of which chief; a later sweep of this process is its own again.
    told = {"ORACLE_IP": host, "ORACLE_PORT": str(port), "TUNER_ID": f"worker{worker_id}"}
    told = {f"KERASTUNER_{name}": value for name, value in told.items()}
    os.environ.update(told)
    oracle_client.TIMEOUT = patience
    try:
        TrialRunner(make_oracle_of(sweep, None), sweep, run_dir, heartbeat).search()
    except grpc.RpcError as error:
        if error.code() in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE):
            raise _unreachable(address, patience) from None
        raise
    finally:
        for name in told:
            del os.environ[name]


def wait_for_chief(address: str, patience: float) -> None:
    """Return when a chief answers; raise ``ConnectionError`` after so many seconds."""
    with grpc.insecure_channel(address) as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=patience)
        except grpc.FutureTimeoutError:
            raise _unreachable(address, patience) from None


def _unreachable(address: str, patience: float) -> ConnectionError:
    return ConnectionError(f"No oracle answered at {address} for {patience:g} s.")


def join(
    name: str,
    dataset: str,
    run_dir: str | Path,
    *,
    oracle: str,
    worker_id: str | None = None,
    silence: float = 300.0,
    patience: float = 300.0,
    progress: bool = True,
    **options: Any,
) -> None:
    """Be a worker of a sweep whose chief is elsewhere; the arguments are those of ``tune`` on the chief.

    Args:
        name: A registered model.
        dataset: A corpus's name.
        run_dir: The sweep's folder, which the chief sees too.
        oracle: ``HOST:PORT`` of the chief.
        worker_id: The same after a restart; None is ``default_worker_id()``.
        silence: As the chief has it: signs of life come ten times as often.
        patience: Seconds to wait for a chief that does not answer.
        progress: Whether to say what is going on.
        **options: As for ``tune``.

    Raises:
        ConnectionError: No chief answered for ``patience`` seconds.
        ValueError: The folder is another sweep's.
    """
    parse_address(oracle)
    run_dir, worker_id = Path(run_dir), worker_id or default_worker_id()
    planned = {key: value for key, value in options.items() if key not in ("trials", "keep", "workers")}
    asked = plan(name, dataset, **{**PLAN_DEFAULTS, **planned})
    if progress:
        print(f"worker {worker_id} asks {oracle} for trials", flush=True)
    wait_for_chief(oracle, patience)
    found = read_sweep(run_dir)
    if found.to_json() != asked.to_json():
        differences = checks.difference(found.to_json(), asked.to_json())
        raise ValueError(f"{run_dir} holds another sweep: {differences}.")
    work(run_dir, found, oracle, worker_id, heartbeat=silence / 10, patience=patience)


@contextlib.contextmanager
def local_workers(run_dir: Path, address: str, number: int, say: Callable[[str], Any]) -> Iterator[Callable[[], None]]:
    """Start workers on this machine; give a function that starts again those that were killed.

    They end with this process, however it ends.
    """
    running: dict[int, subprocess.Popen[bytes]] = {}
    restarts = dict.fromkeys(range(1, number + 1), 0)
    ended = len(list((run_dir / "trials").glob("*/result.json")))

    def start(worker: int) -> None:
        log = (run_dir / f"worker{worker}.log").open("ab")
        threads = max(1, (os.cpu_count() or 1) // number)
        environment = {**os.environ, "TF_NUM_INTRAOP_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        command = [sys.executable, "-m", "dense_lstm_zoo.tuning.fleet", str(run_dir), address, str(worker)]
        with log:
            running[worker] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment)

    def supervise() -> None:
        nonlocal ended
        now = len(list((run_dir / "trials").glob("*/result.json")))
        if now > ended:
            ended = now
            restarts.update(dict.fromkeys(restarts, 0))
        for worker, process in list(running.items()):
            status = process.poll()
            if status is None or status == 0:
                continue
            restarts[worker] += 1
            if restarts[worker] > MOST_RESTARTS:
                raise RuntimeError(
                    f"Worker {worker} ended {restarts[worker]} times without a trial between; see "
                    f"{run_dir / f'worker{worker}.log'}."
                )
            say(f"worker {worker} ended with status {status} and is started again")
            start(worker)

    for worker in restarts:
        start(worker)
    try:
        yield supervise
        for process in running.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=30)
    finally:
        for process in running.values():
            process.terminate()
            process.wait()
            if process.stdin is not None:
                process.stdin.close()


def free_address() -> str:
    """Return an address on this machine whose port nobody has at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def read_sweep(run_dir: Path) -> Sweep:
    """Return the sweep of a folder."""
    return Sweep.from_json(json.loads(files.existing_file(run_dir / SETTINGS).read_text(encoding="utf-8")))


def main(run_dir: Path, address: str, worker_id: str) -> None:
    """Be a worker of the sweep in a folder; end with the process that started this one."""
    end_with_parent()
    work(run_dir, read_sweep(run_dir), address, worker_id, heartbeat=5, patience=60)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
