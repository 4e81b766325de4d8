"""Training from raw text: the results of a run, exact repetition, and bad input."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.classification.vocabulary import count_words
from tests.saving_harness import same_weights
from tests.training_harness import TINY, small_demo, train


def test_a_run_leaves_a_whole_bundle(run):
    bundle, folder = run
    expected = "README.md config.json evaluation.json history.csv labels.json learning_curve.png manifest.json"
    expected += " metrics.json model.weights.h5 report.md report.png run.toml train_texts.npy vocabulary.txt"
    assert sorted(f.name for f in folder.iterdir()) == expected.split()
    assert not list(folder.parent.glob(".*"))
    config = json.loads((folder / "config.json").read_text())
    assert (config["model"], config["training"]["seed"]) == ("bilstm", 5)
    assert config["arguments"]["units"] == TINY["units"]
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


@pytest.mark.slow
def test_the_same_seed_trains_the_same_weights_and_another_other_ones(run, tmp_path):
    bundle, _ = run
    same, other = train(tmp_path / "same"), train(tmp_path / "other", seed=6)
    assert same_weights(bundle, same)
    assert not np.allclose(bundle.model.get_weights()[-2], other.model.get_weights()[-2])


@pytest.mark.slow
def test_vectors_fill_the_embedding_and_frozen_words_stay(tmp_path):
    rng = np.random.default_rng(0)
    words = sorted(count_words(small_demo().train.texts))
    lines = [f"{w} " + " ".join(f"{x:.3f}" for x in rng.normal(size=6)) for w in [*words, "zebra", "quark"]]
    (tmp_path / "v.txt").write_text("\n".join(lines) + "\n")
    bundle = train(tmp_path / "run", vectors=tmp_path / "v.txt", epochs=1, embedding_dim=6)
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


def test_a_run_that_is_there_is_kept_unless_asked_and_without_progress_nothing_is_printed(run, tmp_path, capfd):
    _, folder = run
    shutil.copytree(folder, tmp_path / "run")
    before = (tmp_path / "run" / "manifest.json").read_bytes()
    with pytest.raises(FileExistsError, match="already exists"):
        train(tmp_path / "run")
    assert (tmp_path / "run" / "manifest.json").read_bytes() == before
    train(tmp_path / "run", overwrite=True, epochs=1, seed=9)
    assert capfd.readouterr() == ("", "")
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
        ({"vocab_size": 9}, ValueError, "vocab_size is derived from the data"),
        ({"unitz": 9}, ValueError, "Unknown argument of bilstm: 'unitz'"),
        ({"vectors": "nowhere/v.txt"}, FileNotFoundError, "nowhere"),
        ({"oov": "drop"}, ValueError, "needs word vectors"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_written(tmp_path, arguments, error, message):
    with pytest.raises(error, match=message):
        train(tmp_path / "run", **arguments)
    assert not list(tmp_path.iterdir())


def test_word_vectors_that_stay_random_are_warned_of(tmp_path):
    with (
        pytest.warns(UserWarning, match="frozen word vectors are random"),
        pytest.raises(ValueError, match="Did you mean 'demo'"),
    ):
        zoo.train("bilstm_tagger", "demmo", tmp_path / "run", recipe="batched_fixed_vectors")


def test_a_run_directory_under_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError, match="is a file"):
        train(tmp_path / "file")
    with pytest.raises(NotADirectoryError, match="is a file"):
        train(tmp_path / "file" / "run")


@pytest.mark.slow
def test_learning_rates_decay_by_epoch_and_word_vectors_have_their_own(tmp_path):
    bundle = train(tmp_path / "run", learning_rate=0.01, learning_rate_decay=0.5, embedding_learning_rate=0.001)
    assert bundle.history["learning_rate"].tolist() == pytest.approx([0.01, 0.005, 0.0025])
    assert bundle.model.get_layer("embedding").update_scale == pytest.approx(0.1)
    assert zoo.load(tmp_path / "run").predict(["soup"]) == bundle.predict(["soup"])


@pytest.mark.slow
def test_tensorboard_logs_land_beside_the_run(tmp_path):
    train(tmp_path / "run", epochs=1, tensorboard=True)
    assert list((tmp_path / "run.tensorboard").rglob("events.out.tfevents.*"))
    zoo.load(tmp_path / "run")


@pytest.mark.slow
def test_a_user_trains_on_a_table_of_their_own(tmp_path):
    rows = "".join(f'"it was {w}, really",{y}\n' for w, y in (("great", "up"), ("awful", "down")) * 15)
    (tmp_path / "mine.csv").write_text("review,stars\n" + rows)
    corpus = zoo.load_corpus("csv", train_file=tmp_path / "mine.csv", text_column="review", label_column="stars")
    bundle = train(tmp_path / "run", dataset=corpus, epochs=2)
    assert bundle.labels == ["down", "up"]
    assert "test_accuracy" not in bundle.metrics
    assert bundle.metrics["dev_texts"] == 3


@pytest.mark.slow
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
