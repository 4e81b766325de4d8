"""Runs that are interrupted inside an epoch go on from its last save, and end as if nothing had happened."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import keras
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.training.callbacks import EpochSeconds
from dense_lstm_zoo.training.epoch_log import EpochLog
from tests.files_harness import mounted
from tests.saving_harness import same_weights
from tests.training_harness import small_demo, train

ALWAYS = 1e-9  # saves after every batch
# Each with what a batch leaves to the next one: dropout, an average of the weights, states of a text, a decaying rate.
RUNS = {
    "classification": {"dropout": 0.3, "learning_rate_decay": 0.9, "dev_every": 2},
    "language_model": {"average": 0.9, "learning_rate": 0.5},
    "tagging": {"dropout": 0.2, "crf": True},
}


class Batches(keras.callbacks.Callback):
    """Keeps the numbers of the epochs' batches, and stops with an error in one of them."""

    def __init__(self, stop=None):
        super().__init__()
        self.numbers, self.stop, self.calls = [], stop, []

    def on_train_begin(self, logs=None):
        self.calls.append("begin")

    def on_train_end(self, logs=None):
        self.calls.append("end")

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        if (self.epoch, batch) == self.stop:
            raise InterruptedError
        self.numbers.append((self.epoch, batch))


def interrupted(folder, task, stop, **settings):
    with pytest.raises(InterruptedError):
        train(folder, task, callbacks=[Batches(stop)], checkpoint_minutes=ALWAYS, **{**RUNS[task], **settings})


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """Runs that nothing interrupted, by task, with the numbers of their batches."""
    results = {}

    def run(task):
        if task not in results:
            batches = Batches()
            bundle = train(tmp_path_factory.mktemp("runs") / task, task, callbacks=[batches], **RUNS[task])
            results[task] = bundle, batches.numbers
        return results[task]

    return run


@pytest.fixture
def of_task(uninterrupted, task):
    return uninterrupted(task)


def assert_equal(ours, theirs):
    assert same_weights(ours, theirs)
    assert ours.history.drop(columns="seconds").equals(theirs.history.drop(columns="seconds"))
    assert {**ours.metrics, "seconds": 0} == {**theirs.metrics, "seconds": 0}
    assert (ours.dev_curve is None) if theirs.dev_curve is None else ours.dev_curve.equals(theirs.dev_curve)


def test_a_run_that_stops_inside_an_epoch_ends_like_one_that_did_not(run, tmp_path, capsys):
    with pytest.raises(InterruptedError):
        train(tmp_path / "run", callbacks=[Batches((1, 3))], checkpoint_minutes=ALWAYS)
    later_batches = Batches()
    bundle = train(tmp_path / "run", callbacks=[later_batches], progress=True)
    assert "resuming an interrupted run after batch 3 of epoch 2\n" in capsys.readouterr().out
    assert later_batches.numbers == [(epoch, batch) for epoch in (1, 2) for batch in range(6)][3:]
    assert_equal(bundle, run[0])


@pytest.mark.slow
@pytest.mark.parametrize("task", RUNS)
def test_a_run_goes_on_with_the_next_batch_and_ends_the_same(of_task, tmp_path, capsys, task):
    expected, numbers = of_task
    interrupted(tmp_path / "run", task, (1, 5))
    later_batches = Batches()
    bundle = train(
        tmp_path / "run", task, callbacks=[later_batches], progress=True, checkpoint_minutes=30, **RUNS[task]
    )
    assert "resuming an interrupted run after batch 5 of epoch 2\n" in capsys.readouterr().out
    assert later_batches.numbers == [number for number in numbers if number >= (1, 5)]
    assert later_batches.calls == ["begin", "end"]
    assert "checkpoint_minutes" not in bundle.config["training"]  # nor is it one of the settings to resume with
    assert_equal(bundle, expected)
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


@pytest.mark.slow
def test_a_run_that_is_interrupted_again_and_again_ends_the_same(uninterrupted, tmp_path):
    expected, _ = uninterrupted("classification")
    for stop in ((0, 2), (0, 5)):
        interrupted(tmp_path / "run", "classification", stop)
    assert_equal(train(tmp_path / "run", **RUNS["classification"]), expected)


def test_seconds_count_both_parts_of_an_epoch_but_not_the_time_between():
    first, second, row = EpochSeconds(), EpochSeconds(), {}
    first.on_epoch_begin(3)
    assert 0 <= first.save()["elapsed"] < 60
    second.on_epoch_begin(3)
    second.resume({"elapsed": 7000.0})
    second.on_epoch_end(3, row)
    assert 7000 <= row["seconds"] < 7060


@pytest.mark.slow
def test_a_log_tells_once_a_minute_how_far_an_epoch_is(tmp_path, capsys, monkeypatch):
    train(tmp_path / "short", "classification", progress=True, **RUNS["classification"])
    assert "batches" not in capsys.readouterr().err  # its epochs take less than a minute
    monkeypatch.setattr(EpochLog, "SECONDS", 0.0)
    interrupted(tmp_path / "run", "classification", (1, 5))
    capsys.readouterr()
    train(tmp_path / "run", "classification", progress=True, **RUNS["classification"])
    log_lines = [line for line in capsys.readouterr().err.splitlines() if "batches" in line]
    assert log_lines[0].startswith("epoch 2: 6 of "), log_lines[:2]
    assert "100 %" in log_lines[-1]


@pytest.mark.slow
def test_the_rest_of_an_epoch_that_begins_with_a_new_optimiser_keeps_its_moments(tmp_path):
    """``unfreeze_after`` resets the optimiser as an epoch begins, also as a resumed one does."""
    source = tmp_path / "source"
    train(source, epochs=1)

    def go_on(name, **settings):
        freeze = {"init_from": str(source), "freeze": "encoder", "unfreeze_after": 1, "force_overlap": True}
        own = {"epochs": 2, "progress": False, "batch_size": 50, "seed": 5}
        return zoo.train("bilstm", small_demo(), tmp_path / name, **freeze, **own, **settings)

    with pytest.raises(InterruptedError):
        go_on("run", callbacks=[Batches((1, 3))], checkpoint_minutes=ALWAYS)
    assert_equal(go_on("run"), go_on("whole"))


def test_a_time_that_is_not_above_0_is_refused(tmp_path):
    with pytest.raises(ValueError, match="checkpoint_minutes must be a finite number above 0; received 0"):
        train(tmp_path / "run", checkpoint_minutes=0)


@pytest.mark.slow
def test_a_disk_that_fills_inside_an_epoch_loses_nothing(uninterrupted, tmp_path):
    class Fill(Batches):
        """Fills the disk before a batch is saved."""

        def on_train_batch_end(self, batch, logs=None):
            if (self.epoch, batch) == (1, 2):
                free = os.statvfs(tmp_path / "disk")
                (tmp_path / "disk" / "filler").write_bytes(bytes(free.f_bavail * free.f_bsize - 4096))

    settings = RUNS["classification"]
    with mounted(tmp_path / "disk", "tmpfs", "2m") as disk:
        with pytest.raises(OSError, match=r"(?i)no space left"):
            train(disk / "run", callbacks=[Fill()], checkpoint_minutes=ALWAYS, **settings)
        (disk / "filler").unlink()
        state = json.loads((disk / "run.unfinished" / "state.json").read_text())
        assert state["inside"]["batches"] == 2
        assert_equal(train(disk / "run", **settings), uninterrupted("classification")[0])


SCRIPT = """
import sys
from pathlib import Path
from tests.test_resume_inside import ALWAYS, RUNS, train
task = sys.argv[2]
train(Path(sys.argv[1]), task, progress=True, checkpoint_minutes=ALWAYS, **RUNS[task])
"""


@pytest.mark.slow
@pytest.mark.parametrize("task", RUNS)
def test_kill_9_inside_an_epoch_ends_with_the_same_weights(tmp_path, task):
    """The kills are real, and many fall into the writing of a state, as every batch is saved.

    The run that is not killed has a process of its own too: in this one, XLA compiles in another way (conftest.py).
    """

    def command(name):
        return [sys.executable, "-c", SCRIPT, str(tmp_path / name), task]

    subprocess.run(command("expected"), check=True, stdout=subprocess.DEVNULL)
    moments, state = random.Random(int(os.environ.get("KILL_SEED", "1"))), tmp_path / "run.unfinished" / "state.json"
    resumed = 0
    for number in range(12):
        process = subprocess.Popen(command("run"), stdout=subprocess.PIPE, text=True, bufsize=1)
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.split()[:2] == ["epoch", "loss"]:
                break
        resumed += any("resuming an interrupted run after batch" in line for line in lines)
        if number < 4:
            before = state.read_bytes() if state.exists() else b""
            deadline = time.monotonic() + 120
            while (not state.exists() or state.read_bytes() == before) and time.monotonic() < deadline:
                time.sleep(0.001)
            time.sleep(moments.uniform(0, 0.3))
            process.send_signal(signal.SIGKILL)
        process.communicate()
        if (tmp_path / "run").exists():
            break
    assert resumed
    assert_equal(zoo.load(tmp_path / "run"), zoo.load(tmp_path / "expected"))
