"""Batch jobs in several processes: every row once, the model once per process, and nothing after a kill."""

import collections
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.batch_harness import left_in, lines_of

pytestmark = pytest.mark.slow
TWO = ["--direct_num_workers=2", "--direct_running_mode=multi_processing"]
ROWS = 24_000


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Three files of short texts with ids."""
    folder = tmp_path_factory.mktemp("many")
    for name in range(3):
        rows = ({"id": number, "text": f"the film {number}"} for number in range(name, ROWS, 3))
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def command(model, source, output, *options):
    program = [sys.executable, "-m", "dense_lstm_zoo", "predict-batch"]
    return [*program, "--input", f"{source}/*.jsonl", "--output", str(output), "--model", str(model), *TWO, *options]


def ids(output):
    return collections.Counter(row["id"] for row in lines_of(output))


def test_two_processes_predict_every_row_once(batch_exports, many, tmp_path):
    run = subprocess.run(command(batch_exports["bilstm"][0], many, tmp_path / "out"), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert f"{ROWS:,} of {ROWS:,} rows predicted" in run.stdout
    assert run.stderr == ""
    assert ids(tmp_path / "out") == dict.fromkeys(range(ROWS), 1)
    assert left_in(tmp_path) == ["out"]


def test_a_run_that_is_killed_publishes_nothing_and_the_next_one_is_whole(batch_exports, many, tmp_path):
    arguments = command(batch_exports["bilstm"][0], many, tmp_path / "out", "--shard-rows", "500")
    first = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    work = wait_for(lambda: next((path for path in tmp_path.iterdir() if len(list(path.glob("part.*"))) >= 3), None))
    workers = children(first.pid)
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert not (tmp_path / "out").exists()
    assert work.is_dir()
    wait_for(lambda: not [pid for pid in workers if is_alive(pid)])  # the workers end without their parent
    run = subprocess.run(arguments, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert ids(tmp_path / "out") == dict.fromkeys(range(ROWS), 1)
    assert left_in(tmp_path) == ["out"]


def test_a_worker_that_is_killed_ends_the_run_with_nothing_published(batch_exports, many, tmp_path):
    arguments = command(batch_exports["bilstm"][0], many, tmp_path / "out", "--shard-rows", "500")
    first = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: next((path for path in tmp_path.iterdir() if len(list(path.glob("part.*"))) >= 3), None))
    os.kill(next(pid for pid in sorted(children(first.pid)) if "python" in command_of(pid)), signal.SIGKILL)
    try:
        _, errors = first.communicate(timeout=120)
    finally:
        first.kill()
    assert first.returncode == 1
    assert "nothing is published" in errors
    assert left_in(tmp_path) == []


def wait_for(condition, seconds=120):
    """Wait for a condition and return its value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.05)
    raise AssertionError("it never happened")


def children(pid):
    """The processes that a process has started, and theirs."""
    every = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    own = [child for child in every if status(child)[1] == str(pid)]
    return {process for child in own for process in (child, *children(child))}


def is_alive(pid):
    return status(pid)[0] not in ("Z", "")


def command_of(pid):
    return Path(f"/proc/{pid}/comm").read_text()


def status(pid):
    """The state of a process and its parent, or nothing if it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return "", ""
