"""overwrite replaces a folder of the kind that is written, never another one."""

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo import replaceable
from tests.bundle_harness import bundle
from tests.files_harness import content
from tests.training_harness import small_demo

MARKS = {"bundle": "model.weights.h5", "word table": "vectors.npy", "export": "saved_model.pb"}


@pytest.mark.parametrize("kind", MARKS)
def test_a_folder_of_the_kind_may_be_replaced_and_no_other(kind, tmp_path):
    replaceable.check(tmp_path / "none", kind)
    (tmp_path / "lost+found").mkdir()
    replaceable.check(tmp_path, kind)  # a mounted disk with nothing on it
    for found, mark in MARKS.items():
        folder = tmp_path / found
        folder.mkdir()
        (folder / mark).touch()
        if found == kind:
            replaceable.check(folder, kind)
        else:
            with pytest.raises(FileExistsError, match=f"{found} is an? {found}, not an? {kind}: it is not overwritten"):
                replaceable.check(folder, kind)
    with pytest.raises(FileExistsError, match=f"is not an? {kind}, and holds files"):
        replaceable.check(tmp_path, kind)


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
