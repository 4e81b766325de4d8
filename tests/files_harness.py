"""Folders to write and to look into, and folders that are mounted."""

import contextlib
import subprocess

import pytest

from dense_lstm_zoo.storage import files


def write(path, content, error=None):
    with files.new_folder(path, "any") as folder:
        (folder / "a").write_text(content)
        if error:
            raise error


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def content(folder):
    """The bytes of every file in a folder, by its path there."""
    file_paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in file_paths}


@contextlib.contextmanager
def mounted(folder, kind, size="50%"):
    """A folder that is mounted while the block does its work: on another one, or on a tmpfs of a size."""
    folder.mkdir()
    source = folder.with_name("source")
    source.mkdir()
    options = ["--bind", str(source)] if kind == "bind" else ["-t", "tmpfs", "-o", f"size={size}", "none"]
    try:
        is_mounted = subprocess.run(["mount", *options, str(folder)], capture_output=True).returncode == 0
    except FileNotFoundError:
        is_mounted = False
    if not is_mounted:
        pytest.skip("needs the right to mount")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
