"""From raw text to a bundle: training, the folder it leaves, prediction, and what is refused."""

import dataclasses
import json
import shutil

import keras
import numpy as np
import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.data.corpus import Corpus, Split
from dense_lstm_zoo.data.vocabulary import count_words
from dense_lstm_zoo.layers.recurrence import kernels
from tests import model_harness as harness

TINY = {**harness.tiny_arguments("dc_bilstm")}
for from_data in ("vocab_size", "num_classes", "num_frozen_words"):
    del TINY[from_data]


def small_demo() -> Corpus:
    demo = zoo.load_corpus("demo")
    cut = {
        part: Split(s.texts[:n], s.labels[:n])
        for part, s, n in (("train", demo.train, 300), ("dev", demo.dev, 60), ("test", demo.test, 70))
    }
    return dataclasses.replace(demo, **cut)


def train(run_dir, **arguments):
    settings = {"epochs": 3, "patience": 3, "batch_size": 50, "progress": False, "seed": 5, **TINY}
    return zoo.train("dc_bilstm", arguments.pop("dataset", small_demo()), run_dir, **settings | arguments)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A trained bundle and its folder."""
    folder = tmp_path_factory.mktemp("runs") / "demo"
    return train(folder), folder


def test_a_run_leaves_a_whole_bundle(run):
    bundle, folder = run
    expected = "README.md config.json evaluation.json history.csv labels.json learning_curve.png manifest.json"
    expected += " metrics.json model.weights.h5 report.md report.png vocabulary.txt"
    assert sorted(f.name for f in folder.iterdir()) == expected.split()
    assert not list(folder.parent.glob(".*"))
    config = json.loads((folder / "config.json").read_text())
    assert (config["model"], config["training"]["seed"]) == ("dc_bilstm", 5)
    assert config["arguments"]["dense_units"] == TINY["dense_units"]
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["test_texts"] == 70
    assert metrics["train_texts"] == 300
    assert metrics["encoder_parameters"] == zoo.count_encoder_parameters(bundle.model)
    assert (folder / "learning_curve.png").read_bytes().startswith(b"\x89PNG")
    card = (folder / "README.md").read_text()
    assert f"{metrics['test_accuracy']:.4f}" in card
    assert "negative, positive" in card
    assert bundle.evaluation["split"] == "test"
    assert np.sum(bundle.evaluation["confusion"]) == 70
    assert np.trace(bundle.evaluation["confusion"]) == round(70 * metrics["test_accuracy"])
    wrong = bundle.evaluation["wrong"][0]
    assert wrong["text"] in (folder / "report.md").read_text()
    assert bundle.predict([wrong["text"]])[0].label == wrong["predicted"] != wrong["label"]


def test_history_has_a_row_an_epoch_and_metrics_are_those_of_the_best(run):
    bundle, folder = run
    history = pd.read_csv(folder / "history.csv")
    assert history["epoch"].tolist() == [1, 2, 3]
    assert set(history) == {"epoch", "loss", "accuracy", "val_loss", "val_accuracy", "seconds"}
    assert bundle.metrics["dev_accuracy"] == pytest.approx(history["val_accuracy"].max(), abs=1e-6)
    assert bundle.metrics["best_epoch"] == history["epoch"][history["val_accuracy"].idxmax()]


def test_the_loaded_bundle_predicts_what_the_trained_one_did(run):
    bundle, folder = run
    again = zoo.load(folder)
    texts = ["The soup was not bland!", "", "qwerty zxcv", "   ", "😀", "a " * 500]
    assert again.predict(texts) == bundle.predict(texts)
    assert again.metrics == bundle.metrics
    pd.testing.assert_frame_equal(again.history, bundle.history, check_exact=False)
    assert "dc_bilstm, demo: " in repr(again)


def test_predictions_hold_label_and_probabilities_in_order(run):
    bundle, _ = run
    texts = zoo.load_corpus("demo").test.texts[:40]
    for text, found in zip(texts, bundle.predict(texts), strict=True):
        assert found.text == text
        assert sum(found.probabilities.values()) == pytest.approx(1, abs=1e-6)
        assert found.label == max(found.probabilities, key=found.probabilities.get)
        assert found.probability == found.probabilities[found.label]
        assert bundle.predict([text])[0].probability == pytest.approx(found.probability, abs=1e-5)
    assert bundle.predict([]) == []
    assert next(bundle.predict_stream(iter(texts))).text == texts[0]


def test_predict_refuses_one_string_and_things_that_are_none(run):
    bundle, _ = run
    with pytest.raises(TypeError, match=r"received one string. Write \['one text'\]"):
        bundle.predict("one text")
    with pytest.raises(TypeError, match=r"received 3 \(int\)"):
        bundle.predict(["a", 3])


def test_evaluate_scores_labelled_texts_and_refuses_foreign_labels(run):
    bundle, _ = run
    test = small_demo().test
    scores = bundle.evaluate(test)
    labels = [found.label for found in bundle.predict(test.texts)]
    names = zoo.load_corpus("demo").label_names
    expected = np.mean([names[y] == label for y, label in zip(test.labels, labels, strict=True)])
    assert scores["accuracy"] == pytest.approx(expected) == pytest.approx(bundle.metrics["test_accuracy"])
    assert bundle.evaluate(Split(["x"], [1]), ["positive", "negative"])["texts"] == 1
    with pytest.raises(ValueError, match=r"Unknown label 'positve'. Did you mean 'positive'"):
        bundle.evaluate(Split(["x"], [0]), ["positve"])
    with pytest.raises(ValueError, match="at least one text"):
        bundle.evaluate(Split([], []))


def test_the_same_seed_trains_the_same_weights_and_another_other_ones(run, tmp_path):
    bundle, _ = run
    same, other = train(tmp_path / "same"), train(tmp_path / "other", seed=6)
    for ours, theirs in zip(bundle.model.get_weights(), same.model.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert not np.allclose(bundle.model.get_weights()[-2], other.model.get_weights()[-2])


def test_vectors_fill_the_embedding_and_frozen_words_stay(tmp_path):
    rng = np.random.default_rng(0)
    words = sorted(count_words(small_demo().train.texts))
    lines = [f"{w} " + " ".join(f"{x:.3f}" for x in rng.normal(size=6)) for w in [*words, "zebra", "quark"]]
    (tmp_path / "v.txt").write_text("\n".join(lines) + "\n")
    bundle = train(tmp_path / "run", vectors=tmp_path / "v.txt", epochs=1)
    vocabulary = bundle.vocabulary
    assert (vocabulary.oov, vocabulary.num_frozen_words, vocabulary.words[-2:]) == ("drop", 2, ("zebra", "quark"))
    embedding = bundle.model.get_layer("embedding")
    expected = [[float(x) for x in line.split()[1:]] for line in lines[-2:]]
    np.testing.assert_allclose(embedding.frozen_table.numpy(), expected)
    assert "vectors cover" in bundle.config["training"]["vector_coverage"]
    again = zoo.load(tmp_path / "run")
    assert again.predict(["zebra soup"]) == bundle.predict(["zebra soup"])
    assert again.predict(["qwerty"])[0].probabilities == again.predict([""])[0].probabilities
    with pytest.raises(ValueError, match=r"embedding_dim=9, but .*v.txt has 6"):
        train(tmp_path / "run2", vectors=tmp_path / "v.txt", embedding_dim=9)
    assert not (tmp_path / "run2").exists()


def test_a_run_that_is_there_is_kept_unless_asked(run, tmp_path):
    _, folder = run
    shutil.copytree(folder, tmp_path / "run")
    before = (tmp_path / "run" / "manifest.json").read_bytes()
    with pytest.raises(FileExistsError, match="is there already"):
        train(tmp_path / "run")
    assert (tmp_path / "run" / "manifest.json").read_bytes() == before
    train(tmp_path / "run", overwrite=True, epochs=1, seed=9)
    assert zoo.load(tmp_path / "run").config["training"]["seed"] == 9
    assert [f.name for f in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"dataset": "tred"}, ValueError, "Unknown corpus 'tred'. Did you mean 'trec'"),
        ({"recipe": "ding"}, ValueError, "Unknown recipe 'ding'"),
        ({"epochs": 0}, ValueError, "epochs must be an integer of at least 1; received 0"),
        ({"patience": -1}, ValueError, "patience must be"),
        ({"batch_size": 0.5}, ValueError, "batch_size must be"),
        ({"learning_rate_decay": 0}, ValueError, "learning_rate_decay must be"),
        ({"embedding_learning_rate": -1}, ValueError, "embedding_learning_rate must be"),
        ({"seed": -1}, ValueError, "seed must be"),
        ({"vocab_size": 9}, ValueError, "vocab_size follows from the data"),
        ({"unitz": 9}, ValueError, "Unknown argument of dc_bilstm: 'unitz'"),
        ({"vectors": "nowhere/v.txt"}, FileNotFoundError, "nowhere"),
        ({"oov": "drop"}, ValueError, "needs word vectors"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_written(tmp_path, arguments, error, message):
    with pytest.raises(error, match=message):
        train(tmp_path / "run", **arguments)
    assert not list(tmp_path.iterdir())


def test_a_run_directory_under_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError, match="is a file"):
        train(tmp_path / "file")
    with pytest.raises(NotADirectoryError, match="is a file"):
        train(tmp_path / "file" / "run")


def test_damaged_bundles_are_refused_by_name(run, tmp_path):
    _, folder = run

    def damaged(name, change):
        copy = tmp_path / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        change(copy / name)
        return copy

    def flip(file, position):
        content = bytearray(file.read_bytes())
        content[position] ^= 1
        file.write_bytes(content)

    files = [file.name for file in folder.iterdir()]
    rng = np.random.default_rng(0)
    for name in files:
        size = (folder / name).stat().st_size
        for position in (0, size - 1, *rng.integers(0, size, 5)):
            with pytest.raises(zoo.BundleError, match=name):
                zoo.load(damaged(name, lambda file, position=position: flip(file, position)))
        with pytest.raises(zoo.BundleError, match=name):
            zoo.load(damaged(name, lambda file: file.unlink()))
        with pytest.raises(zoo.BundleError, match=name):
            zoo.load(damaged(name, lambda file: file.write_bytes(file.read_bytes()[:-1])))
    with pytest.raises(zoo.BundleError, match="format 99"):
        zoo.load(damaged("manifest.json", lambda f: f.write_text(f.read_text().replace('"format": 2', '"format": 99'))))
    with pytest.raises(FileNotFoundError, match="is no folder"):
        zoo.load(tmp_path / "nothing")
    with pytest.raises(zoo.BundleError, match=r"no manifest\.json"):
        zoo.load(tmp_path)


def test_a_bundle_whose_kernel_cannot_run_here_loads_on_the_portable_one(run, tmp_path, monkeypatch):
    bundle, _ = run
    config = {**bundle.config, "arguments": {**bundle.config["arguments"], "kernel": "cudnn"}}
    dataclasses.replace(bundle, config=config).save(tmp_path / "run")
    monkeypatch.setattr(kernels, "_has_gpu", lambda: False)
    with pytest.warns(UserWarning, match="asks for kernel='cudnn'; the portable one runs: TensorFlow sees no GPU"):
        again = zoo.load(tmp_path / "run")
    texts = ["The soup was bland.", ""]
    expected = [found.probability for found in bundle.predict(texts)]
    assert [found.probability for found in again.predict(texts)] == pytest.approx(expected, abs=1e-5)


def test_a_bundle_of_a_later_version_is_refused_with_what_it_needs(run, tmp_path):
    bundle, _ = run
    config = {**bundle.config, "model": "dc_bilstm_2"}
    dataclasses.replace(bundle, config=config).save(tmp_path / "run")
    with pytest.raises(zoo.BundleError, match=r"config\.json .*Unknown model 'dc_bilstm_2'.*dense-lstm-zoo 0\.1\.0"):
        zoo.load(tmp_path / "run")


TEXTS = [
    "",
    " \t\n",
    "😀 👩‍👩‍👧",
    "\ud800 half a pair",
    b"caf\xe9 \xff\xfe",
    "\0",
    "ﬁne ①",
    "soup " * 3000,
    "ツ" * 5000,
]


def test_any_text_is_predicted_and_alone_as_among_others(run):
    bundle, _ = run
    together = bundle.predict(TEXTS)
    for text, found in zip(TEXTS, together, strict=True):
        assert found.text == text
        assert found.probability == pytest.approx(bundle.predict([text])[0].probability, abs=1e-5)
        assert sum(found.probabilities.values()) == pytest.approx(1)


def test_very_long_texts_do_not_meet_in_one_batch(run, monkeypatch):
    bundle, _ = run
    texts = ["bland soup " * 5000] * 9 + ["soup"]
    shapes = []
    model = bundle._logits_of
    monkeypatch.setitem(vars(bundle), "_logits_of", lambda ids: shapes.append(ids.shape) or model(ids))
    bundle.predict(texts)
    assert sum(batch for batch, _ in shapes) == 10
    assert max(batch * time for batch, time in shapes) <= 65_536


def test_a_save_that_fails_leaves_the_old_bundle_whole(run, tmp_path, monkeypatch):
    bundle, folder = run
    shutil.copytree(folder, tmp_path / "run")

    def no_space(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(keras.Model, "save_weights", no_space)
    with pytest.raises(OSError, match="No space left"):
        bundle.save(tmp_path / "run", overwrite=True)
    monkeypatch.undo()
    assert [f.name for f in tmp_path.iterdir()] == ["run"]
    assert zoo.load(tmp_path / "run").metrics == bundle.metrics


def test_learning_rates_decay_by_epoch_and_word_vectors_have_their_own(tmp_path):
    bundle = train(tmp_path / "run", learning_rate=0.01, learning_rate_decay=0.5, embedding_learning_rate=0.001)
    assert bundle.history["learning_rate"].tolist() == pytest.approx([0.01, 0.005, 0.0025])
    assert bundle.model.get_layer("embedding").update_scale == pytest.approx(0.1)
    assert zoo.load(tmp_path / "run").predict(["soup"]) == bundle.predict(["soup"])


def test_tensorboard_logs_land_beside_the_run(tmp_path):
    train(tmp_path / "run", epochs=1, tensorboard=True)
    assert list((tmp_path / "run.tensorboard").rglob("events.out.tfevents.*"))
    zoo.load(tmp_path / "run")


def test_a_user_trains_on_a_table_of_their_own(tmp_path):
    rows = "".join(f'"it was {w}, really",{y}\n' for w, y in (("great", "up"), ("awful", "down")) * 15)
    (tmp_path / "mine.csv").write_text("review,stars\n" + rows)
    corpus = zoo.load_corpus("csv", train_file=tmp_path / "mine.csv", text_column="review", label_column="stars")
    bundle = train(tmp_path / "run", dataset=corpus, epochs=2)
    assert bundle.labels == ["down", "up"]
    assert "test_accuracy" not in bundle.metrics
    assert bundle.metrics["dev_texts"] == 3


def test_on_the_demo_corpus_a_bilstm_learns_what_a_bag_of_words_cannot(tmp_path):
    from benchmarks.demo import bag_of_words_accuracy

    corpus = zoo.load_corpus("demo")
    bundle = zoo.train(
        "bilstm",
        corpus,
        tmp_path / "run",
        epochs=10,
        patience=3,
        batch_size=100,
        progress=False,
        units=40,
        embedding_dim=50,
        embedding_dropout=0.2,
        dropout=0.3,
    )
    bag_of_words = bag_of_words_accuracy(corpus)
    assert 0.85 <= bundle.metrics["test_accuracy"] <= 0.99
    assert bag_of_words <= bundle.metrics["test_accuracy"] - 0.10
