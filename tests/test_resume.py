"""Runs that are interrupted, killed, diverge or fill the disk: only the running epoch is lost."""

import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import keras
import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.training.callbacks import DivergenceError
from dense_lstm_zoo.training.checkpoint import Checkpoint
from tests.files_harness import mounted
from tests.saving_harness import same_weights
from tests.training_harness import interrupted, small_demo, train


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """A run of four epochs that nothing interrupted."""
    return train(tmp_path_factory.mktemp("runs") / "whole", epochs=4)


@pytest.fixture(params=[(1, 3), *(pytest.param(place, marks=pytest.mark.slow) for place in ((0, 0), (2, 5)))], ids=str)
def stopped(request, tmp_path, capsys):
    """The epoch in which a run of three, in this test's folder, was interrupted."""
    epoch, batch = request.param
    with interrupted(epoch=epoch, batch=batch):
        train(tmp_path / "run", progress=True)
    assert f"the same command resumes after epoch {epoch}\n" in capsys.readouterr().out
    return epoch


def test_an_interrupted_run_goes_on_and_ends_with_the_same_weights(stopped, run, tmp_path, capsys):
    assert not (tmp_path / "run").exists()
    bundle = train(tmp_path / "run", progress=True)
    assert (f"resuming an interrupted run after epoch {stopped}\n" in capsys.readouterr().out) == (stopped > 0)
    assert same_weights(bundle, run[0])
    assert bundle.history["epoch"].tolist() == [1, 2, 3]
    assert [f.name for f in tmp_path.iterdir()] == ["run"]


@pytest.mark.slow
def test_a_run_interrupted_after_its_last_epoch_writes_its_bundle_without_training(
    uninterrupted, tmp_path, monkeypatch
):
    def killed(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(zoo.Bundle, "save", killed)
        with pytest.raises(KeyboardInterrupt):
            train(tmp_path / "run", epochs=4)
    monkeypatch.setattr(keras.Model, "fit", lambda *args, **kwargs: None)
    bundle = train(tmp_path / "run", epochs=4)
    assert same_weights(bundle, uninterrupted)


@pytest.mark.slow
def test_patience_counts_on_over_an_interruption(tmp_path):
    settings = {"epochs": 9, "patience": 2, "learning_rate": 1e-9}  # dev accuracy never changes: best is epoch 1
    with interrupted(epoch=2, batch=1):
        train(tmp_path / "run", **settings)
    bundle = train(tmp_path / "run", **settings)
    assert (bundle.metrics["best_epoch"], bundle.metrics["epochs"]) == (1, 3)


def interrupted_state(folder):
    with interrupted(epoch=1, batch=1):
        train(folder, epochs=4)
    return folder.with_name(folder.name + ".unfinished")


@pytest.mark.slow
def test_other_settings_or_data_are_refused_by_name_and_dropped_only_when_asked(tmp_path):
    state = interrupted_state(tmp_path / "run")
    with pytest.raises(
        ValueError, match=r"run\.unfinished holds an interrupted run with other settings: seed was 5 and"
    ):
        train(tmp_path / "run", epochs=4, seed=6)
    data = small_demo()
    data.train.texts[0] += " !"
    with pytest.raises(ValueError, match="data_sha256 was "):
        train(tmp_path / "run", epochs=4, dataset=data)
    assert json.loads((state / "state.json").read_text())["settings"]["training"]["seed"] == 5
    assert train(tmp_path / "run", epochs=1, seed=6, overwrite=True).config["training"]["seed"] == 6


@pytest.mark.slow
def test_a_damaged_state_is_refused_by_name(tmp_path):
    state = interrupted_state(tmp_path / "run")
    for name in ("state.json", "epoch-1.npz", "best-1.npz"):
        content = (state / name).read_bytes()
        (state / name).write_bytes(content[: len(content) // 2])
        with pytest.raises(ValueError, match=rf"{name} is (missing or )?damaged.*delete .*run\.unfinished"):
            train(tmp_path / "run", epochs=4)
        (state / name).write_bytes(content)


def test_two_processes_do_not_train_into_one_folder(tmp_path):
    with (
        Checkpoint(tmp_path / "state", {}, 3),
        pytest.raises(BlockingIOError, match=r"Another process is training in .*state"),
    ):
        Checkpoint(tmp_path / "state", {}, 3)
    with Checkpoint(tmp_path / "state", {}, 3) as second:
        assert second.epochs == 0


def test_a_loss_that_is_no_number_stops_with_batch_and_cause_and_keeps_the_best_epoch(tmp_path):
    with pytest.raises(
        DivergenceError, match=r"epoch 1, batch \d\. Likely cause: a learning rate of 1e\+20 is too high"
    ):
        train(tmp_path / "run", learning_rate=1e20, softmax_max_norm=None)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_late_divergence_leaves_the_bundle_of_the_best_epoch(tmp_path, monkeypatch):
    from dense_lstm_zoo.classification.batches import TrainingBatches

    def poison(self, epoch, logs=None):
        self.epoch = epoch
        if epoch == 2:
            weights = self.model.trainable_variables[-1]
            weights.assign(weights * np.float32(np.nan))

    monkeypatch.setattr(TrainingBatches, "on_epoch_begin", poison)
    with pytest.raises(DivergenceError, match=r"nan at epoch 3, batch 1\..* The best epoch so far, [12], is saved in"):
        train(tmp_path / "run", epochs=4)
    bundle = zoo.load(tmp_path / "run")
    assert len(bundle.history) == 2
    assert "nan at epoch 3" in bundle.metrics["diverged"]
    assert "stopped           The loss became nan" in (tmp_path / "run" / "README.md").read_text()
    assert all(np.isfinite(w).all() for w in bundle.model.get_weights())
    assert [f.name for f in tmp_path.iterdir()] == ["run"]


def test_float16_is_named_as_the_cause():
    from dense_lstm_zoo.training.callbacks import FiniteLoss

    callback = FiniteLoss()
    callback.set_model(keras.Sequential([keras.Input((2,)), keras.layers.Dense(2, dtype="mixed_float16", name="half")]))
    callback.on_epoch_begin(0)
    callback.on_train_batch_end(0, {"loss": 2.5})
    with pytest.raises(DivergenceError, match=r"inf at epoch 1, batch 2\. .*float16 overflows.*layer half.*was 2\.5"):
        callback.on_train_batch_end(1, {"loss": math.inf})
    with pytest.raises(DivergenceError, match="The dev loss is nan after epoch 1"):
        callback.on_epoch_end(0, {"val_loss": math.nan})


@pytest.mark.slow
def test_a_full_disk_leaves_the_previous_bundle_and_checkpoint_whole(tmp_path):
    with mounted(tmp_path / "disk", "tmpfs", "2m") as disk:
        bundle = train(disk / "run", epochs=1)
        expected = bundle.predict(["The soup was bland."])
        free = shutil.disk_usage(disk).free
        (disk / "filler").write_bytes(bytes(free - (30 << 10)))
        with pytest.raises(OSError, match=r"(?i)no space left"):
            bundle.save(disk / "run", overwrite=True)
        assert zoo.load(disk / "run").predict(["The soup was bland."]) == expected
        with pytest.raises(OSError, match=r"(?i)no space left"):
            train(disk / "other", epochs=2)
        assert sorted(f.name for f in disk.iterdir()) == ["filler", "run"]  # nothing to resume from
        (disk / "filler").unlink()
        train(disk / "other", epochs=2)
        assert sorted(f.name for f in disk.iterdir()) == ["other", "run"]


SCRIPT = """
import sys
from pathlib import Path
from tests.training_harness import train
train(Path(sys.argv[1]), epochs=4, progress=True)
"""


@pytest.mark.slow
def test_kill_9_at_random_moments_ends_with_the_same_weights(tmp_path):
    """The kills are real. Each new process goes on where the last one was killed, or begins again.

    The run that nothing interrupted is a process too: in this one, programs are compiled without optimisation.
    """
    subprocess.run([sys.executable, "-c", SCRIPT, str(tmp_path / "whole")], check=True, stdout=subprocess.DEVNULL)
    moments, killed, started = random.Random(int(os.environ.get("KILL_SEED", "1"))), 0, time.time()
    while not (tmp_path / "run").exists():
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(tmp_path / "run")], stdout=subprocess.PIPE, text=True, bufsize=1
        )
        # Training lasts a few seconds after a start of many: wait for its first line, then a random moment.
        for line in process.stdout:
            if line.split()[:2] == ["epoch", "loss"]:
                break
        if killed < 6:
            time.sleep(moments.uniform(0, 4))
            process.send_signal(signal.SIGKILL)
            killed += 1
        process.communicate()
        assert time.time() - started < 600
    assert killed
    assert same_weights(zoo.load(tmp_path / "run"), zoo.load(tmp_path / "whole"))


SAVE = """
import sys
import dense_lstm_zoo as zoo
bundle = zoo.load(sys.argv[1])
print("ready", flush=True)
while True:
    bundle.save(sys.argv[2], overwrite=True)
"""


@pytest.mark.slow
def test_kill_9_during_a_save_leaves_a_whole_bundle(tmp_path):
    expected = train(tmp_path / "first", epochs=1).predict(["The soup was bland."])
    shutil.copytree(tmp_path / "first", tmp_path / "run")
    moments = random.Random(1)
    for _ in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", SAVE, str(tmp_path / "first"), str(tmp_path / "run")],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout.readline() == "ready\n"
        time.sleep(moments.uniform(0, 2))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert zoo.load(tmp_path / "run").predict(["The soup was bland."]) == expected
    zoo.load(tmp_path / "run").save(tmp_path / "run", overwrite=True)
    assert sorted(f.name for f in tmp_path.iterdir()) == ["first", "run"]
