"""Folders of runs: volumes, links, folders deleted during a run, and the traces of kills."""

import itertools
import json
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.storage import files, temporary
from dense_lstm_zoo.storage.bundle_names import FOR_PEOPLE
from dense_lstm_zoo.training import run_folder
from tests.checkpoint_harness import an_epoch, checkpoint, small_model
from tests.files_harness import mounted, names
from tests.test_resume import SAVE
from tests.training_harness import interrupted, train


@pytest.fixture(scope="module")
def model():
    return small_model()


@pytest.mark.slow
def test_a_run_on_a_volume_goes_on_within_it_and_ends_there(tmp_path):
    with mounted(tmp_path / "run", "bind") as path:
        with interrupted(epoch=1, batch=1):
            train(path, epochs=2)
        assert names(path) == [".unfinished"]
        assert len(train(path, epochs=2).history) == 2
        assert names(tmp_path) == ["run", "source"]
        assert not [name for name in names(path) if name.startswith(".")]
        assert zoo.load(path).metrics["epochs"] == 2


def test_a_folder_deleted_in_mid_run_is_written_again(tmp_path, model):
    with checkpoint(tmp_path / "state", model) as running:
        an_epoch(running)
        shutil.rmtree(tmp_path / "state")
        an_epoch(running)
        again = tmp_path / "again"
        shutil.copytree(tmp_path / "state", again)
    with checkpoint(again, model) as resumed:
        assert resumed.epochs == 2
        resumed.resume(model)


@pytest.mark.parametrize("ended", [False, True])
def test_a_run_whose_folder_another_run_has_taken_stops_and_leaves_it_alone(tmp_path, model, ended):
    def state():
        return {name: (tmp_path / "state" / name).read_bytes() for name in names(tmp_path / "state")}

    with checkpoint(tmp_path / "state", model) as first:
        an_epoch(first)
        (tmp_path / "state").rename(tmp_path / "moved")
        second = checkpoint(tmp_path / "state", model)
        an_epoch(second)
        if ended:  # and killed, say
            second._lock.release()
        before = state()
        with pytest.raises(BlockingIOError, match="state"):
            an_epoch(first)
        first.remove()
    assert state() == before
    second._lock.release()


def test_all_that_a_run_writes_beside_its_bundle_is_gone_at_its_end(tmp_path):
    with interrupted(epoch=1, batch=1):
        train(tmp_path / "run", epochs=2, dev_every=1, checkpoint_minutes=1e-9)
    assert "dev_curve.csv" in names(tmp_path / "run.unfinished")
    train(tmp_path / "run", epochs=2, dev_every=1)
    assert names(tmp_path) == ["run"]


def test_a_state_whose_bundle_is_written_is_removed_and_another_runs_is_not(run, tmp_path):
    _, folder = run
    shutil.copytree(folder, tmp_path / "run")
    state = tmp_path / "run.unfinished"
    config = json.loads((folder / "config.json").read_text())
    for settings, lock, stays in (
        *((config, "lock", False), ({**config, "model": "lstm"}, "lock", True), (None, "lock", True)),
        (config, "other", True),
    ):
        state.mkdir()
        (state / lock).touch()
        (state / "state.json").write_text(json.dumps({"settings": settings} if settings else []))
        with pytest.raises(FileExistsError, match="already exists"):
            train(tmp_path / "run")
        assert state.exists() == stays
        shutil.rmtree(state, ignore_errors=True)
    # The end of a run adds to its settings.
    own = {"files": {"train_file": "x.csv"}, "fold": [1, 5]}
    at_end = {**config, "thresholds": {"a": 0.3}, "training": {**config["training"], **own}}
    (tmp_path / "run" / "config.json").write_text(json.dumps(at_end))
    state.mkdir()
    (state / "lock").touch()
    (state / "state.json").write_text(json.dumps({"settings": config}))
    run_folder.tidy(tmp_path / "run")
    assert not state.exists()


KILLED_BEFORE_REMOVAL = """
import os, signal, sys
from pathlib import Path
from dense_lstm_zoo.storage import work_folders
from dense_lstm_zoo.training.checkpoint import Checkpoint
from tests.training_harness import train
remove = Checkpoint.remove
if sys.argv[2] == "before":
    Checkpoint.remove = lambda self: os.kill(os.getpid(), signal.SIGKILL)
else:
    def half(path, head, names):
        (path / head).unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    work_folders.remove = half
train(Path(sys.argv[1]), epochs=1)
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before", "during"])
def test_kill_9_between_the_bundle_and_the_end_leaves_nothing_for_long(tmp_path, moment):
    process = subprocess.run([sys.executable, "-c", KILLED_BEFORE_REMOVAL, str(tmp_path / "run"), moment])
    assert process.returncode == -signal.SIGKILL
    assert len(names(tmp_path)) == 2
    run_folder.tidy(tmp_path / "run")
    assert names(tmp_path) == ["run"]
    assert zoo.load(tmp_path / "run").metrics["epochs"] == 1


KILLED_IN_WRITE = """
import os, signal, sys
from pathlib import Path
import numpy as np
from tests.training_harness import train
save = np.savez
def half(file, *arrays):
    if "epoch-2" in os.readlink(f"/proc/self/fd/{file.fileno()}"):
        file.write(b"half")
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    save(file, *arrays)
np.savez = half
train(Path(sys.argv[1]), epochs=3)
"""


@pytest.mark.slow
def test_kill_9_while_an_epoch_is_written_leaves_a_part_that_the_next_start_removes(tmp_path):
    process = subprocess.run([sys.executable, "-c", KILLED_IN_WRITE, str(tmp_path / "run")])
    assert process.returncode == -signal.SIGKILL
    state = tmp_path / "run.unfinished"
    assert [name for name in names(state) if "epoch-2" in name]
    with interrupted(epoch=1, batch=0):
        train(tmp_path / "run", epochs=3)
    assert names(state) == ["best-1.npz", "epoch-1.npz", "lock", "state.json"]
    train(tmp_path / "run", epochs=3)
    assert names(tmp_path) == ["run"]


@pytest.mark.slow
def test_a_run_through_a_link_writes_its_target(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with interrupted(epoch=1, batch=0):
        train(tmp_path / "link", epochs=2)
    assert names(tmp_path) == ["link", "target.unfinished"]
    train(tmp_path / "link", epochs=2)
    assert names(tmp_path) == ["link", "target"]
    assert (tmp_path / "link").is_symlink()
    assert zoo.load(tmp_path / "link").metrics["epochs"] == 2


@pytest.mark.parametrize("name", ["", "a\0b", "a" * 250])
def test_a_run_with_a_name_that_no_folder_can_have_is_refused_before_any_work(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dense_lstm_zoo.corpora.loader.load_corpus", None)
    with pytest.raises(ValueError, match="folder"):
        zoo.train("bilstm", "demo", name)
    with pytest.raises(ValueError, match="folder"):
        zoo.run_protocol("bilstm", "demo", name)
    assert not names(tmp_path)


@pytest.mark.slow
def test_kill_9_during_a_save_to_a_volume_loses_nothing(run, tmp_path):
    """The next call that names the folder finishes or undoes a move that a kill broke off."""
    bundle, folder = run
    expected = bundle.predict(["The soup was bland."])
    moments = random.Random(2)
    with mounted(tmp_path / "volume", "bind") as path:
        bundle.save(path)
        for _ in range(3):
            command = [sys.executable, "-c", SAVE, str(folder), str(path)]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            assert process.stdout.readline() == "ready\n"
            time.sleep(moments.uniform(0, 2))
            process.send_signal(signal.SIGKILL)
            process.communicate()
            files.check_new_folder(path, "bundle")
            assert zoo.load(path).predict(["The soup was bland."]) == expected
            files_of_copy = {name for name in names(path) if not temporary.is_ours(name)}
            # The card, the report and the pictures come last: a kill may leave the bundle without them.
            assert set(names(folder)) - FOR_PEOPLE <= files_of_copy <= set(names(folder))


@pytest.mark.parametrize("is_folder", [False, True])
def test_a_bundle_whose_training_has_not_ended_is_explained(tmp_path, monkeypatch, is_folder):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "trec.unfinished").mkdir()
    if is_folder:
        (tmp_path / "trec").mkdir()
    for load, path in itertools.product((zoo.load, zoo.from_preset), (tmp_path / "trec", "~/trec")):
        with pytest.raises((FileNotFoundError, zoo.BundleError)) as caught:
            load(path)
        assert f"{tmp_path / 'trec.unfinished'} holds the run, and the same command resumes it." in str(caught.value)
    (tmp_path / "trec.unfinished").rmdir()
    with pytest.raises((FileNotFoundError, zoo.BundleError), match="train") as caught:
        zoo.load(tmp_path / "trec")
    assert "resumes" not in str(caught.value)
