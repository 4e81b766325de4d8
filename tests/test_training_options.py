"""Options of a classifier's training: class weights, the score that chooses, cut texts, callbacks, calibration."""

import json

import keras
import numpy as np
import pytest
import scipy.optimize
import scipy.special
import tensorflow as tf
from sklearn.metrics import f1_score, log_loss
from sklearn.utils.class_weight import compute_class_weight

import dense_lstm_zoo as zoo
from dense_lstm_zoo.classification.analysis import macro_f1
from dense_lstm_zoo.classification.calibration import fit_temperature
from dense_lstm_zoo.classification.options import class_weights
from tests.bundle_harness import bundle, refused
from tests.cli_harness import output_of
from tests.saving_harness import same_weights
from tests.training_harness import interrupted, small_demo, train

ALL = {
    "class_weights": "balanced",
    "monitor": "macro_f1",
    "max_tokens": 5,
    "max_batch_tokens": 300,
    "calibrate": True,
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A run without any of the options."""
    return train(tmp_path_factory.mktemp("runs") / "plain", epochs=2)


@pytest.fixture(scope="module")
def every(tmp_path_factory):
    """A run with all of them, and its folder."""
    folder = tmp_path_factory.mktemp("runs") / "every"
    return train(folder, epochs=2, **ALL), folder


@pytest.mark.slow
def test_a_run_without_the_options_has_no_trace_of_them(plain):
    assert not set(ALL) & (set(plain.config["training"]) | set(plain.config["text"]))
    assert "temperature" not in plain.metrics
    assert "val_macro_f1" not in plain.history
    assert plain.temperature is None


@pytest.mark.slow
def test_a_run_with_all_options_records_them_and_loads_as_it_was(every):
    trained, folder = every
    training = json.loads((folder / "config.json").read_text())["training"]
    assert {name: training[name] for name in ("class_weights", "monitor", "calibrate", "max_batch_tokens")} == {
        "class_weights": "balanced",
        "monitor": "macro_f1",
        "max_batch_tokens": 300,
        "calibrate": True,
    }
    assert trained.config["text"]["max_tokens"] == 5
    again = zoo.load(folder)
    texts = small_demo().test.texts[:20]
    np.testing.assert_array_equal(again.probabilities(texts), trained.probabilities(texts))
    assert again.temperature == trained.temperature


@pytest.mark.slow
def test_an_interrupted_run_with_all_options_ends_with_the_same_weights(every, tmp_path):
    with interrupted(epoch=1, batch=2):
        train(tmp_path / "run", epochs=2, **ALL)
    with pytest.raises(ValueError, match="monitor was 'macro_f1' and is 'loss'"):
        train(tmp_path / "run", epochs=2, **{**ALL, "monitor": "loss"})
    resumed = train(tmp_path / "run", epochs=2, **ALL)
    assert same_weights(resumed, every[0])
    assert resumed.temperature == every[0].temperature
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


def test_balanced_weights_are_scikit_learns_and_named_ones_are_taken():
    corpus = zoo.Corpus("mine", ("a", "b", "c"), zoo.Split(["x"] * 6, [0, 0, 0, 0, 1, 2]), None, None)
    expected = compute_class_weight("balanced", classes=np.arange(3), y=corpus.train.labels)
    np.testing.assert_allclose(list(class_weights("balanced", corpus).values()), expected)
    assert class_weights({"b": 3, "c": 0.5}, corpus) == {0: 1.0, 1: 3.0, 2: 0.5}
    assert class_weights(None, corpus) is None
    stars = zoo.Corpus("mine", ("1", "2"), zoo.Split(["x", "y"], [0, 1]), None, None)
    assert class_weights({2: 3}, stars) == {0: 1.0, 1: 3.0}


@pytest.mark.slow
def test_a_weight_multiplies_the_training_loss_of_its_texts_and_nothing_else(tmp_path, plain):
    rate = {"learning_rate": 1e-12, "epochs": 1, "dropout": 0.0, "embedding_dropout": 0.0, "l2": 0.0}
    labels = small_demo().label_names
    alone = train(tmp_path / "alone", **rate)
    doubled = train(tmp_path / "doubled", class_weights=dict.fromkeys(labels, 2.0), **rate)
    assert doubled.history["loss"][0] == pytest.approx(2 * alone.history["loss"][0], rel=1e-5)
    assert doubled.history["val_loss"][0] == pytest.approx(alone.history["val_loss"][0], rel=1e-5)
    assert doubled.metrics["test_loss"] == pytest.approx(alone.metrics["test_loss"], rel=1e-5)
    assert doubled.history["accuracy"][0] == pytest.approx(alone.history["accuracy"][0])
    weighted = train(tmp_path / "one", class_weights={labels[0]: 3.0}, **rate)
    texts, probabilities = small_demo().train, alone.probabilities(small_demo().train.texts)
    losses = -np.log(probabilities[np.arange(len(texts)), texts.labels])
    weights = np.where(np.array(texts.labels) == 0, 3.0, 1.0)
    assert weighted.history["loss"][0] == pytest.approx(float((losses * weights).mean()), rel=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"class_weights": {"positve": 2}}, "Unknown label in class_weights: 'positve'. Did you mean 'positive'"),
        ({"class_weights": "balance"}, "Unknown value of class_weights: 'balance'. Did you mean 'balanced'"),
        (
            {"class_weights": {"positive": 0}},
            r"class_weights\['positive'\] must be a finite number above 0; received 0",
        ),
        ({"class_weights": 3}, "Unknown value of class_weights: 3. Accepted: balanced"),
        ({"monitor": "f1"}, "Unknown value of monitor: 'f1'"),
        ({"max_tokens": 0}, "max_tokens must be an integer of at least 1; received 0"),
        ({"calibrate": "yes"}, "calibrate must be True or False; received 'yes'"),
        ({"callbacks": keras.callbacks.History()}, "callbacks must be a list of keras.callbacks.Callback"),
        ({"callbacks": [keras.callbacks.History]}, "as item 0, counted from 0. Create one"),
    ],
)
def test_wrong_options_are_refused_before_any_work(tmp_path, options, message):
    with pytest.raises(ValueError, match=message.replace(". ", r"\. ")):
        train(tmp_path / "run", **options)
    assert not list(tmp_path.iterdir())


def test_the_options_are_for_classifiers(tmp_path):
    with pytest.raises(ValueError, match="calibrate is not an option for tagging"):
        train(tmp_path / "run", task="tagging", calibrate=True)


def test_macro_f1_is_scikit_learns(every):
    rng = np.random.default_rng(0)
    for size in (2, 7):
        labels, predicted = rng.integers(0, size, (2, 30))
        assert macro_f1(labels, predicted) == pytest.approx(f1_score(labels, predicted, average="macro"))
    assert macro_f1(np.array([0, 0]), np.array([2, 0])) == pytest.approx(f1_score([0, 0], [2, 0], average="macro"))
    trained, test = every[0], small_demo().test
    indices = [trained.labels.index(prediction.label) for prediction in trained.predict(test.texts)]
    expected = f1_score(test.labels, indices, average="macro")
    assert trained.metrics["test_macro_f1"] == pytest.approx(expected)
    best = trained.history.loc[trained.history["epoch"] == trained.metrics["best_epoch"]].iloc[0]
    assert best["val_macro_f1"] == trained.history["val_macro_f1"].max()
    assert best["val_macro_f1"] == pytest.approx(trained.metrics["dev_macro_f1"])


class Scripted(keras.callbacks.Callback):
    """Replaces scores of an epoch's row, before it is saved."""

    def __init__(self, **scores):
        super().__init__()
        self.scores = scores

    def on_epoch_end(self, epoch, logs=None):
        logs.update({name: values[epoch] for name, values in self.scores.items()})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("monitor", "best", "epochs"),
    [(None, 1, 3), ("accuracy", 1, 3), ("loss", 3, 4), ("macro_f1", 2, 4), ("calibrated_loss", 3, 4)],
)
def test_the_monitored_score_chooses_the_epoch_and_drives_patience(tmp_path, monitor, best, epochs):
    scores = {
        "val_accuracy": [0.9, 0.5, 0.5, 0.5],
        "val_loss": [3.0, 2.0, 1.0, 4.0],
        "val_macro_f1": [0.1, 0.9, 0.5, 0.5],
        "val_calibrated_loss": [0.4, 0.5, 0.2, 0.3],
    }
    options = {} if monitor is None else {"monitor": monitor}
    result = train(tmp_path / "run", epochs=4, patience=2, callbacks=[Scripted(**scores)], **options)
    assert (result.metrics["best_epoch"], result.metrics["epochs"]) == (best, epochs)
    assert result.history["val_loss"].tolist() == scores["val_loss"][:epochs]
    assert "callbacks" not in result.config["training"]


@pytest.mark.slow
def test_the_monitored_loss_is_that_of_dev_without_the_penalty_on_weights(tmp_path):
    result = train(tmp_path / "run", epochs=1, monitor="loss", l2=0.5)
    assert result.history["val_loss"].tolist() == pytest.approx([result.metrics["dev_loss"]], rel=1e-5)


@pytest.mark.slow
def test_numbers_of_numpy_are_numbers(tmp_path):
    weights = {"positive": np.float32(2), "negative": np.int64(1)}
    sizes = {"epochs": np.int64(1), "units": np.int32(3), "dropout": np.float32(0.25), "l2": np.float64(0.5)}
    result = train(tmp_path / "run", seed=np.int64(4), class_weights=weights, trainable_embeddings=np.True_, **sizes)
    assert {name: result.config["arguments"][name] for name in ("units", "dropout", "l2", "trainable_embeddings")} == {
        "units": 3,
        "dropout": 0.25,
        "l2": 0.5,
        "trainable_embeddings": True,
    }
    assert zoo.build("bilstm", vocab_size=np.int64(9), num_classes=np.int16(2)).count_params() > 0


@pytest.mark.slow
def test_a_callback_that_stops_training_ends_the_run(tmp_path):
    class Stop(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            assert {"val_accuracy", "seconds"} <= set(logs)
            self.model.stop_training = epoch == 1

    for pause in (None, 2):
        result = train(tmp_path / "run", epochs=5, callbacks=(Stop(),), pause_after=pause, overwrite=True)
        assert result.metrics["epochs"] == 2
        assert [file.name for file in tmp_path.iterdir()] == ["run"]


@pytest.mark.slow
def test_numbers_of_callbacks_that_json_cannot_hold_do_not_end_the_run(tmp_path):
    class Odd(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            logs |= {"f1": float("nan") if epoch else 0.5, "least": -np.inf, "most": np.inf}
            logs |= {"epoch": 7, "note": "fine", "square": np.zeros((2, 2)), "none": None}

    history = train(tmp_path / "run", epochs=2, callbacks=[Odd()]).history
    assert history["epoch"].tolist() == [1, 2]
    assert not {"note", "square", "none"} & set(history)
    lines = (tmp_path / "run" / "run.toml").read_text().splitlines()
    assert lines[-1] == "# Callbacks were given in Python, and are not repeated: 'Odd'."
    assert history["f1"].fillna(-1).tolist() == [0.5, -1]
    assert (history["least"] < -1e300).all()
    assert (history["most"] > 1e300).all()
    assert zoo.load(tmp_path / "run").history["f1"].isna().tolist() == [False, True]


@pytest.mark.slow
def test_longer_texts_are_cut_the_same_way_everywhere(tmp_path, capsys):
    corpus = small_demo()
    truncating = train(tmp_path / "run", epochs=1, max_tokens=4, progress=True)
    lengths = [len(tokens) for tokens, _ in bundle_tokens(corpus.train.texts)]
    message = f"max_tokens=4 cuts {sum(n > 4 for n in lengths):,} of {len(lengths):,} training texts."
    assert message in capsys.readouterr().out
    reloaded = zoo.load(tmp_path / "run")
    long, short = "The soup was bland but the waitress smiled", "The soup was bland"
    for model in (truncating, reloaded):
        np.testing.assert_array_equal(model.probabilities([long]), model.probabilities([short]))
        assert model.explain(long).tokens == ["The", "soup", "was", "bland"]
        assert model.embed_tokens([long])[0][0] == ["The", "soup", "was", "bland"]
    split = zoo.Split([long], [0])
    assert truncating.evaluate(split)["loss"] == truncating.evaluate(zoo.Split([short], [0]))["loss"]
    serve = tf.saved_model.load(str(truncating.export(tmp_path / "1"))).signatures["serving_default"]
    probabilities = serve(text=tf.constant([long, short]))["probabilities"].numpy()
    np.testing.assert_allclose(probabilities, truncating.probabilities([long, short]), atol=1e-6)
    np.testing.assert_allclose(probabilities[0], probabilities[1], atol=1e-6)


def bundle_tokens(texts):
    from dense_lstm_zoo.data.text import Tokenizer, to_bytes

    return [(row, None) for row in Tokenizer()(to_bytes(texts)).to_list()]


def test_words_are_counted_without_those_that_are_dropped():
    from dense_lstm_zoo.classification.text_ids import TextToIds

    words = ["good", "film"]
    assert TextToIds(words, "drop", max_tokens=2)(["a good old film , good", ""]).to_list() == [[2, 3], [1]]
    assert TextToIds(words, "unk", max_tokens=2)(["a good old film", ""]).to_list() == [[1, 2], [1]]
    layer = TextToIds(words, "unk", "abc", max_tokens=2)
    assert TextToIds.from_config(layer.get_config()).max_tokens == 2
    assert {ids.row_lengths().numpy().tolist()[0] for ids in layer.read(["a b c d"])[1].values()} == {2}


def test_a_strange_cut_or_temperature_is_refused(tmp_path):
    folder = bundle("bilstm").save(tmp_path / "run")
    config = json.loads((folder / "config.json").read_text())
    for wrong in (0, -1, "3", 2.5):
        config["text"]["max_tokens"] = wrong
        (folder / "config.json").write_text(json.dumps(config))
        refused(folder, "'max_tokens' in 'text' is")
    del config["text"]["max_tokens"]
    (folder / "config.json").write_text(json.dumps(config))
    for wrong in ("0", "-1.0", "null", '"2"', "true", "1e999"):
        (folder / "metrics.json").write_text(f'{{"temperature": {wrong}}}')
        refused(folder, "'temperature' must be a finite number above 0")


def test_the_temperature_is_scipys_minimum():
    rng = np.random.default_rng(0)
    for scale in (0.2, 1.0, 8.0):
        true = rng.normal(size=(400, 4))
        labels = np.array([rng.choice(4, p=scipy.special.softmax(row)) for row in true])
        logits = (scale * true).astype(np.float32)

        def loss(t, logits=logits, labels=labels):
            return log_loss(labels, scipy.special.softmax(logits.astype(float) / np.exp(t), axis=1), labels=range(4))

        expected = scipy.optimize.minimize_scalar(loss, bounds=(-3, 3), method="bounded", options={"xatol": 1e-8})
        assert np.log(fit_temperature(logits, labels)) == pytest.approx(expected.x, abs=1e-3)
    assert fit_temperature(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([0, 1])) == 1.0  # nothing is wrong
    assert fit_temperature(np.array([[2.0, 0.0]] * 3), np.array([1, 1, 1])) == pytest.approx(20)  # all is


@pytest.mark.slow
def test_calibration_keeps_the_labels_and_changes_every_probability_alike(plain, tmp_path):
    plain.save(tmp_path / "copy")
    trained, corpus = zoo.load(tmp_path / "copy"), small_demo()
    texts = corpus.test.texts
    before, labels = trained.probabilities(texts), [prediction.label for prediction in trained.predict(texts)]
    np.testing.assert_array_equal(before, plain.probabilities(texts))
    assert {"dev_loss", "test_loss"} <= trained.metrics.keys()
    temperature = trained.calibrate(corpus.dev)
    assert not {"dev_loss", "test_loss"} & trained.metrics.keys()
    assert trained.metrics["test_accuracy"] == plain.metrics["test_accuracy"]
    assert trained.evaluation == {}
    assert trained.rescore(dev=corpus.dev)["dev_loss"] == trained.evaluate(corpus.dev)["loss"]
    trained.metrics["temperature"] = temperature = temperature * 2  # far from 1
    logits = np.log(before.astype(float))
    expected = scipy.special.softmax(logits / temperature, axis=1)
    np.testing.assert_allclose(trained.probabilities(texts), expected, atol=1e-5)
    assert [prediction.label for prediction in trained.predict(texts)] == labels
    np.testing.assert_allclose([p.probability for p in trained.predict(texts)], expected.max(axis=1), atol=1e-5)
    assert trained.explain(texts[0]).probability == pytest.approx(expected[0].max(), abs=1e-5)
    serve = tf.saved_model.load(str(trained.export(tmp_path / "1"))).signatures["serving_default"]
    served = serve(text=tf.constant(texts))
    np.testing.assert_allclose(served["probabilities"], expected, atol=1e-5)
    assert [label.decode() for label in served["label"].numpy()] == labels
    scores = trained.evaluate(corpus.test)
    assert scores["loss"] == pytest.approx(log_loss(corpus.test.labels, expected, labels=range(2)), rel=1e-4)
    assert scores["loss_uncalibrated"] == pytest.approx(plain.evaluate(corpus.test)["loss"], rel=1e-5)
    assert scores["calibration_error_uncalibrated"] == pytest.approx(plain.analyse(corpus.test)["calibration_error"])


def test_a_calibrated_run_reports_what_changed(every):
    trained, folder = every
    metrics = trained.metrics
    assert metrics["dev_loss"] <= metrics["dev_loss_uncalibrated"]
    assert {"test_loss_uncalibrated", "test_calibration_error", "test_calibration_error_uncalibrated"} <= set(metrics)
    card = (folder / "README.md").read_text()
    assert f"temperature       {metrics['temperature']:.3f}" in card
    assert f"dev calibrated    loss {metrics['dev_loss_uncalibrated']:.4f} to {metrics['dev_loss']:.4f}, calib" in card


@pytest.mark.slow
def test_the_command_line_takes_them(tmp_path, capsys):
    rows = "".join(f'"it was {w}, really",{y}\n' for w, y in (("great", "up"), ("awful", "down")) * 20)
    (tmp_path / "mine.csv").write_text("text,label\n" + rows)
    arguments = [
        "train",
        "bilstm",
        "--train-file",
        tmp_path / "mine.csv",
        "--run-dir",
        tmp_path / "run",
        "--units",
        "4",
    ]
    arguments += ["--embedding-dim", "4", "--epochs", "1", "--max-tokens", "3", "--monitor", "loss", "--calibrate"]
    status, _, err = output_of(capsys, *arguments, "--class-weights", '{"upp": 2}')
    assert (status, "Did you mean 'up'?" in err) == (2, True)
    assert output_of(capsys, *arguments, "--class-weights", '{"up": 2}')[0] == 0
    training = zoo.load(tmp_path / "run").config["training"]
    assert (training["class_weights"], training["monitor"], training["calibrate"]) == ({"up": 2}, "loss", True)
