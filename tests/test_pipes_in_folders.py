"""Folders in which a pipe or a device stands in a file's place: each reader says so and waits for nobody."""

import os
import shutil
import signal

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.batch.output import check as check_output
from dense_lstm_zoo.bundles.checks import BundleError
from dense_lstm_zoo.cli import loading
from dense_lstm_zoo.storage import json_files, overwriting
from dense_lstm_zoo.training import run_folder, state_files
from dense_lstm_zoo_runtime import ExportError, Predictor
from tests.bundle_harness import bundle

MEMBERS = ("config.json", "manifest.json", "vocabulary.txt", "labels.json", "model.weights.h5", "metrics.json")
EXPORTED = ("config.json", "manifest.json", "vocabulary.txt", "model.onnx")


@pytest.fixture(autouse=True)
def _in_time():
    """Interrupt a reader that waits."""
    signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it waits"))
    signal.alarm(60)
    yield
    signal.alarm(0)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder, new_bundle = tmp_path_factory.mktemp("folders"), bundle("bilstm")
    new_bundle.save(folder / "bundle")
    new_bundle.export(folder / "export", format="onnx")
    return folder


def spoil(source, target, name, damage):
    """Copy a folder with something else in a file's place."""
    shutil.copytree(source, target)
    (target / name).unlink(missing_ok=True)
    if damage == "pipe":
        os.mkfifo(target / name)
    elif damage == "link to a pipe":
        os.mkfifo(target.with_name("pipe"))
        (target / name).symlink_to(target.with_name("pipe"))
    else:
        (target / name).symlink_to("/dev/zero")
    return target


@pytest.mark.parametrize("damage", ["pipe", "link to a pipe", "link to a device"])
@pytest.mark.parametrize("name", MEMBERS)
def test_a_bundle_with_a_pipe_is_refused(name, damage, folders, tmp_path):
    folder = spoil(folders / "bundle", tmp_path / "spoilt", name, damage)
    with pytest.raises(BundleError, match="spoilt"):
        zoo.load(folder)
    with pytest.raises(BundleError, match="spoilt"):
        loading.open_folder(str(folder))


@pytest.mark.parametrize("damage", ["pipe", "link to a pipe", "link to a device"])
@pytest.mark.parametrize("name", EXPORTED)
def test_an_export_with_a_pipe_is_refused(name, damage, folders, tmp_path):
    folder = spoil(folders / "export", tmp_path / "spoilt", name, damage)
    with pytest.raises(ExportError, match="spoilt"):
        Predictor(folder)


def test_what_is_to_be_overwritten_is_looked_into_without_waiting(folders, tmp_path):
    folder = spoil(folders / "bundle", tmp_path / "spoilt", "manifest.json", "pipe")
    (folder / "notes.txt").touch()
    with pytest.raises(FileExistsError, match=r"also holds 'notes\.txt'"):
        overwriting.check(folder, "bundle")
    (tmp_path / "out").mkdir()
    os.mkfifo(tmp_path / "out" / "_manifest.json")
    with pytest.raises(FileExistsError, match="is not the output of predict-batch"):
        check_output(str(tmp_path / "out"), True)


def test_states_and_settings_that_are_pipes_are_damaged(folders, tmp_path):
    os.mkfifo(tmp_path / "state.json")
    with pytest.raises(ValueError, match="it is not a file"):
        state_files.read_state(tmp_path / "state.json")
    with pytest.raises(json_files.DamagedFileError, match="a pipe is in its place"):
        json_files.read_object(tmp_path / "state.json")
    run = shutil.copytree(folders / "bundle", tmp_path / "run")
    run_folder.state_folder(run).mkdir()
    os.mkfifo(run_folder.state_folder(run) / "state.json")
    run_folder.tidy(run)
    assert (run_folder.state_folder(run) / "state.json").is_fifo()
