"""overwrite replaces a folder of the kind that is written, never another one."""

import json
import re
import shutil

import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.storage import bundle_names, files, mounted, overwriting
from tests.bundle_harness import bundle
from tests.files_harness import content
from tests.training_harness import small_demo

# What makes a folder one of a kind: its main file, and one that only this package writes beside it.
MARKS = {
    "bundle": {"model.weights.h5": "", "config.json": '{"model": "bilstm", "arguments": {}}'},
    "word table": {"vectors.npy": "", "config.json": '{"name": "tiny", "sha256": ""}'},
    "export": {"saved_model.pb": "", "SIGNATURES.md": ""},
}


def make(folder, kind):
    folder.mkdir(exist_ok=True)
    for name, text in MARKS[kind].items():
        (folder / name).write_text(text)


def write_manifest_of(folder, sums):
    (folder / "manifest.json").write_text(json.dumps({"sha256": sums}) + "\nsha256 of the above: 0")


@pytest.mark.parametrize("kind", MARKS)
def test_a_folder_of_the_kind_may_be_replaced_and_no_other(kind, tmp_path):
    overwriting.check(tmp_path / "none", kind)
    for kind_there in MARKS:
        folder = tmp_path / kind_there
        make(folder, kind_there)
        if kind_there == kind:
            overwriting.check(folder, kind)
        else:
            with pytest.raises(
                FileExistsError, match=f"{kind_there} is an? {kind_there}, not an? {kind}: it is not overwritten"
            ):
                overwriting.check(folder, kind)
    with pytest.raises(FileExistsError, match=f"is not an? {kind}, and holds files"):
        overwriting.check(tmp_path, kind)


@pytest.mark.parametrize("kind", MARKS)
def test_a_name_that_other_programs_write_too_makes_no_folder_one_of_ours(kind, tmp_path):
    make(tmp_path, kind)
    sign = list(MARKS[kind])[1]
    for text in (None, '{"class_name": "Functional", "module": "keras"}', "{", "[" * 100_000, "1"):
        (tmp_path / sign).unlink(missing_ok=True)
        if text is not None:
            sign = "config.json"
            (tmp_path / sign).write_text(text)
        with pytest.raises(FileExistsError, match=f"is not an? {kind}, and holds files"):
            overwriting.check(tmp_path, kind)


def test_a_bundle_with_a_damaged_config_or_without_a_manifest_may_be_replaced(saved_bundle, tmp_path):
    folder = shutil.copytree(saved_bundle("bilstm"), tmp_path / "run")
    (folder / "config.json").write_text("{")
    overwriting.check(folder, "bundle")
    folder = shutil.copytree(saved_bundle("bilstm"), tmp_path / "other")
    (folder / "manifest.json").unlink()
    overwriting.check(folder, "bundle")


@pytest.mark.parametrize("hidden", [".tensorboard", "lost+found", ".x.deadbeef.dense-lstm-zoo"])
def test_what_stays_in_a_folder_that_is_filled_in_place_is_not_removed_with_another(hidden, tmp_path, monkeypatch):
    (tmp_path / "run" / hidden).mkdir(parents=True)
    with pytest.raises(FileExistsError, match="is not a bundle, and holds files"):
        overwriting.check(tmp_path / "run", "bundle")
    make(tmp_path / "run", "bundle")
    with pytest.raises(FileExistsError, match=re.escape(f"also holds '{hidden}', which")):
        overwriting.check(tmp_path / "run", "bundle")
    monkeypatch.setattr(mounted, "is_needed", lambda folder: folder == tmp_path / "run")
    overwriting.check(tmp_path / "run", "bundle")


def test_what_a_killed_process_left_half_written_may_be_replaced(tmp_path):
    make(tmp_path / "run", "bundle")
    (tmp_path / "run" / ".report.png.0123abcd.dense-lstm-zoo").touch()
    (tmp_path / "run" / ".onnx.0123abcd.dense-lstm-zoo").mkdir()
    overwriting.check(tmp_path / "run", "bundle")


def test_own_notes_in_a_folder_with_a_name_of_ours_are_not_removed(tmp_path):
    make(tmp_path / "run", "bundle")
    for name in ("README.md", "onnx"):
        (tmp_path / "run" / name).mkdir()
        (tmp_path / "run" / name / "notes.txt").touch()
        with pytest.raises(FileExistsError, match=f"also holds '{name}', which a bundle"):
            overwriting.check(tmp_path / "run", "bundle")
        shutil.rmtree(tmp_path / "run" / name)
    make(tmp_path / "export", "export")
    (tmp_path / "export" / "variables").mkdir()
    (tmp_path / "export" / "variables" / "variables.index").touch()
    overwriting.check(tmp_path / "export", "export")
    for name in ("assets/mine.txt", "assets.extra/mine.txt", "variables/notes.txt", "variables/my"):
        own = tmp_path / "export" / name
        own.parent.mkdir(exist_ok=True)
        own.mkdir() if name == "variables/my" else own.touch()
        with pytest.raises(FileExistsError, match=f"also holds '{name}', which an export"):
            overwriting.check(tmp_path / "export", "export")
        own.rmdir() if name == "variables/my" else own.unlink()


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
    make(tmp_path, kind)
    (tmp_path / "README.md").touch()
    overwriting.check(tmp_path, kind)
    (tmp_path / "notes.txt").touch()
    with pytest.raises(FileExistsError, match=f"also holds 'notes.txt', which an? {kind} does not have"):
        overwriting.check(tmp_path, kind)
    (tmp_path / "thesis").mkdir()
    with pytest.raises(FileExistsError, match=r"also holds 'notes\.txt' and 1 more"):
        overwriting.check(tmp_path, kind)
    (tmp_path / "thesis").rmdir()
    write_manifest_of(tmp_path, {"notes.txt": files.sha256(tmp_path / "notes.txt")})
    overwriting.check(tmp_path, kind)
    write_manifest_of(tmp_path, {"notes.txt": "x"})  # anybody can write names
    with pytest.raises(FileExistsError, match="also holds"):
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
    run_bundle.save(folder, overwrite=True)  # after the preset, which is its own too
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
