"""The zoo's vectors are what a training run uses when it names none."""

import json
from collections import Counter

import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.data import word_source
from dense_lstm_zoo.data.word_table import quantised
from dense_lstm_zoo.data.words import Coverage
from dense_lstm_zoo.tagging.corpus import TaggedSplit, TaggingCorpus
from dense_lstm_zoo.training import request
from dense_lstm_zoo.training.prepare import prepare
from tests.cli_harness import output_of

TINY = {"num_dense_layers": 1, "dense_units": 3, "top_units": 4, "kernel": "native", "epochs": 1, "progress": False}


@pytest.fixture(scope="module")
def corpus():
    texts = [f"{word} film" for word in ("good", "bad", "fine", "poor") * 10]
    split = zoo.Split(texts, [1, 0] * 20)
    return zoo.Corpus("tiny", ("neg", "pos"), split, split, split)


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table named zoo_600d with eight numbers per word, installed."""
    words = ["the", "good", "bad", "fine", "film", "unseen"]
    matrix = np.random.default_rng(0).normal(size=(len(words), 8)).astype(np.float32)
    words_table = quantised("zoo_600d", words, matrix, {"terms": "none"})
    words_table.write(tmp_path / "presets" / "vectors" / "zoo_600d")
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(tmp_path / "presets"))
    return words_table


def _vectors(bundle):
    """The vectors of a bundle's words, padding and unknown left out."""
    embedding = next(layer for layer in bundle.model.layers if type(layer).__name__ == "WordEmbedding")
    tables = [embedding.table, *([embedding.frozen_table] if embedding.frozen_table is not None else [])]
    return np.concatenate([np.asarray(table) for table in tables])[2:]


def test_installed_vectors_and_their_recipe_are_the_default(corpus, table, tmp_path, capsys):
    bundle = zoo.train("dc_bilstm", corpus, tmp_path / "run", **{**TINY, "progress": True})
    training = bundle.config["training"]
    assert (training["vectors"], training["recipe"]) == ("zoo_600d", "fixed_vectors")
    assert training["vectors_sha256"] == table.sha256
    assert "word vectors: zoo_600d with the recipe fixed_vectors" in capsys.readouterr().out
    words = list(bundle.vocabulary.words)
    assert words[-2:] == ["the", "unseen"]  # of the table alone, in its order
    assert "poor" not in words  # the table has no vector for it
    np.testing.assert_array_equal(_vectors(bundle), table.vectors(words))  # fixed: training has not moved them


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "arguments", "recipe"),
    [
        ("cnn_mc", {"filters": 2, "kernel_sizes": [1]}, "kim2014_fixed_vectors"),
        ("stacked_di_bilstm", {"num_layers": 2, "units": 3, "char_filters": 2}, "xie2019_fixed_vectors"),
    ],
)
def test_other_papers_models_start_from_recipes_of_their_own(model, arguments, recipe, corpus, table, tmp_path):
    training = zoo.train(model, corpus, tmp_path / "run", **arguments, epochs=1, progress=False).config["training"]
    assert (training["vectors"], training["recipe"]) == ("zoo_600d", recipe)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "recipe", "vectors"),
    [
        ({"vectors": "none"}, "ding2018", None),
        ({"embedding_dim": 5}, "ding2018", None),
        ({"embedding_dim": 8}, "fixed_vectors", "zoo_600d"),
        ({"vector_words": 0}, "fixed_vectors", "zoo_600d"),
        ({"recipe": "ding2018"}, "ding2018", "zoo_600d"),
        ({"vectors": "zoo_600d"}, "fixed_vectors", "zoo_600d"),
        ({"vectors": "zoo_600d", "recipe": "none"}, None, "zoo_600d"),
        ({"recipe": "none"}, None, "zoo_600d"),
    ],
)
def test_an_option_that_is_named_changes_that_option_alone(corpus, table, tmp_path, options, recipe, vectors):
    training = zoo.train("dc_bilstm", corpus, tmp_path / "run", **TINY, **options).config["training"]
    assert (training["recipe"], training["vectors"]) == (recipe, vectors)
    assert ("vectors_sha256" in training) == (vectors is not None)


@pytest.mark.parametrize(
    ("vectors", "recipe", "batch_size"),
    [
        (None, "batched_fixed_vectors", 64),
        ("zoo_600d", "batched_fixed_vectors", 64),
        ("none", "batched", 64),
    ],
)
def test_naming_a_tagger_s_vectors_keeps_its_recipe(table, tmp_path, vectors, recipe, batch_size):
    options = {} if vectors is None else {"vectors": vectors}
    plan = request.check("bilstm_tagger", tmp_path / "run", options)
    assert (plan.recipe, plan.options.batch_size) == (recipe, batch_size)


def test_a_width_that_no_table_has_is_said_to_drop_the_vectors(table, tmp_path):
    notice = request.check("bilstm", tmp_path / "run", {"embedding_dim": 5}).notice
    assert "no installed table has embedding_dim=5 numbers per word (zoo_600d has 8)" in notice


def _corpus(words):
    texts = [f"{word} {words[2]}, OK!" for word in words[:2] * 10]
    split = zoo.Split(texts, [1, 0] * 10)
    return zoo.Corpus("mine", ("neg", "pos"), split, split, None)


RUSSIAN = ("отличный", "ужасный", "фильм")


@pytest.mark.parametrize("model", ["bilstm", "bilstm_tagger"])
def test_vectors_that_nobody_named_give_way_to_words_they_hardly_cover(table, tmp_path, capsys, model):
    corpus = _corpus(RUSSIAN)
    if model == "bilstm_tagger":
        tagged = TaggedSplit([list(RUSSIAN)] * 8, [["A", "B", "C"]] * 8)
        corpus = TaggingCorpus("mine", tagged, tagged, None)
    run = prepare(request.check(model, tmp_path / "run", {"units": 2}), corpus, progress=True)
    assert run.config["training"]["vectors"] is None
    assert run.config["training"]["recipe"] in ("ding2018", "batched")
    assert run.config["arguments"]["trainable_embeddings"] is True
    assert set(RUSSIAN) <= set(run.job.words.vocabulary.words)
    assert "The words themselves are trained" in capsys.readouterr().out


@pytest.mark.parametrize("is_trainable", [False, True])
def test_a_recipe_that_trains_no_words_is_not_said_to_train_those_that_vectors_hardly_cover(
    is_trainable, table, tmp_path, capsys
):
    options = {"units": 2} | ({"trainable_embeddings": True} if is_trainable else {})
    few = request.check("bilstm", tmp_path / "run", options, recipe="few_labels")
    run = prepare(few, _corpus(RUSSIAN), progress=True)
    assert run.config["arguments"]["trainable_embeddings"] is is_trainable
    words = "Random vectors take their place, which stay as they are with the recipe few_labels; --vectors NAME"
    output = capsys.readouterr().out
    assert words in output
    assert "are trained" not in output


def test_punctuation_does_not_count_as_covered_words():
    punctuated = Counter({"отличный": 1, "фильм": 1, "OK": 1, ",": 2, "!": 1})
    coverage = Coverage.of(punctuated, ["OK", ",", "!"])
    assert (coverage.words_with_vector, coverage.words) == (1, 3)
    assert coverage.is_little
    assert not Coverage.of(punctuated, ["OK", "фильм"]).is_little
    assert not Coverage.of(Counter({"42": 1, "?": 1}), ["?"]).is_little


def test_vectors_that_are_named_stay_with_advice_and_none_at_all_names_the_way_out(table, tmp_path, capsys):
    plan = request.check("bilstm", tmp_path / "run", {"units": 2, "vectors": "zoo_600d"})
    with pytest.raises(ValueError, match="--vectors none"):
        prepare(plan, _corpus(RUSSIAN), progress=False)
    run = prepare(plan, _corpus(("good", "ужасный", "фильм")), progress=True)
    assert "Other words are hardly read: train the words themselves" in capsys.readouterr().out
    assert run.config["training"]["vectors"] == "zoo_600d"


def test_texts_without_spaces_are_warned_of(tmp_path):
    chinese = _corpus(("这部电影非常好看", "这部电影真的很差", "我以后还会再来看的"))
    with pytest.warns(UserWarning, match="--char-filters 50"):
        prepare(request.check("bilstm", tmp_path / "run", {"units": 2}), chinese, progress=False)
    prepare(request.check("bilstm", tmp_path / "run", {"units": 2, "char_filters": 3}), chinese, progress=False)
    prepare(request.check("bilstm", tmp_path / "run", {"units": 2}), _corpus(("好看", "很 差", "电影")), progress=False)


@pytest.mark.slow
def test_a_file_of_the_table_s_name_wins(corpus, table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "zoo_600d").write_text("good 1 2\nbad 2 1\nfilm 0 1\n")
    bundle = zoo.train("bilstm", corpus, "run", vectors="zoo_600d", units=3, epochs=1, progress=False)
    assert bundle.config["arguments"]["embedding_dim"] == 2
    assert "vectors_sha256" not in bundle.config["training"]


@pytest.mark.slow
def test_without_the_presets_a_line_says_what_that_costs(corpus, tmp_path, capsys):
    bundle = zoo.train("bilstm", corpus, tmp_path / "run", units=3, epochs=1)
    assert bundle.config["training"]["vectors"] is None
    assert "no word vectors: pip install ./presets" in capsys.readouterr().out


def test_a_table_that_is_not_installed_is_said(corpus, tmp_path):
    with pytest.raises(ValueError, match=r"'zoo_600d' is not installed: pip install \./presets \(from a clone\)"):
        zoo.train("bilstm", corpus, tmp_path / "run", vectors="zoo_600d")
    assert not (tmp_path / "run").exists()


def test_an_unknown_name_lists_the_installed_tables(corpus, table, tmp_path):
    with pytest.raises(FileNotFoundError, match="Installed word tables: zoo_600d"):
        zoo.train("bilstm", corpus, tmp_path / "run", vectors="zoo_60d")


def test_reading_a_table_gives_what_reading_its_vectors_from_a_file_gives(table, tmp_path):
    file = tmp_path / "same.txt"
    rows = zip(table.words, table.vectors(table.words), strict=True)
    file.write_text("".join(f"{word} {' '.join(map(repr, row.tolist()))}\n" for word, row in rows))
    for words, most in [({"bad", "film", "absent"}, 2), (set(), 3), ({"unseen"}, 0)]:
        ours, theirs = (word_source.select_vectors(s, words=words, most_frequent=most) for s in ("zoo_600d", file))
        assert ours.words == theirs.words
        np.testing.assert_array_equal(ours.matrix, theirs.matrix)


@pytest.mark.slow
def test_a_sweep_that_names_no_vectors_uses_none(table, tmp_path):
    from dense_lstm_zoo.search import trial

    spec = {"model": "bilstm", "dataset": "demo", "data": {}, "values": {}, "seeds": [1], "folds": None}
    arguments = {"units": 2, "epochs": 1, "progress": False, "embedding_dim": 3}
    (tmp_path / "spec.json").write_text(json.dumps({**spec, "arguments": arguments, "pause_after": None}))
    trial.run(tmp_path)
    config = json.loads((tmp_path / "runs" / "seed1" / "config.json").read_text())
    assert config["training"]["vectors"] is None


def test_the_command_line_names_the_tables(table, tmp_path, capsys):
    code, _, err = output_of(
        capsys, "train", "bilstm", "--dataset", "demo", "--vectors", "zoo_70d", "--run-dir", tmp_path / "r"
    )
    assert code == 2
    assert "Installed word tables: zoo_600d" in err
