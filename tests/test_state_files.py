"""The files of a run's state: damaged, of other versions, or made by others."""

import hashlib
import json
import shutil

import numpy as np
import pytest

from dense_lstm_zoo.storage import files
from tests.checkpoint_harness import a_batch, an_epoch, checkpoint, small_model
from tests.files_harness import names


@pytest.fixture(scope="module")
def model():
    return small_model()


def test_training_ends_after_as_many_epochs_without_a_better_score_as_patience_allows(tmp_path):
    model = small_model()
    with checkpoint(tmp_path / "run", model, at_least=2) as running:  # patience is 3, and counts from epoch 2
        ends = []
        for score in (0.5, 0.4, 0.4, 0.5, 0.3):
            an_epoch(running, score)
            ends.append(running.is_done)
        assert (ends, model.stop_training) == ([False, False, False, False, True], True)
    with checkpoint(tmp_path / "other", small_model()) as running:
        for score in (0.5, 0.6, 0.4, 0.4):
            an_epoch(running, score)
        assert not running.is_done
        an_epoch(running, 0.6)
        assert running.is_done


def test_a_damaged_state_is_begun_anew_where_it_is_asked_to_be_overwritten(tmp_path, model):
    """As one that was killed while it was deleted."""
    with checkpoint(tmp_path / "state", model) as running:
        an_epoch(running)
    for name in ("epoch-1.npz", "state.json"):
        copy = tmp_path / name / "state"
        shutil.copytree(tmp_path / "state", copy)
        (copy / name).write_bytes(b"{")
        with pytest.raises(ValueError, match=r"damaged.*or overwrite it"):
            checkpoint(copy)
        with checkpoint(copy, overwrite=True) as anew:
            assert anew.epochs == 0


def test_any_changed_byte_of_a_state_is_found(tmp_path, model):
    with checkpoint(tmp_path / "state", model) as running:
        an_epoch(running)
    rng = np.random.default_rng(0)
    for name in ("state.json", "epoch-1.npz", "best-1.npz"):
        file = tmp_path / "state" / name
        content = file.read_bytes()
        for position in (0, len(content) - 1, *rng.integers(0, len(content), 25)):
            changed = bytearray(content)
            changed[position] ^= 1
            file.write_bytes(changed)
            with pytest.raises(ValueError, match=f"{name} is (missing or )?damaged"):
                checkpoint(tmp_path / "state")
        file.write_bytes(content)
    checkpoint(tmp_path / "state")._lock.release()


@pytest.mark.parametrize("version", [1, 2, 99])
def test_a_state_of_another_version_is_refused_with_a_way_out(tmp_path, model, version):
    with checkpoint(tmp_path / "state", model) as running:
        an_epoch(running)
    path = tmp_path / "state" / "state.json"
    state = json.loads(path.read_text()) | {"format": version}
    del state["seal"]
    if version > 1:  # the first format had no seal, the sha256 of the rest as the file has it
        state["seal"] = hashlib.sha256(files.to_json(state).encode()).hexdigest()
    path.write_text(files.to_json(state))
    message = (
        rf"run of another version .*state format {version}; this version reads 3.*Finish it .*or delete .*state to"
    )
    with pytest.raises(ValueError, match=message):
        checkpoint(tmp_path / "state")
    with checkpoint(tmp_path / "state", overwrite=True) as anew:
        assert anew.epochs == 0


def test_a_state_inside_an_epoch_takes_the_place_of_the_last(tmp_path, model):
    with checkpoint(tmp_path / "state", model, minutes=1e-9) as running:
        a_batch(running, 3)
        assert names(tmp_path / "state") == ["epoch-0-batch-4.npz", "lock", "state.json"]
        an_epoch(running)
        a_batch(running, 0)
        a_batch(running, 5)
        assert names(tmp_path / "state") == ["best-1.npz", "epoch-1-batch-6.npz", "lock", "state.json"]
        a_batch(running, 8)  # the last of the epoch, which is saved with the scores
        assert running.place == "batch 6 of epoch 2"
    with checkpoint(tmp_path / "state", model) as resumed:
        assert (resumed.epochs, resumed.best_epoch, resumed.place) == (1, 1, "batch 6 of epoch 2")


def test_nothing_is_saved_inside_an_epoch_before_it_is_time(tmp_path, model):
    with checkpoint(tmp_path / "state", model, minutes=10) as running:
        a_batch(running, 3)
        assert names(tmp_path / "state") == ["lock"]
    assert not (tmp_path / "state").exists()


def sealed(folder, change):
    """Change a state as one who knows the format would."""
    from dense_lstm_zoo.training import state_files

    state = state_files.read_state(folder / "state.json")
    state["sha256"] = {name: files.sha256(folder / name) for name in state["sha256"]}
    change(state)
    state_files.write_state(folder / "state.json", state)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"history": [{"loss": 1.0}]}, "val_accuracy of an epoch is None"),
        ({"history": ["x"]}, "history is not a list of epochs"),
        ({"history": [{"val_accuracy": "0.9"}]}, "'0.9', not a number"),
        ({"best_epoch": 7}, "best epoch is 7, of 1"),
        ({"best_epoch": [1]}, "best epoch"),
        ({"sha256": ["x"]}, "checksums"),
        ({"settings": []}, "no settings"),
        ({"inside": []}, "number of batches inside an epoch is None"),
        ({"inside": {"batches": 0, "callbacks": {}}}, "number of batches inside an epoch is 0"),
        ({"inside": {"batches": 2, "callbacks": {"x": 1}}}, "no states of callbacks"),
        ({"inside": {"batches": 2, "callbacks": {"x": {"y": "z"}}}}, "y of the callback x is 'z', not a number"),
        ({"history": [], "best_epoch": None}, "best epoch is None, of 0"),
    ],
)
def test_a_state_of_another_form_is_refused_by_name(tmp_path, model, change, message):
    with checkpoint(tmp_path / "state", model) as running:
        an_epoch(running)
    sealed(tmp_path / "state", lambda state: state.update(change))
    with pytest.raises(ValueError, match=rf"state\.json is damaged \(.*{message}.*delete .*state to start over"):
        checkpoint(tmp_path / "state")


def huge(shape):
    """The header of an array of that shape, and nothing behind it."""
    import io

    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": shape})
    return header.getvalue()


@pytest.mark.parametrize("kind", ["huge", "other", "pickle", "compressed", "short", "no zip"])
def test_arrays_of_another_shape_are_refused_before_memory_is_taken(tmp_path, model, kind):
    import io
    import zipfile

    with checkpoint(tmp_path / "state", model) as running:
        an_epoch(running)
    path = tmp_path / "state" / "best-1.npz"
    with np.load(path) as arrays:
        values = {name: arrays[name] for name in arrays.files}
    if kind == "huge":
        with zipfile.ZipFile(path, "w") as archive:
            for i in range(len(values)):
                archive.writestr(f"arr_{i}.npy", huge((10**9, 10**9)))
    elif kind == "no zip":
        path.write_bytes(b"PK")
    else:
        changed = {
            "other": {**values, "arr_0": np.zeros((5, 3), np.float32)},
            "pickle": {**values, "arr_0": np.array([[{}, {}]] * 5, object)},
            "short": {"arr_0": values["arr_0"]},
            "compressed": values,
        }[kind]
        file = io.BytesIO()
        (np.savez_compressed if kind == "compressed" else np.savez)(file, **changed)
        path.write_bytes(file.getvalue())
    sealed(tmp_path / "state", lambda state: None)
    before = model.get_weights()
    with (
        pytest.raises(ValueError, match=r"best-1\.npz is damaged \("),
        checkpoint(tmp_path / "state", model) as resumed,
    ):
        resumed.resume(model)
    for ours, theirs in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(ours, theirs)
