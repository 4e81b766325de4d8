"""The baseline beside a classifier's scores, macro F1 beside accuracy, and what a training warns of."""

import dataclasses
import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import dense_lstm_zoo as zoo
from dense_lstm_zoo.classification import baseline
from dense_lstm_zoo.classification.analysis import macro_f1
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.split import Split
from tests.cli_harness import output_of
from tests.training_harness import small_demo, train


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("baseline") / "run"
    return train(folder, baseline=True, epochs=1), folder


def test_a_training_says_what_a_linear_model_reaches_on_the_same_texts(trained):
    bundle, folder = trained
    corpus = small_demo()
    fitted = baseline.fit(corpus, 5)
    predicted = fitted.predict(corpus.test.texts)
    right = np.array(corpus.test.labels)
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["test_baseline_accuracy"] == pytest.approx((predicted == right).mean())
    assert metrics["test_baseline_macro_f1"] == pytest.approx(macro_f1(right, predicted))
    ahead = metrics["test_accuracy"] - metrics["test_baseline_accuracy"]
    assert metrics["test_ahead"] == pytest.approx(ahead)
    assert metrics["test_ahead_low"] <= ahead <= metrics["test_ahead_high"]
    assert metrics["dev_baseline_accuracy"] > 0.4  # the demo has six labels
    line = f"test baseline     {metrics['test_baseline_accuracy']:.4f}, macro F1 "
    assert line in bundle.summary()
    assert line in (folder / "README.md").read_text(encoding="utf-8")
    report = (folder / "report.md").read_text(encoding="utf-8")
    assert f"accuracy {100 * metrics['test_baseline_accuracy']:.1f} %" in report
    assert f"macro F1 {100 * metrics['test_macro_f1']:.1f} %" in report
    assert "TF-IDF + logistic regression" in report


def test_macro_f1_stands_beside_accuracy(trained, capsys):
    bundle, folder = trained
    assert f"{bundle.metrics['test_accuracy']:.4f}, macro F1 {bundle.metrics['test_macro_f1']:.4f}" in bundle.summary()
    status, out, _ = output_of(capsys, "evaluate", folder, "--dataset", "demo")
    assert status == 0
    assert ", macro F1 0." in out


def test_scores_of_other_texts_leave_no_baseline_behind(trained):
    bundle = zoo.load(trained[1])
    bundle.rescore(test=small_demo().dev)
    assert "test_baseline_accuracy" not in bundle.metrics
    assert "dev_baseline_accuracy" in bundle.metrics


def test_without_a_baseline_there_is_none(run):
    assert not [name for name in run[0].metrics if "baseline" in name or "ahead" in name]


@pytest.mark.slow
def test_without_a_baseline_none_is_fitted_and_the_weights_are_the_same(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(baseline, "fit", lambda *_: pytest.fail("a baseline is fitted"))
    plain = train(tmp_path / "run", baseline=False, epochs=1)
    assert plain.fingerprint() == trained[0].fingerprint()
    assert plain.config == trained[0].config


@pytest.mark.slow
@pytest.mark.parametrize("step", ["fit", "predict"])
def test_a_failing_baseline_costs_nobody_a_model(tmp_path, monkeypatch, capsys, step):
    def fail(*_, **__):
        raise MemoryError(f"{step} is too large")

    monkeypatch.setattr(LogisticRegression, step, fail)
    bundle = train(tmp_path / "run", baseline=True, epochs=1)
    assert zoo.load(tmp_path / "run").metrics["test_accuracy"] == bundle.metrics["test_accuracy"]
    assert "test_baseline_accuracy" not in bundle.metrics
    assert f"no baseline: MemoryError: {step} is too large" in capsys.readouterr().err


@pytest.mark.parametrize(
    "texts",
    [
        Split(["", " "] * 20, [0, 1] * 20),  # no words
        Split(["one label"] * 40, [0] * 40),
    ],
)
def test_texts_that_no_linear_model_can_tell_have_no_baseline(texts, capsys):
    assert baseline.fit(Corpus("odd", ("a", "b"), texts, texts, None)) is None
    assert "no baseline" in capsys.readouterr().err


def test_large_corpora_are_bounded(monkeypatch):
    monkeypatch.setattr(baseline, "_TEXTS", 3_000)
    monkeypatch.setattr(baseline, "_WORK", 30_000)
    words = [f"w{i}" for i in range(50)]
    generator = np.random.default_rng(0)
    texts = [" ".join(generator.choice(words, 10)) + (" yes" if i % 2 else " no") for i in range(4_000)]
    split = Split(texts, [i % 2 for i in range(4_000)])
    fitted = baseline.fit(Corpus("large", ("no", "yes"), split, split.select(range(100)), None))
    assert 1_000 <= fitted.num_texts < 1_700  # about 21 features a text
    assert (fitted.predict(texts[:50]) == split.labels[:50]).all()


def test_the_option_is_negative_on_the_command_line(capsys):
    with pytest.raises(SystemExit):
        output_of(capsys, "train", "--help")
    assert "--no-baseline" in capsys.readouterr().out


@pytest.mark.slow
def test_repeated_texts_a_small_dev_set_and_labels_never_predicted_are_warned_of(tmp_path, capsys):
    corpus = small_demo()
    test = Split(corpus.test.texts[:58] + corpus.train.texts[:12], corpus.test.labels[:58] + corpus.train.labels[:12])
    odd = dataclasses.replace(corpus, dev=corpus.dev.select(range(15)), test=test)
    bundle = train(tmp_path / "run", dataset=odd, epochs=1, progress=True)
    out = capsys.readouterr().out
    assert "warning: test texts that are also training texts: 12 of 70" in out
    assert "warning: 15 dev texts choose the best epoch largely by chance" in out
    assert out.index("warning: 15 dev texts") < out.index("parameters")  # before the training
    card = (tmp_path / "run" / "README.md").read_text(encoding="utf-8")
    assert "test texts that are also training texts" in card
    missed = [row["label"] for row in bundle.evaluation["classes"] if row["texts"] and row["precision"] is None]
    assert ("never_predicted" in bundle.metrics) == bool(missed)
    assert all(label in bundle.metrics.get("never_predicted", "") for label in missed[:5])


def test_nothing_is_warned_of_without_a_reason(trained):
    assert not {"seen_test", "seen_dev", "small_dev"} & trained[0].metrics.keys()
