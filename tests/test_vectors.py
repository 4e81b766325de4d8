"""Files of word vectors: packings, headers, bad lines, and only the words that are asked for."""

import gzip
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from dense_lstm_zoo.data import vector_text
from dense_lstm_zoo.data.vectors import PROBLEMS, Problem, read_vectors
from tests.vector_files import WORDS, expected, some_lines, write


def problems(result):
    """The problems met, by kind."""
    assert tuple(result.report.problems) == PROBLEMS
    return {kind: problem for kind, problem in result.report.problems.items() if problem.count}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "vectors.txt"


def test_numbers_are_the_float32_of_the_text(path):
    numbers = ["0.1", "-1e-3", "3", "+2.5E+2", ".5", "7.", "16777217", "0.30000000000000004"]
    result = read_vectors(write(path, ["the " + " ".join(numbers)]), most_frequent=None)
    assert result.matrix.dtype == np.float32
    assert result.matrix[0].tolist() == [float(np.float32(number)) for number in numbers]
    assert result.report.dim == 8


PACKINGS = [
    "plain",
    "no last line end",
    "gz",
    "gz of two parts",
    "zip",
    "crlf",
    "tabs",
    "trailing space",
    "header",
    "bom",
]


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("block", [1, 7, 1 << 16])
def test_every_packing_gives_the_same_words_and_numbers(path, packing, block, monkeypatch):
    monkeypatch.setattr(vector_text, "_BLOCK", block)
    lines = some_lines()
    text = "".join(line + "\n" for line in lines).encode()
    match packing:
        case "no last line end":
            path.write_bytes(text[:-1])
        case "gz":
            path.write_bytes(gzip.compress(text))
        case "gz of two parts":
            path.write_bytes(gzip.compress(text[:50]) + gzip.compress(text[50:]))
        case "zip":
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("../../outside.txt", text)
                archive.writestr("__MACOSX/._outside.txt", b"\0")
        case "crlf":
            write(path, lines, end="\r\n")
        case "tabs":
            write(path, ["\t".join(line.rsplit(" ", 3)) for line in lines])
        case "trailing space":
            write(path, lines, end=" \n")
        case "header":
            write(path, ["10 3", *lines])
        case "bom":
            path.write_bytes(b"\xef\xbb\xbf" + text)
        case _:
            path.write_bytes(text)
    before = sorted(path.parent.rglob("*"))
    for options in ({"most_frequent": None}, {"words": WORDS}):
        result = read_vectors(path, **options)
        assert result.words == WORDS
        assert np.array_equal(result.matrix, expected(lines))
        assert result.index() == {word: row for row, word in enumerate(WORDS)}
        assert result.report.header == ((10, 3) if packing == "header" else None)
        assert result.report.lines == (11 if packing == "header" else 10)
        assert not problems(result)
        assert not result.report.truncated
    assert sorted(path.parent.rglob("*")) == before
    assert not (path.parent / "../../outside.txt").exists()


def test_words_with_spaces_among_the_first_lines_do_not_change_the_width(path):
    lines = some_lines([". . .", ". .", "at name@domain.com", "the", "66"])
    result = read_vectors(write(path, lines), words={". .", "66"})
    assert result.words == [". .", "66"]
    assert np.array_equal(result.matrix, expected([lines[1], lines[4]]))


def test_a_word_that_shares_the_first_part_of_a_wanted_word_is_not_kept(path):
    result = read_vectors(write(path, some_lines(["at", "at home", "at name@domain.com"])), words={"at home"})
    assert result.words == ["at home"]


def test_two_integers_are_a_header_only_if_the_next_lines_have_that_width(path):
    result = read_vectors(write(path, ["2 1", "the 1 2", "of 3 4"]), most_frequent=None)
    assert result.report.header is None
    assert problems(result) == {"wrong width": Problem(1, (1,))}
    result = read_vectors(write(path, ["7 3"]), most_frequent=None)
    assert (result.words, result.matrix.tolist()) == (["7"], [[3]])


def test_a_header_that_promises_more_words_is_reported(path):
    report = read_vectors(write(path, ["5 3", *some_lines(["a", "b"])]), most_frequent=None).report
    assert "announces 5 words, but the file has 2" in str(report)
    assert report.has_problems  # it may have been cut at the end of a line
    whole = read_vectors(write(path, ["2 3", *some_lines(["a", "b"])]), most_frequent=None).report
    assert not whole.has_problems


@pytest.mark.parametrize("options", [{"most_frequent": None}, {"words": ["the", "cat", "of", "on", "in", "to"]}])
def test_bad_lines_are_skipped_and_reported_with_their_numbers(path, options):
    lines = [
        "the 1 2 3",
        "cat 1 x 3",  # malformed
        "cat 4 5 6",
        "of 1 2",  # wrong width
        "of 1 2 3 4",  # wrong width
        "of nan 1 2",  # non-finite
        "of 1 -inf 2",  # non-finite
        "of 1 1e39 2",  # non-finite in float32
        "the 7 8 9",  # duplicate
        "on",  # malformed
        "on 1_0 2 3",  # malformed
        "on 1 2 3",
    ]
    result = read_vectors(write(path, lines), **options)
    assert result.words == ["the", "cat", "on"]
    assert result.matrix.tolist() == [[1, 2, 3], [4, 5, 6], [1, 2, 3]]
    assert problems(result) == {
        "malformed": Problem(3, (2, 10, 11)),
        "wrong width": Problem(2, (4, 5)),
        "duplicate": Problem(1, (9,)),
        "non-finite": Problem(3, (6, 7, 8)),
    }
    assert str(result.report).splitlines() == [
        "12 lines read, 3 words kept, 3 numbers each.",
        "Skipped, malformed: 3 (line 2, 10, 11).",
        "Skipped, wrong width: 2 (line 4, 5).",
        "Skipped, duplicate: 1 (line 9).",
        "Skipped, non-finite: 3 (line 6, 7, 8).",
    ]


def test_line_numbers_count_the_header_and_only_the_first_five_are_kept(path):
    lines = [line for i in range(700) for line in (f"w{i} 1 2", f"v{i} 1 x")]
    result = read_vectors(write(path, ["1400 2", *lines]), most_frequent=None)
    assert result.words == [f"w{i}" for i in range(700)]
    assert problems(result) == {"malformed": Problem(700, (3, 5, 7, 9, 11))}
    assert "malformed: 700 (line 3, 5, 7, 9, 11, ...)" in str(result.report)


def test_undecodable_and_empty_words_are_skipped_and_reported(path):
    path.write_bytes(b"the 1 2\nna\xefve 3 4\n 5 6\n\nof 7 8\n")
    result = read_vectors(path, most_frequent=None)
    assert result.words == ["the", "of"]
    assert problems(result) == {
        "malformed": Problem(2, (3, 4)),
        "undecodable": Problem(1, (2,)),
    }


def test_wanted_and_most_frequent_together_keep_the_order_of_the_file(path):
    words = [f"w{i}" for i in range(2000)]
    lines = some_lines(words)
    result = read_vectors(write(path, lines), words=["w1500", "w1", "w900", "dog"], most_frequent=3)
    assert result.words == ["w0", "w1", "w2", "w900", "w1500"]
    assert np.array_equal(result.matrix, expected([lines[i] for i in (0, 1, 2, 900, 1500)]))
    assert result.report.lines == 2000


def test_most_frequent_counts_distinct_valid_words(path):
    lines = ["a 1 2", "a 3 4", "b 1 x", "c 1 nan", "b 5 6", "d 7 8", "e 9 0"]
    result = read_vectors(write(path, lines), most_frequent=3)
    assert result.words == ["a", "b", "d"]
    assert result.matrix.tolist() == [[1, 2], [5, 6], [7, 8]]


def test_reading_stops_when_every_word_asked_for_is_found(path, monkeypatch):
    monkeypatch.setattr(vector_text, "_BLOCK", 1 << 10)
    write(path, some_lines([f"w{i}" for i in range(1000)]))
    for options in ({"most_frequent": 40}, {"words": {"w39"}}, {"words": {"w39", "w2"}, "most_frequent": 3}):
        report = read_vectors(path, **options).report
        assert report.stopped
        assert 40 <= report.lines < 150
        assert "every requested word was found" in str(report)
    assert not read_vectors(path, words={"w39", "dog"}).report.stopped
    assert not read_vectors(path, words={"w999"}).report.stopped


def test_wanted_words_that_the_file_lacks_are_absent(path):
    write(path, some_lines())
    result = read_vectors(path, words={"dog", "cat", "\ud800", ""})
    assert result.words == ["cat"]
    result = read_vectors(path, words={"dog"})
    assert (result.words, result.matrix.shape, result.matrix.dtype) == ([], (0, 3), np.float32)
    assert read_vectors(path, words=[], most_frequent=1).words == ["the"]


def test_the_matrix_grows_over_many_batches(path):
    words = [f"w{i}" for i in range(5000)]
    lines = some_lines(words, dim=2)
    result = read_vectors(write(path, lines), most_frequent=None)
    assert result.words == words
    assert np.array_equal(result.matrix, expected(lines, dim=2))
    assert result.matrix.base is None


@pytest.mark.slow
def test_the_published_files_are_read_whole():
    root = os.environ.get("DENSE_LSTM_ZOO_DATA")
    if not root:
        pytest.skip("set DENSE_LSTM_ZOO_DATA to the folder of the benchmark data to read a real file")
    path = Path(root, "vectors", "imdb.300d.txt.gz")
    result = read_vectors(path, most_frequent=None, dim=300)
    assert len(result.words) == result.report.lines == 45_121
    assert result.matrix.shape == (45_121, 300)
    assert result.matrix[result.index()["the"], :3].tolist() == [float(np.float32(x)) for x in (-0.030, 0.077, -0.027)]
    assert not problems(result)
    tenth = result.words[::10]
    again = read_vectors(path, words=tenth)
    assert again.words == tenth
    assert np.array_equal(again.matrix, result.matrix[::10])
