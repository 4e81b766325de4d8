"""Files and folders written whole or not at all."""

import ctypes

import pytest

from dense_lstm_zoo import files


def write(path, content, error=None):
    with files.new_folder(path, overwrite=True) as folder:
        (folder / "a").write_text(content)
        if error:
            raise error


def write_half_a_file(path):
    with files.new_file(path) as file:
        file.write(b"new")
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("can_swap", [True, False])
def test_a_folder_is_replaced_and_nothing_is_left_beside_it(tmp_path, monkeypatch, can_swap):
    if not can_swap:

        def no_library(*args, **kwargs):
            raise OSError

        monkeypatch.setattr(ctypes, "CDLL", no_library)
    write(tmp_path / "run", "old")
    (tmp_path / "run" / "b").write_text("also old")
    write(tmp_path / "run", "new")
    assert [(f.name, f.read_text()) for f in (tmp_path / "run").iterdir()] == [("a", "new")]
    assert [f.name for f in tmp_path.iterdir()] == ["run"]


def test_an_error_leaves_the_old_folder_and_what_a_killed_writer_left_is_removed(tmp_path):
    write(tmp_path / "run", "old")
    (tmp_path / ".run.killed.new").mkdir()
    (tmp_path / ".run.killed.new" / "a").write_text("half")
    (tmp_path / ".run2.other.new").mkdir()
    with pytest.raises(ZeroDivisionError):
        write(tmp_path / "run", "new", ZeroDivisionError())
    assert (tmp_path / "run" / "a").read_text() == "old"
    assert sorted(f.name for f in tmp_path.iterdir()) == [".run2.other.new", "run"]


def test_a_file_is_replaced_only_when_it_is_whole_and_a_failed_write_names_it(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("old")
    with pytest.raises(OSError, match=r"x\.json could not be written: No space left on device"):
        write_half_a_file(path)
    assert path.read_text() == "old"
    with files.new_file(path, "w") as file:
        file.write("new ü\n")
        assert path.read_text() == "old"
    assert path.read_bytes() == "new ü\n".encode()
    assert [f.name for f in tmp_path.iterdir()] == ["x.json"]
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_half_a_file(tmp_path)
