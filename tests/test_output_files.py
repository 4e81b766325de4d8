"""Output files named by users."""

import gzip
import os
import stat
import subprocess
import sys
import threading

import pytest

from dense_lstm_zoo.storage import files
from dense_lstm_zoo.storage.outputs import check_output
from dense_lstm_zoo.storage.packed_files import new_output


def write(path, content="new"):
    with files.new_file(path, "w") as file:
        file.write(content)


@pytest.mark.parametrize(("mode", "content"), [("w", "café\n" * 9999), ("wb", b"\xff\n" * 9999)])
def test_a_name_in_gz_makes_a_compressed_file_of_the_same_bytes_each_time(tmp_path, mode, content):
    for name in ("a.txt.gz", "b.GZ", "plain.txt"):
        with new_output(tmp_path / name, mode) as file:
            file.write(content)
    plain = content.encode() if mode == "w" else content
    assert (tmp_path / "plain.txt").read_bytes() == plain
    assert gzip.decompress((tmp_path / "a.txt.gz").read_bytes()) == plain
    assert (tmp_path / "a.txt.gz").read_bytes() == (tmp_path / "b.GZ").read_bytes()
    with pytest.raises(ZeroDivisionError), new_output(tmp_path / "a.txt.gz", mode) as file:
        file.write(content[: 1 // 0])
    assert gzip.decompress((tmp_path / "a.txt.gz").read_bytes()) == plain
    assert len(list(tmp_path.iterdir())) == 3


def test_a_link_stays_and_what_it_names_is_written(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "far" / "real.csv")
    (tmp_path / "second").symlink_to("link.csv")
    write(tmp_path / "second")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "second").is_symlink()
    assert (tmp_path / "far" / "real.csv").read_text() == "new"
    assert [f.name for f in (tmp_path / "far").iterdir()] == ["real.csv"]


def test_a_link_to_a_file_that_is_not_there_yet_makes_it(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "new.csv")
    check_output(tmp_path / "link", overwrite=False)
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "new.csv").read_text() == "new"


def test_a_link_to_itself_is_an_error(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="leads back to itself"):
        check_output(tmp_path / "a", overwrite=True)


def test_a_pipe_is_written_to_and_stays_one(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    check_output(pipe, overwrite=False)
    contents = []
    reader = threading.Thread(target=lambda: contents.append(pipe.read_text()), daemon=True)
    reader.start()
    write(pipe)
    if not stat.S_ISFIFO(pipe.stat().st_mode):  # the reader would wait for ever
        pytest.fail("the pipe was replaced")
    reader.join(timeout=60)
    assert contents == ["new"]
    assert [f.name for f in tmp_path.iterdir()] == ["pipe"]


def test_a_device_is_written_to_and_stays_one(tmp_path):
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))  # what /dev/null is
        device.write_text("x")
    except OSError:
        pytest.skip("no permission to make or to open a device here")
    check_output(device, overwrite=False)
    write(device)
    (tmp_path / "link").symlink_to(device)
    write(tmp_path / "link")
    assert stat.S_ISCHR(device.stat().st_mode)
    assert (tmp_path / "link").is_symlink()
    assert sorted(f.name for f in tmp_path.iterdir()) == ["link", "null"]


def test_a_full_device_is_named_in_the_error(tmp_path):
    device = tmp_path / "full"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 7))  # what /dev/full is
        device.open("w").close()
    except OSError:
        pytest.skip("no permission to make or to open a device here")
    with pytest.raises(OSError, match="full could not be written: No space left"):
        write(device)


def test_standard_output_by_name_is_not_replaced_when_it_is_a_file(tmp_path):
    code = (
        "from dense_lstm_zoo.storage import files, outputs\n"
        "outputs.check_output('/dev/stdout', overwrite=False)\n"
        "with files.new_file('/dev/stdout', 'w') as file:\n"
        "    file.write('new')\n"
    )
    with (tmp_path / "out").open("w") as out:
        out.write("before ")
        out.flush()
        inode = os.fstat(out.fileno()).st_ino
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "before new"
    assert (tmp_path / "out").stat().st_ino == inode


def test_what_is_there_is_replaced_only_when_asked_and_keeps_its_mode(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")
    path.chmod(0o640)
    (tmp_path / "link.csv").symlink_to(path)
    for name in ("out.csv", "link.csv"):
        with pytest.raises(FileExistsError, match=r"already exists.*--overwrite"):
            check_output(tmp_path / name, overwrite=False)
    check_output(path, overwrite=True)
    write(path)
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_folders_and_files_in_place_of_folders_are_refused_before_any_work(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(IsADirectoryError, match="name a file"):
        check_output(tmp_path, overwrite=True)
    with pytest.raises(NotADirectoryError, match="file is a file"):
        check_output(tmp_path / "file" / "out.csv", overwrite=True)
