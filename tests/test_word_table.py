"""Word tables against NumPy, and files that are damaged, changed or not true."""

import json
import shutil

import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.data.word_table import installed_tables, presets_folder, quantised, read_table
from tests.cli_harness import output_of

WORDS = ["the", "film", "movie", "caf\u00e9", "dull", "nothing", "\u65e5\u672c"]


@pytest.fixture(scope="module")
def matrix():
    """Vectors of different lengths. One word has none."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(len(WORDS), 12)) * np.logspace(-3, 2, len(WORDS))[:, None]
    vectors[2] = 5 * vectors[1] + 1e-4 * rng.normal(size=12)  # movie is next to film
    vectors[5] = 0
    return vectors.astype(np.float32)


@pytest.fixture
def table(matrix):
    return quantised("tiny", WORDS, matrix, {"source": "a test", "terms": "none"})


@pytest.fixture
def presets(table, tmp_path, monkeypatch):
    """A folder of presets with one table, as an installed distribution has it."""
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(tmp_path / "presets"))
    return table.write(tmp_path / "presets" / "vectors" / "tiny")


def test_a_table_that_is_written_reads_back(table, tmp_path):
    folder = table.write(tmp_path / "tiny")
    copy = read_table(folder)
    assert (copy.name, copy.words, copy.sha256) == ("tiny", tuple(WORDS), table.sha256)
    assert dict(copy.about) == {"source": "a test", "terms": "none"}
    assert isinstance(copy.values, np.memmap)
    np.testing.assert_array_equal(copy.vectors(WORDS), table.vectors(WORDS))
    assert (len(copy), copy.dim, "film" in copy, "Film" in copy) == (7, 12, True, False)
    with pytest.raises(FileExistsError):
        table.write(folder)
    assert json.loads((folder / "config.json").read_text())["sha256"] == table.sha256


def test_a_number_is_off_by_at_most_half_a_step_of_its_row(table, matrix):
    step = np.abs(matrix).max(axis=1, keepdims=True) / 127
    assert (np.abs(table.vectors(WORDS) - matrix) <= 0.5001 * step).all()
    np.testing.assert_array_equal(table.vectors(["nothing"]), np.zeros((1, 12)))
    assert table.values.dtype == np.int8


def test_the_nearest_words_are_numpys(table):
    vectors = table.vectors(WORDS).astype(np.float64)
    norms = np.linalg.norm(vectors, axis=1)
    for word in ("film", "the", "\u65e5\u672c"):
        i = WORDS.index(word)
        cosines = {
            other: vectors[i] @ vectors[j] / (norms[i] * norms[j])
            for j, other in enumerate(WORDS)
            if j != i and norms[j]
        }
        expected = sorted(cosines.items(), key=lambda pair: -pair[1])
        nearest = table.nearest(word, 99)
        assert [name for name, _ in nearest] == [name for name, _ in expected]
        np.testing.assert_allclose([x for _, x in nearest], [x for _, x in expected], atol=1e-6)
        assert table.nearest(word, 2) == nearest[:2]
    assert table.nearest("film", 1)[0][0] == "movie"
    large = quantised("large", [f"w{i}" for i in range(9000)], np.random.default_rng(1).normal(size=(9000, 4)))
    rows = large.vectors(large.words)
    best = int(np.argsort(rows @ rows[8500] / np.linalg.norm(rows, axis=1))[-2])
    assert large.nearest("w8500", 1)[0][0] == f"w{best}"


def test_nothing_is_near_a_vector_of_zeros(table):
    with pytest.raises(ValueError, match="has a vector of zeros for 'nothing', and no word is near that"):
        table.nearest("nothing")


def test_an_unknown_word_is_named_with_its_nearest_spelling(table):
    for ask in (lambda: table.nearest("filmm"), lambda: table.vectors(["film", "filmm"])):
        with pytest.raises(ValueError, match=r"tiny has no word 'filmm'; its 7 words .* Did you mean 'film'\?"):
            ask()
    with pytest.raises(ValueError, match="k must be an integer of at least 1; received 0"):
        table.nearest("film", 0)


@pytest.mark.parametrize(
    ("words", "rows", "message"),
    [
        (["a", "a"], np.ones((2, 3)), "distinct and hold no white space"),
        (["a", "b c"], np.ones((2, 3)), "distinct and hold no white space"),
        (["a", ""], np.ones((2, 3)), "distinct and hold no white space"),
        (["a", "b"], np.ones((3, 3)), r"received 2 words, shape \(3, 3\)"),
        (["a"], np.array([[np.nan, 1]]), "finite numbers"),
        (["a"], np.ones(3), r"shape \(3,\)"),
    ],
)
def test_what_is_not_a_table_is_refused(words, rows, message):
    with pytest.raises(ValueError, match=message):
        quantised("x", words, rows)


def cut_short(file):
    file.write_bytes(file.read_bytes()[:-5])


def turn_a_byte(file):
    content = bytearray(file.read_bytes())
    content[-2] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("name", ["words.txt", "vectors.npy", "scales.npy", "config.json"])
@pytest.mark.parametrize("harm", [cut_short, turn_a_byte], ids=["cut", "changed"])
def test_a_damaged_or_changed_file_is_refused(table, tmp_path, name, harm):
    folder = table.write(tmp_path / "tiny")
    (folder / "config.json").write_text(json.dumps({"name": "tiny", "sha256": table.sha256}))
    harm(folder / name)
    with pytest.raises(ValueError, match=r"tiny (is damaged|is not a word table|has been changed)"):
        read_table(folder)


@pytest.mark.parametrize("name", ["words.txt", "vectors.npy", "scales.npy", "config.json"])
def test_a_missing_file_or_a_link_is_refused(table, tmp_path, name):
    folder = table.write(tmp_path / "tiny")
    (folder / name).rename(tmp_path / name)
    with pytest.raises(ValueError, match=f"{name} is missing or a link"):
        read_table(folder)
    (folder / name).symlink_to(tmp_path / name)
    with pytest.raises(ValueError, match=f"{name} is missing or a link"):
        read_table(folder)


def header(path, shape, descr):
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
        file.write(bytes(64))


@pytest.mark.parametrize(
    ("name", "shape", "descr"),
    [
        ("vectors.npy", (1 << 40, 1 << 10), "|i1"),  # claims a petabyte
        ("vectors.npy", (7, 2), "<f4"),
        ("vectors.npy", (64,), "|i1"),
        ("scales.npy", (1 << 40,), "<f4"),
        ("scales.npy", (7,), "<f8"),
        ("scales.npy", (7, 1), "<f4"),
        ("vectors.npy", (7, 1), "|O"),  # a pickle
    ],
)
def test_a_file_that_claims_more_than_it_holds_takes_no_memory(table, tmp_path, name, shape, descr):
    folder = table.write(tmp_path / "tiny")
    header(folder / name, shape, descr)
    with pytest.raises(ValueError, match=r"tiny (is damaged|is not a word table|has been changed)"):
        read_table(folder)


def test_a_config_that_is_not_one_is_refused(table, tmp_path):
    folder = table.write(tmp_path / "tiny")
    for content in (
        "[]",
        "{}",
        "not json",
        '{"name": "tiny"}',
        "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
    ):
        (folder / "config.json").write_text(content, encoding="latin-1", errors="replace")
        with pytest.raises(ValueError, match="is not a word table, or is damaged"):
            read_table(folder)
    with pytest.raises(FileNotFoundError, match="is not a folder; a word table is a folder"):
        read_table(tmp_path / "none")


def test_a_table_that_is_part_of_itself_is_refused(table, tmp_path):
    table.write(tmp_path / "whole")
    config = {"name": "whole", "sha256": "0", "of": "whole", "columns": [0, 1]}
    (tmp_path / "whole" / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="it is part of 'whole', which is itself part of another"):
        read_table(tmp_path / "whole")


def test_installed_tables_load_by_name_and_once(presets):
    shutil.copytree(presets, presets.with_name(".tiny.deadbeef.dense-lstm-zoo"))  # half-written
    assert installed_tables() == {"tiny": presets}
    table = zoo.load_vectors("tiny")
    assert table.words == tuple(WORDS)
    assert zoo.load_vectors("tiny") is table
    with pytest.raises(ValueError, match=r"Unknown word table 'tine'\. Did you mean 'tiny'"):
        zoo.load_vectors("tine")


def test_without_the_distribution_the_error_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(tmp_path / "none"))
    assert presets_folder() is None
    assert installed_tables() == {}
    with pytest.raises(ValueError, match=r"'zoo_600d' is not installed: pip install \./presets \(from a clone\)"):
        zoo.load_vectors("zoo_600d")


def test_the_command_prints_the_nearest_words(presets, capsys):
    expected = [f"{cosine:.4f}\t{word}\n" for word, cosine in zoo.load_vectors("tiny").nearest("film", 3)]
    assert output_of(capsys, "nearest", "film", "--vectors", "tiny", "-k", "3") == (0, "".join(expected), "")
    for wrong, message in (
        (["filmm", "--vectors", "tiny"], "Did you mean 'film'?"),
        (["film", "--vectors", "tiny", "-k", "0"], "k must be an integer of at least 1"),
        (["film", "--vectors", "tine"], "Did you mean 'tiny'?"),
    ):
        status, out, err = output_of(capsys, "nearest", *wrong)
        assert (status, out) == (2, "")
        assert message in err
