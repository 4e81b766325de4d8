"""Folders that cannot be renamed, such as mount points, are filled in place."""

import contextlib
import errno
from pathlib import Path

import pytest

from dense_lstm_zoo.storage import files, renames, temporary
from dense_lstm_zoo.storage import mounted as in_place
from tests.files_harness import mounted, names, write


@pytest.mark.parametrize("kind", ["bind", "tmpfs"])
def test_a_mount_point_is_filled_in_place(tmp_path, kind):
    with mounted(tmp_path / "run", kind) as path:
        (path / "lost+found").mkdir()  # what a new volume has
        assert files.check_new_folder(path).path == path
        assert files.beside(path, ".unfinished") == path / ".unfinished"
        for content in ("old", "new"):
            write(path, content)
            (path / content).mkdir()
        assert (path / "a").read_text() == "new"
        assert names(path) == ["a", "lost+found", "new"]
        with pytest.raises(ZeroDivisionError):
            write(path, "newer", ZeroDivisionError())
        assert (path / "a").read_text() == "new"
        with pytest.raises(FileExistsError, match="already exists"):
            files.check_new_folder(path)


def test_a_folder_that_turns_out_not_to_be_renamable_is_filled_in_place(tmp_path, monkeypatch):
    """As some file systems of containers have it: the mount shows in the error alone."""
    write(tmp_path / "run", "old")
    inode = (tmp_path / "run").stat().st_ino

    def busy(*args):
        raise OSError(errno.EBUSY, "Device or resource busy")

    monkeypatch.setattr(renames, "swap", busy)
    write(tmp_path / "run", "new")
    assert (tmp_path / "run" / "a").read_text() == "new"
    assert names(tmp_path / "run") == ["a"]
    assert names(tmp_path) == ["run"]
    assert (tmp_path / "run").stat().st_ino == inode


def test_a_kill_at_any_step_in_place_loses_nothing(tmp_path, monkeypatch):
    """Every rename is the last one of some process. The next writer then finds the old content or the new, whole."""
    monkeypatch.setattr(in_place, "is_needed", lambda folder: folder.name == "run")
    rename, states = Path.rename, []

    class KillError(BaseException):
        pass

    for step in range(12):
        path = tmp_path / str(step) / "run"
        path.mkdir(parents=True)
        for name in ("a", "b"):
            (path / name).write_text("old")
        steps_left = [step]

        def dying(old, new, countdown=steps_left):
            if not countdown[0]:
                raise KillError
            countdown[0] -= 1
            return rename(old, new)

        with monkeypatch.context() as patch, contextlib.suppress(KillError):
            patch.setattr(Path, "rename", dying)
            patch.setattr(renames, "rename_new", dying)
            patch.setattr(temporary, "remove", lambda path: None)
            patch.setattr(in_place, "recover", lambda folder: None)
            with files.new_folder(path, "any") as folder:
                for name in ("b", "c"):
                    (folder / name).write_text("new")
        in_place.recover(path)
        contents = {f.name: f.read_text() for f in path.iterdir()}
        assert contents in ({"a": "old", "b": "old"}, {"b": "new", "c": "new"}), step
        states.append(contents["b"])
    assert states == sorted(states, reverse=True)
    assert set(states) == {"old", "new"}


def test_the_current_folder_is_filled_while_it_is_empty_and_never_overwritten(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    write(Path(), "new")
    assert Path("a").read_text() == "new"
    assert names(tmp_path) == ["here"]
    for path in (".", "..", str(tmp_path / "here/"), "/"):
        with pytest.raises(FileExistsError, match="is or contains the current folder and is not empty"):
            files.check_new_folder(path, "any")
    write(Path("../other/"), "a trailing slash")
    assert names(tmp_path) == ["here", "other"]
