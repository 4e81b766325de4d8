"""Raw text in a classifier's words, and a trained model's word vectors as a file for other models."""

import gzip
import io

import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.cli import main
from dense_lstm_zoo.data import word_source
from dense_lstm_zoo.language.vectors import read_vectors
from dense_lstm_zoo.language.vocabulary import LanguageVocabulary
from tests.bundle_harness import WORDS, bundle
from tests.cli_harness import output_of
from tests.text_encoder_harness import language_model


def test_tokens_are_those_of_a_classifiers_vocabulary():
    texts = ["It DOESN'T.", "", "Straße  №5"]
    assert zoo.tokenize(texts) == [["it", "does", "n't", "."], [], ["strasse", "no5"]]
    text_to_ids = bundle("bilstm").text_to_ids
    words = [[f"{WORDS[0].upper()}!"]]
    assert (
        text_to_ids(words[0]).to_list()[0][0] == text_to_ids([" ".join(zoo.tokenize(words[0])[0])]).to_list()[0][0] == 2
    )


def test_a_single_string_and_a_missing_text_are_refused():
    with pytest.raises(TypeError, match="received one string"):
        zoo.tokenize("It is.")
    with pytest.raises(TypeError, match=r"None .* as item 1"):
        zoo.tokenize(["a", None])


@pytest.mark.parametrize("packed", [False, True])
def test_the_command_writes_one_text_per_line(packed, tmp_path, capsys):
    source, output = tmp_path / "reviews.csv", tmp_path / "raw.txt"
    table = b'id,review\n1,"It\'s GOOD,\nisn\'t it?"\n2,"  "\n3,Fine.\n'
    source.write_bytes(gzip.compress(table) if packed else table)
    status, out, err = output_of(capsys, "tokenize", source, "--text-column", "review", "--output", output)
    assert (status, out) == (0, "")
    assert output.read_text() == "it 's good , is n't it ?\nfine .\n"
    assert "2 lines, 10 tokens; 1 texts without tokens are left out" in err
    assert "reviews.csv: 3 texts, " in err  # the progress has its last line
    raw = zoo.load_corpus("text", task="language_model", train_file=output)
    assert list(raw.dev) == ["fine ."]


def test_the_command_reads_standard_input_and_writes_standard_output(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"A film.\n\nNo!\n"))))
    assert output_of(capsys, "tokenize")[:2] == (0, "a film .\nno !\n")


def test_bad_requests_lose_nothing(tmp_path, capsys):
    source, existing, unmarked = (tmp_path / name for name in ("texts.txt", "there.txt", "unmarked.txt"))
    unmarked.write_bytes("A film.\n".encode("utf-16-le") * 4)
    source.write_text("A film.\n")
    existing.write_text("mine")
    for arguments, message in (
        ((tmp_path / "none.txt",), "none.txt"),
        ((unmarked,), "is UTF-16 without its mark"),
        ((source, "--text-column", "text"), "--text-column is for csv, tsv, jsonl, parquet and xlsx"),
        ((source, "--output", existing), "already exists"),
        ((source, "--encoding", "utf8x"), "utf8x"),
    ):
        status, _, err = output_of(capsys, "tokenize", *arguments)
        assert (status, message in err) == (2, True), err
    assert existing.read_text() == "mine"


@pytest.mark.parametrize("model", ["dense_lstm_lm", "bilstm", "gated_skip_tagger"])
def test_word_vectors_are_read_back_as_they_were(model, tmp_path, capsys):
    new_bundle = language_model() if model == "dense_lstm_lm" else bundle(model)
    run, path = new_bundle.save(tmp_path / "run"), tmp_path / "words.txt"
    status, out, _ = output_of(capsys, "word-vectors", run, "--output", path)
    words = new_bundle.vocabulary.words
    assert (status, f"vectors of {len(words):,} words" in out) == (0, True)
    layer = new_bundle.network.get_layer("embedding")
    matrix = layer.get_matrix()[2:] if model != "dense_lstm_lm" else np.asarray(layer.embeddings)
    vectors = word_source.select_vectors(path, words=set(words), most_frequent=0)
    rows = vectors.index()
    assert np.array_equal(vectors.matrix[[rows[word] for word in words]], matrix)


def test_a_second_language_model_starts_from_the_vectors_of_the_first(tmp_path):
    first = language_model()
    first.save_word_vectors(tmp_path / "words.txt")
    vectors = read_vectors(tmp_path / "words.txt", first.vocabulary, seed=1)
    assert np.array_equal(vectors.matrix, first.network.get_layer("embedding").embeddings)  # <eos> and <unk> too


def test_a_first_word_that_begins_with_a_byte_order_mark_is_read_back(tmp_path):
    first = language_model()
    first.vocabulary = LanguageVocabulary(("\ufeffthe", *first.vocabulary.words[1:]))
    first.save_word_vectors(tmp_path / "words.txt")
    vectors = read_vectors(tmp_path / "words.txt", first.vocabulary, seed=1)
    assert np.array_equal(vectors.matrix, first.network.get_layer("embedding").embeddings)


def test_word_vectors_replace_no_file_unasked(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="already exists"):
        bundle("bilstm").save_word_vectors(path)
    assert main(["word-vectors", str(tmp_path / "none"), "--output", str(tmp_path / "new.txt")]) == 2
    assert path.read_text() == "mine"
    assert not (tmp_path / "new.txt").exists()
