"""Files of word vectors that are cut short, damaged, or none, and what is asked of them wrongly."""

import gzip
import zipfile

import numpy as np
import pytest

from dense_lstm_zoo.data.vectors import read_vectors
from tests.vector_files import expected, some_lines, write


@pytest.fixture
def path(tmp_path):
    return tmp_path / "vectors.txt"


def test_a_truncated_gzip_file_keeps_what_came_before(path):
    lines = some_lines([f"w{i}" for i in range(5000)])
    packed = gzip.compress("\n".join(lines).encode())
    path.write_bytes(packed[: len(packed) // 2])
    result = read_vectors(path, most_frequent=None)
    num_words = len(result.words)
    assert 1500 < num_words < 3500
    assert result.words == [f"w{i}" for i in range(num_words)]
    assert np.array_equal(result.matrix, expected(lines[:num_words]))
    assert result.report.truncated
    assert result.report.lines == num_words
    assert f"truncated or damaged after line {num_words:,}" in str(result.report)
    path.write_bytes(packed[:-4])
    assert read_vectors(path, most_frequent=None).report.truncated


@pytest.mark.parametrize("damage", ["stream", "checksum"])
def test_a_damaged_zip_member_keeps_what_came_before(path, damage):
    lines = some_lines([f"w{i}" for i in range(30_000)])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("vectors.txt", "\n".join(lines))
        offset = archive.start_dir
    packed = bytearray(path.read_bytes())
    if damage == "stream":
        packed[offset // 2 : offset // 2 + 2000] = b"\xff" * 2000
    else:
        packed[offset + 16] ^= 1  # the member's checksum in the archive's directory
    path.write_bytes(packed)
    result = read_vectors(path, most_frequent=None)
    assert result.report.truncated
    good = 10_000  # well before the damage
    assert result.words[:good] == [f"w{i}" for i in range(good)]
    assert np.array_equal(result.matrix[:good], expected(lines[:good]))


def test_a_zip_archive_cut_short_or_of_several_files_is_refused(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "the 1 2\n")
        archive.writestr("folder/b.txt", "the 1 2\n")
    with pytest.raises(ValueError, match=r"holds 2: a\.txt, folder/b\.txt"):
        read_vectors(path, most_frequent=None)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "the 1 2\n" * 20)
    content = path.read_bytes()
    for damaged in (
        content[:60],
        content[:4] + content[60:],
    ):  # the end is missing; the directory points before the start
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="cannot be read as a zip archive"):
            read_vectors(path, most_frequent=None)
    with zipfile.ZipFile(path, "w"):
        pass
    with pytest.raises(ValueError, match="holds 0: none"):
        read_vectors(path, most_frequent=None)


@pytest.mark.parametrize(
    "content",
    [
        b"2 4\nthe \x01\x02\xff\xfe\x9c\x01\x02\x03\x81\x92\xa3\xb4\xc5\xd6\xe7\xf8\nof " + b"\xf0" * 16 + b"\n",
        b"2 1\nthe " + np.ones(1, np.float32).tobytes() + b"\n",
        b"\x80" * (9 << 20),
        b"",
        b"\n\n",
        b"some text\nwithout any numbers\n",
        b"the nan 1\nof inf 2\n",
        gzip.compress(b"the 1 2\n", mtime=0)[:12],
        gzip.compress(b"", mtime=0),
    ],
    ids=["binary", "binary with NUL", "no line end", "empty", "blank", "prose", "no finite", "cut gzip", "empty gzip"],
)
def test_a_file_without_vectors_is_refused_with_the_accepted_formats(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"Accepted: text with one word and its numbers on each line"):
        read_vectors(path, most_frequent=None)


def test_a_folder_is_refused_and_a_missing_file_names_near_matches(tmp_path):
    (tmp_path / "glove.6B.50d.txt").touch()
    with pytest.raises(ValueError, match="is a folder"):
        read_vectors(tmp_path, most_frequent=None)
    with pytest.raises(FileNotFoundError, match=r"Did you mean 'glove\.6B\.50d\.txt'"):
        read_vectors(tmp_path / "glove.6b.50d.txt", most_frequent=None)
    with pytest.raises(FileNotFoundError, match=r"unlike does not exist\.$"):
        read_vectors(tmp_path / "unlike", most_frequent=None)
    with pytest.raises(FileNotFoundError, match="nor does its folder"):
        read_vectors(tmp_path / "nowhere" / "glove.txt", most_frequent=None)


def test_a_dim_that_the_file_does_not_have_is_refused(path):
    write(path, some_lines())
    assert read_vectors(str(path), most_frequent=1, dim=3).report.dim == 3
    with pytest.raises(ValueError, match="has 3 numbers per word; received dim=4"):
        read_vectors(path, most_frequent=1, dim=4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Nothing to read"),
        ({"words": []}, "Nothing to read"),
        ({"words": "the"}, "collection of words.*received 'the'"),
        ({"words": ["the", 3]}, "must be strings.*received 3"),
        ({"words": 3}, "collection of words"),
        ({"most_frequent": -1}, "most_frequent must be an integer of at least 0; received -1"),
        ({"most_frequent": 1.5}, "most_frequent must be an integer"),
        ({"most_frequent": 1, "dim": 0}, "dim must be an integer of at least 1; received 0"),
    ],
)
def test_arguments_are_checked_before_the_file_is_looked_for(arguments, message):
    with pytest.raises(ValueError, match=message):
        read_vectors("nowhere.txt", **arguments)
