"""overwrite replaces a folder of the kind that is written, never another one."""

import shutil

import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.storage import bundle_names, overwriting
from tests.bundle_harness import bundle
from tests.files_harness import content
from tests.training_harness import small_demo

MARKS = {"bundle": "model.weights.h5", "word table": "vectors.npy", "export": "saved_model.pb"}


@pytest.mark.parametrize("kind", MARKS)
def test_a_folder_of_the_kind_may_be_replaced_and_no_other(kind, tmp_path):
    overwriting.check(tmp_path / "none", kind)
    (tmp_path / "lost+found").mkdir()
    overwriting.check(tmp_path, kind)  # a mounted disk with nothing on it
    for kind_there, mark in MARKS.items():
        folder = tmp_path / kind_there
        folder.mkdir()
        (folder / mark).touch()
        if kind_there == kind:
            overwriting.check(folder, kind)
        else:
            with pytest.raises(
                FileExistsError, match=f"{kind_there} is an? {kind_there}, not an? {kind}: it is not overwritten"
            ):
                overwriting.check(folder, kind)
    with pytest.raises(FileExistsError, match=f"is not an? {kind}, and holds files"):
        overwriting.check(tmp_path, kind)


@pytest.mark.slow
@pytest.mark.parametrize("format", ["saved_model", "onnx"])
def test_an_export_replaces_an_export_and_no_bundle(format, tmp_path):
    trained = bundle("bilstm")
    trained.save(tmp_path / "run")
    before = content(tmp_path / "run")
    with pytest.raises(FileExistsError, match="run is a bundle, not an export: it is not overwritten"):
        trained.export(tmp_path / "run", format=format, overwrite=True)
    assert content(tmp_path / "run") == before
    for _ in range(2):
        trained.export(tmp_path / "export", format=format, overwrite=True)


def test_a_bundle_a_preset_and_a_run_replace_no_other_files(tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.tex").write_text("years")
    trained = bundle("bilstm")
    for write in (
        lambda: trained.save(tmp_path / "thesis", overwrite=True),
        lambda: trained.save_to_preset(tmp_path / "thesis", overwrite=True),
        lambda: zoo.train("bilstm", small_demo(), tmp_path / "thesis", overwrite=True),
    ):
        with pytest.raises(FileExistsError, match="thesis is not a bundle, and holds files: it is not overwritten"):
            write()
    assert content(tmp_path) == {"thesis/thesis.tex": b"years"}


@pytest.mark.parametrize("kind", MARKS)
def test_what_is_not_of_the_kind_is_not_deleted_with_it(kind, tmp_path):
    (tmp_path / MARKS[kind]).touch()
    (tmp_path / "README.md").touch()
    overwriting.check(tmp_path, kind)
    (tmp_path / "notes.txt").touch()
    with pytest.raises(FileExistsError, match=f"also holds 'notes.txt', which an? {kind} does not have"):
        overwriting.check(tmp_path, kind)
    (tmp_path / "thesis").mkdir()
    with pytest.raises(FileExistsError, match=r"also holds 'notes\.txt' and 1 more"):
        overwriting.check(tmp_path, kind)
    (tmp_path / "thesis").rmdir()
    (tmp_path / "manifest.json").write_text('{"sha256": {"notes.txt": ""}}\nsha256 of the above: 0')
    overwriting.check(tmp_path, kind)
    (tmp_path / "manifest.json").write_text("[" * 100_000)
    with pytest.raises(FileExistsError, match="also holds"):
        overwriting.check(tmp_path, kind)


def test_what_training_writes_is_of_a_bundle(run):
    assert {entry.name for entry in run[1].iterdir()} <= bundle_names.ALL


def test_saving_over_a_run_keeps_what_repeats_it_and_tells_of_its_export(run, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(run[1], folder)
    run_bundle = zoo.load(folder)
    repeat = (folder / "run.toml").read_text() + "# mine\n"
    (folder / "run.toml").write_text(repeat)
    run_bundle.export(folder / "onnx", format="onnx")
    with pytest.warns(UserWarning, match="onnx, the export of the bundle that was there, is gone with it: export this"):
        run_bundle.save(folder, overwrite=True)
    assert (folder / "run.toml").read_text() == repeat
    assert not (folder / "onnx").exists()
    run_bundle.save(tmp_path / "other")
    assert not (tmp_path / "other" / "run.toml").exists()
    run_bundle.save(folder, overwrite=True)  # after another place
    run_bundle.export(folder / "onnx", format="onnx")
    with pytest.warns(UserWarning, match="onnx, the export of the bundle that was there, is gone with it: export this"):
        run_bundle.save_to_preset(folder, overwrite=True)
    assert (folder / "run.toml").read_text() == repeat


def test_weights_that_are_not_finite_are_not_saved_in_the_place_of_others(tmp_path):
    trained = bundle("bilstm")
    trained.save(tmp_path / "good")
    before = content(tmp_path)
    kernel = trained.network.weights[-1]
    kernel.assign(kernel.numpy() * np.nan)
    for write in (
        lambda: trained.save(tmp_path / "good", overwrite=True),
        lambda: trained.save_to_preset(tmp_path / "good", overwrite=True),
        lambda: trained.export(tmp_path / "export"),
        lambda: trained.export(tmp_path / "export", format="onnx"),
    ):
        with pytest.raises(zoo.BundleError, match=r"The model cannot be \w+: .* not finite numbers"):
            write()
    assert content(tmp_path) == before
