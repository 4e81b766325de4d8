"""Folders of unfinished work: other people's files in them stay, and a full disk leaves a work that goes on."""

import errno
import os

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.storage import files, work_folders
from dense_lstm_zoo.teaching import labelling
from tests.files_harness import names
from tests.training_harness import interrupted, train

TEXTS = ["one text", "a second", "a third one", "the fourth"]


def teacher(texts):
    return [[0.25, 0.75]] * len(texts)


def label(output, texts=TEXTS, **options):
    settings = {"labels": ["bad", "good"], "batch_size": 2, "progress": False, **options}
    return zoo.teach(teacher, texts, output=output, **settings)


def write_folder(path):
    with files.new_folder(path) as folder, files.new_file(folder / "a.json", "w") as file:
        file.write("{}")


def full_disk(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("work", [train, label])
def test_a_folder_of_somebody_else_is_refused_and_stays(work, tmp_path, monkeypatch):
    monkeypatch.setattr(labelling, "Labelling", None)  # it is refused before
    folder = tmp_path / "out.csv.unfinished"
    (folder / "mine").mkdir(parents=True)
    for name in ("notes.txt", "best-1.npz", "answers.f32"):
        (folder / name).write_text("mine")
    with pytest.raises(FileExistsError, match=r"out\.csv\.unfinished .* not of such work: answers\.f32, best-1\.npz"):
        work(tmp_path / "out.csv")
    assert names(tmp_path) == ["out.csv.unfinished"]
    assert names(folder) == ["answers.f32", "best-1.npz", "mine", "notes.txt"]


def test_files_that_others_put_beside_a_runs_state_outlive_it(tmp_path):
    state = tmp_path / "run.unfinished"
    with interrupted(epoch=1, batch=0):
        train(tmp_path / "run", epochs=2)
    for name in ("notes.txt", "mine.npz"):
        (state / name).write_text("mine")
    train(tmp_path / "run", epochs=2)
    assert names(state) == ["mine.npz", "notes.txt"]


def test_files_that_others_put_beside_a_labelling_outlive_it_also_through_a_link(tmp_path):
    (tmp_path / "target").mkdir()
    (tmp_path / "soft.csv.unfinished").symlink_to("target")
    for output, place in (("soft.csv", "target"), ("other.csv", "other.csv.unfinished")):

        def leaving(texts, place=tmp_path / place):
            (place / "notes.txt").write_text("mine")
            return teacher(texts)

        zoo.teach(leaving, TEXTS, output=tmp_path / output, labels=["bad", "good"], progress=False)
        assert names(tmp_path / place) == ["notes.txt"]
    assert (tmp_path / "soft.csv.unfinished").is_symlink()


def test_a_folder_whose_removal_was_killed_is_still_known_as_ours(tmp_path, monkeypatch):
    for name in ("settings.json", "answers.f32", "lock"):
        (tmp_path / name).touch()
    unlink = type(tmp_path).unlink
    monkeypatch.setattr(type(tmp_path), "unlink", lambda path, **_: unlink(path) if path.suffix else full_disk())
    work_folders.remove(tmp_path, "settings.json", r"answers\.f32")
    assert names(tmp_path) == ["lock"]
    work_folders.check(tmp_path)


def test_a_labelling_that_a_full_disk_ended_goes_on_in_the_same_process(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(files, "write_json", full_disk)
        with pytest.raises(OSError, match="No space"):
            label(tmp_path / "soft.csv")
    assert names(tmp_path) == []
    syncs, sync = [], os.fsync
    with monkeypatch.context() as patch:
        patch.setattr(labelling.os, "fsync", lambda handle: full_disk() if len(syncs) == 1 else syncs.append(handle))
        patch.setattr(files, "write_json", lambda path, value: path.write_text(files.to_json(value)))
        with pytest.raises(OSError, match=r"answers\.f32 could not be written: No space .* after 2 of 4 texts"):
            label(tmp_path / "soft.csv")
    assert os.fsync is sync
    assert label(tmp_path / "soft.csv").texts == 4
    assert names(tmp_path) == ["soft.csv"]


def test_a_full_disk_is_said_once_and_names_what_was_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(files.os, "fsync", full_disk)
    with pytest.raises(OSError, match="could not be written") as caught:
        write_folder(tmp_path / "run")
    assert caught.value.strerror == f"{tmp_path / 'run'} could not be written: No space left on device"
