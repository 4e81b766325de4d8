"""A classifier of texts with several labels, from training to the answers of every export."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

import dense_lstm_zoo as zoo
from dense_lstm_zoo.classification import baseline
from dense_lstm_zoo.classification.calibration import sigmoid
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo_runtime import ExportError, Predictor
from tests import bundle_harness
from tests.cli_harness import output_of
from tests.several_labels_harness import LABELS, corpus, examples, split, train
from tests.training_harness import small_demo

TEXTS = ["a slow waitress , tasty pasta", "it was raining", "", "the bill was high"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("several") / "run"
    return train(folder, baseline=True), folder


@pytest.fixture(scope="module")
def onnx(trained):
    trained[0].export(trained[1].with_name("onnx"), format="onnx")
    return trained[1].with_name("onnx")


def test_a_training_learns_the_labels_and_says_so(trained):
    bundle, folder = trained
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["test_micro_f1"] > 0.8
    assert metrics["test_ranking_average_precision"] > 0.9
    assert bundle.config["arguments"]["labels"] == "several"
    assert bundle.config["training"]["monitor"] == "calibrated_loss"
    assert bundle.metrics["best_epoch"] == bundle.history.val_calibrated_loss.argmin() + 1
    assert 0 <= metrics["test_baseline_micro_f1"] <= 1
    assert metrics["test_ahead"] == pytest.approx(metrics["test_micro_f1"] - metrics["test_baseline_micro_f1"])
    summary = bundle.summary()
    assert f"(exactly the right labels), micro F1 {metrics['test_micro_f1']:.4f}" in summary
    assert "thresholds        food 0." in summary
    report = (folder / "report.md").read_text(encoding="utf-8")
    assert f"Micro F1 {100 * metrics['test_micro_f1']:.1f} %" in report
    assert "Confusion" not in report
    assert (folder / "report.png").is_file()
    assert "several" in (folder / "README.md").read_text(encoding="utf-8")


def test_scores_are_those_of_the_labels_that_it_gives(trained):
    bundle, test = trained[0], corpus().test
    predicted = [set(each.labels) for each in bundle.predict(test.texts)]
    chosen = np.array([[label in labels for label in LABELS] for labels in predicted])
    scores = bundle.evaluate(test)
    assert scores["micro_f1"] == pytest.approx(f1_score(test.targets(3), chosen, average="micro"))
    assert scores["accuracy"] == pytest.approx((test.targets(3) == chosen).all(axis=1).mean())
    assert scores["micro_f1"] == pytest.approx(bundle.metrics["test_micro_f1"])
    low = bundle.evaluate(test, threshold=0.001)
    assert low["hamming_loss"] > scores["hamming_loss"]
    assert low["ranking_average_precision"] == scores["ranking_average_precision"]
    np.testing.assert_allclose(bundle.probabilities(TEXTS), sigmoid(bundle._logits(TEXTS)), rtol=1e-6)


def test_thresholds_are_tuned_on_dev_and_kept(trained):
    bundle, folder = trained
    again = zoo.load(folder)
    assert again.config["thresholds"] == bundle.config["thresholds"]
    assert again.predict(TEXTS) == bundle.predict(TEXTS)
    assert again.saved_as is not None
    assert again.tune_thresholds(corpus().dev) == bundle.config["thresholds"]
    assert again.saved_as is not None
    assert "test_micro_f1" in again.metrics
    again.tune_thresholds(corpus().test)
    assert again.saved_as is None
    assert "test_micro_f1" not in again.metrics
    assert not again.evaluation


def test_calibration_changes_no_label(trained):
    again = zoo.load(trained[1])
    before = [each.labels for each in again.predict(corpus().test.texts)]
    again.calibrate(corpus().dev)
    assert again.temperature != 1.0
    assert [set(each.labels) for each in again.predict(corpus().test.texts)] == list(map(set, before))
    scores = again.evaluate(corpus().test)
    assert scores["loss"] < scores["loss_uncalibrated"] * 1.2
    assert {"calibration_error", "calibration_error_uncalibrated"} <= scores.keys()


def test_a_frame_gets_lists_of_labels(trained):
    frame = trained[0].predict_frame(pd.DataFrame({"said": TEXTS}), text="said")
    assert list(frame.columns) == ["said", "labels", "label", "probability", *(f"probability_{x}" for x in LABELS)]
    assert frame["labels"].tolist() == [each.labels for each in trained[0].predict(TEXTS)]


@pytest.mark.parametrize("temperature", [pytest.param(None, marks=pytest.mark.slow), 2.5])
def test_every_export_gives_the_same_labels(temperature, tmp_path):
    pytest.importorskip("onnx")
    bundle = bundle_harness.with_random_weights(bundle_harness.bundle("bilstm", labels="several"))
    if temperature:
        bundle.metrics["temperature"] = temperature
    texts = ["the film was good", "bad !", "", "it was very long , but good", "unknown words", "short"]
    middle = np.median(bundle.probabilities(texts), axis=0) + 1e-4
    bundle.config["thresholds"] = dict(zip(bundle.labels, middle.tolist(), strict=True))
    ours = bundle.predict(texts)
    assert len({tuple(each.labels) for each in ours}) > 2
    bundle.export(tmp_path / "onnx", format="onnx")
    bundle.export(tmp_path / "saved")
    predictor = Predictor(tmp_path / "onnx")
    assert predictor.is_several
    page = (tmp_path / "saved" / "SIGNATURES.md").read_text(encoding="utf-8")
    assert re.search(r'"predicted": \[(true|false), ', page)
    from dense_lstm_zoo.batch import engines

    models = [engines.find(tmp_path / name) for name in ("onnx", "saved")]
    assert [model.is_several for model in models] == [True, True]
    for answers in (predictor.predict(texts), *(model.load()(texts) for model in models)):
        for mine, theirs in zip(ours, answers, strict=True):
            assert (mine.label, mine.labels) == (theirs.label, theirs.labels)
            assert mine.probability == pytest.approx(theirs.probability, abs=1e-5)
            assert mine.probabilities == pytest.approx(theirs.probabilities, abs=1e-5)
    lower = predictor.predict(texts, threshold={"no": 0.01})
    assert all("no" in each.labels for each in lower)
    assert [each.labels for each in lower] == [each.labels for each in bundle.predict(texts, threshold={"no": 0.01})]


def test_an_explanation_takes_the_log_odds_of_a_label_by_itself(trained, onnx):
    explanation = Predictor(onnx).explain("tasty pasta")
    logits = trained[0]._logits(["tasty pasta", "pasta", "tasty"])
    best = int(logits[0].argmax())
    assert explanation.label == LABELS[best]
    np.testing.assert_allclose(explanation.effects, logits[0, best] - logits[1:, best], atol=1e-4)
    assert trained[0].explain("tasty pasta").label == LABELS[best]
    other = 1 if best != 1 else 2
    explanation = Predictor(onnx).explain("tasty pasta", label=LABELS[other])
    np.testing.assert_allclose(explanation.effects, logits[0, other] - logits[1:, other], atol=1e-4)
    assert (explanation.label, trained[0].explain("tasty pasta", label=LABELS[other]).label) == (LABELS[other],) * 2
    with pytest.raises(ValueError, match=r"Unknown label of the model: 'fod'\. Did you mean 'food'"):
        Predictor(onnx).explain("tasty pasta", label="fod")


def test_an_older_runtime_refuses_the_export(onnx):
    for name in ("config.json", "manifest.json"):
        assert json.loads((onnx / name).read_text())["format"] == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"thresholds": {"food": 2}}, "the threshold of 'food' is 2"),
        ({"thresholds": {"fod": 0.5}}, "a threshold is for 'fod', which is not a label"),
        ({"thresholds": [0.5]}, r"the thresholds must be an object; they are \[0.5\]"),
        ({"labels_per_text": "two"}, "the labels of a text must be one or several; they are 'two'"),
        ({"labels_per_text": "one"}, "3 thresholds are for texts that have one of 3 labels"),
    ],
)
def test_claims_of_an_export_are_checked(onnx, tmp_path, change, message):
    import hashlib
    import shutil

    copy = shutil.copytree(onnx, tmp_path / "copy")
    config = json.loads((copy / "config.json").read_text()) | change
    (copy / "config.json").write_text(json.dumps(config))
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["sha256"]["config.json"] = hashlib.sha256((copy / "config.json").read_bytes()).hexdigest()
    (copy / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ExportError, match=message):
        Predictor(copy)


def test_claims_of_a_bundle_are_checked(trained, tmp_path):
    for i, (value, message) in enumerate((({"fod": 0.5}, "'fod'"), ({"food": 1.5}, "'food' is 1.5"), (3, "are 3"))):
        copy = bundle_harness.sealed_copy(trained[1], tmp_path / str(i))
        config = json.loads((copy / "config.json").read_text())
        (copy / "config.json").write_text(json.dumps({**config, "thresholds": value}))
        bundle_harness.refused(copy, message)


def test_the_command_line_writes_labels_that_train_reads_again(trained, onnx, tmp_path, capsys):
    file = tmp_path / "raw.csv"
    file.write_text("text\n" + "".join(f'"{text}"\n' for text in TEXTS if text), encoding="utf-8")
    for source in (trained[1], onnx):
        status, out, err = output_of(capsys, "predict", source, "--file", file, "--format", "csv")
        assert status == 0, err
        rows = pd.read_csv(__import__("io").StringIO(out), keep_default_na=False)
        assert list(rows.columns) == ["text", "labels", "label", "probability", *(f"p_{name}" for name in LABELS)]
        ours = trained[0].predict([text for text in TEXTS if text])
        assert rows["labels"].tolist() == ["|".join(each.labels) for each in ours]
        status, out, _ = output_of(capsys, "predict", source, "--format", "jsonl", "--threshold", "0.9", TEXTS[0])
        row = json.loads(out)
        assert row["labels"] == trained[0].predict(TEXTS[:1], threshold=0.9)[0].labels
        status, out, _ = output_of(capsys, "predict", source, TEXTS[0])
        assert out.split("\t")[0] == "|".join(trained[0].predict(TEXTS[:1])[0].labels)
    table = tmp_path / "labelled.csv"
    labelled = [(text, labels) for text, labels in examples(30, 9) if labels]
    table.write_text("text,label\n" + "".join(f'"{text}",{"+".join(x)}\n' for text, x in labelled), encoding="utf-8")
    arguments = ("--test-file", table, "--label-separator", "+", "--format", "json")
    status, out, err = output_of(capsys, "evaluate", trained[1], *arguments, "--errors", tmp_path / "errors.csv")
    assert status == 0, err
    scores = json.loads(out)
    assert 0.5 < scores["micro_f1"] <= 1
    errors = pd.read_csv(tmp_path / "errors.csv", keep_default_na=False)
    assert list(errors.columns) == ["line", "text", "label", "predicted", "missing", "wrong"]
    assert len(errors) == round((1 - scores["accuracy"]) * scores["texts"])
    status, out, _ = output_of(capsys, "evaluate", trained[1], *arguments, "--threshold", '{"food": 0.999}')
    assert json.loads(out)["micro_f1"] < scores["micro_f1"]


def test_columns_that_lack_a_label_of_the_model_are_refused(trained, tmp_path, capsys):
    (tmp_path / "mine.csv").write_text("text,food,staff\ntasty pasta,1,0\n", encoding="utf-8")
    arguments = ("--test-file", tmp_path / "mine.csv", "--label-columns", "food", "staff")
    status, _, err = output_of(capsys, "evaluate", trained[1], *arguments)
    assert status == 2
    assert "must name a column for each label of the model; price is missing" in err


def test_one_text_can_be_scored(trained):
    scores = trained[0].evaluate(Split(["tasty pasta"], [[0]]))
    assert scores["texts"] == 1
    assert all(np.isfinite(value) for value in scores.values())
    assert trained[0].evaluate(Split(["we went on monday"], [[]]))["texts"] == 1


@pytest.mark.parametrize("value", ["2", "nan", "NaN", "half", "true", '{"food": 2}'])
def test_a_bad_threshold_is_one_line_before_any_work(trained, capsys, value):
    for command in ("predict", "evaluate"):
        texts = ["x"] if command == "predict" else ["--dataset", "demo"]
        status, _, err = output_of(capsys, command, trained[1], *texts, "--threshold", value)
        assert status == 2
        assert "--threshold must be a number above 0 and below 1; received" in err


def test_texts_of_the_other_kind_are_refused(trained):
    bundle = trained[0]
    with pytest.raises(ValueError, match="gives several labels per text, and the texts to score have one"):
        bundle.evaluate(Split(["x"], [1]))
    with pytest.raises(ValueError, match="gives several labels per text, and the texts to score have one"):
        bundle.tune_thresholds(pd.DataFrame({"text": ["x"], "label": ["food"]}))
    with pytest.raises(ValueError, match=r"line 2: |\(line 2\).*|Unknown label 'fod'"):
        bundle.evaluate(Split(["x"], [[0]], lines=[2]), ["fod"])
    one = bundle_harness.bundle("bilstm")
    with pytest.raises(ValueError, match="gives one label per text, and the texts to score have several"):
        one.evaluate(Split(["x"], [[0, 1]]))
    with pytest.raises(ValueError, match="this one gives a text one of 3 labels"):
        one.predict(["x"], threshold=0.4)
    with pytest.raises(ValueError, match="this one gives a text one of 3 labels"):
        one.tune_thresholds(Split(["x", "y"], [0, 1]))
    assert one.predict(["x"])[0].labels is None


def test_two_labels_may_have_a_threshold_that_bundle_and_exports_keep(tmp_path):
    pytest.importorskip("onnx")
    bundle = bundle_harness.with_random_weights(bundle_harness.bundle("bilstm", num_classes=2))
    bundle.labels = ["negative", "positive"]
    test = Split([f"the film was {'very ' * n}{end}" for n in range(9) for end in ("good", "bad !")], [1, 0] * 9)
    assert list(bundle.tune_thresholds(test)) == ["positive"]
    bundle.config["thresholds"] = {"positive": float(np.median(bundle.probabilities(test.texts)[:, 1]))}
    names = [each.label for each in bundle.predict(test.texts)]
    assert names.count("positive") == 9
    assert all(each.labels is None for each in bundle.predict(test.texts))
    bundle.export(tmp_path / "onnx", format="onnx")
    bundle.export(tmp_path / "saved")
    from dense_lstm_zoo.batch import engines

    for name in ("onnx", "saved"):
        assert [each.label for each in engines.find(tmp_path / name).load()(test.texts)] == names
    right = [name == bundle.labels[label] for name, label in zip(names, test.labels, strict=True)]
    assert bundle.evaluate(test)["accuracy"] == pytest.approx(np.mean(right))


def test_thresholds_and_the_f1_of_all_labels_are_refused_for_three_of_which_a_text_has_one(tmp_path):
    three = Corpus("three", ("a", "b", "c"), Split(list("abcdef"), [0, 1, 2] * 2), None, None)
    with pytest.raises(ValueError, match="thresholds='tuned' is for two labels, or for texts with several"):
        train(tmp_path / "three", three, thresholds="tuned")
    with pytest.raises(ValueError, match="monitor='micro_f1' is for texts with several labels"):
        train(tmp_path / "three", three, monitor="micro_f1")


@pytest.mark.slow
def test_a_training_tunes_the_threshold_of_two_labels(tmp_path):
    bundle = train(tmp_path / "run", small_demo(), epochs=1, thresholds="tuned")
    assert list(bundle.config["thresholds"]) == ["positive"]
    assert zoo.load(tmp_path / "run").config["thresholds"] == bundle.config["thresholds"]


@pytest.mark.filterwarnings("ignore:Without vectors")
def test_few_labels_fit_a_regression_for_each_label(tmp_path):
    few = Corpus("few", LABELS, split(60, 1), None, split(40, 3))
    bundle = train(tmp_path / "run", few, recipe="few_labels", epochs=None, learning_rate=0.005)
    assert bundle.history.shape[0] == 1
    assert bundle.metrics["test_ranking_average_precision"] > 0.7
    assert bundle.metrics["cross_validation_accuracy"] > 0.3
    assert set(bundle.config["thresholds"]) == set(LABELS)  # tuned on texts that the folds held out
    assert bundle.config["thresholds"] != dict.fromkeys(LABELS, 0.5)


def test_options_of_a_training_reach_it(tmp_path):
    bundle = train(
        tmp_path / "run",
        epochs=2,
        class_weights={"food": 20},
        monitor="micro_f1",
        thresholds="half",
        calibrate=True,
        dev_every=4,
    )
    assert "thresholds" not in bundle.config
    assert bundle.metrics["best_epoch"] == bundle.history.val_micro_f1.argmax() + 1
    shares = bundle.probabilities(corpus().test.texts)
    assert shares[:, 0].mean() > shares[:, 1:].mean() + 0.1
    assert bundle.dev_curve.dev_accuracy.between(0, 1).all()
    assert bundle.temperature is not None


@pytest.mark.slow
def test_a_model_of_one_label_goes_on_to_several_with_a_new_head(trained, tmp_path):
    goes_on = train(tmp_path / "same", init_from=trained[1], epochs=1, force_overlap=True)
    assert goes_on.config["training"]["init_from"]["head"] == "kept"
    singles = Corpus("one", LABELS, Split([f"text {i} {LABELS[i % 3]}" for i in range(60)], [0, 1, 2] * 20), None, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = train(tmp_path / "one", singles, init_from=trained[1], epochs=1)
    assert one.config["arguments"]["labels"] == "one"
    assert one.config["training"]["init_from"]["head"] == "new"
    with pytest.raises(ValueError, match=r"several labels per text, and .* one: they cannot be compared"):
        zoo.compare(trained[0], one, corpus().test)


@pytest.mark.slow
def test_two_models_are_compared_by_their_label_sets(trained, tmp_path):
    other = train(tmp_path / "other", epochs=1)
    comparison = zoo.compare(trained[0], other, corpus().test)
    assert comparison.scores[0].name == "micro_f1"
    assert comparison.scores[0].first == pytest.approx(trained[0].metrics["test_micro_f1"])
    assert comparison.scores[0].second == pytest.approx(other.metrics["test_micro_f1"])
    assert "food|" in str([row[1] for row in comparison.texts]) or len(comparison.texts) < 5


def test_the_baseline_tunes_its_thresholds_too():
    fitted = baseline.fit(corpus(), 1)
    chosen = fitted.predict(corpus().test.texts)
    assert f1_score(corpus().test.targets(3), chosen, average="micro") > 0.9
    without_dev = baseline.fit(Corpus("mine", LABELS, split(50, 1), None, None), 1)
    assert without_dev.thresholds.tolist() == [0.5] * 3
    rare = Corpus("mine", (*LABELS, "never"), split(50, 1), split(30, 2), None)
    assert not baseline.fit(rare, 1).predict(["tasty pasta"])[0, 3]


def test_texts_to_label_next_are_those_near_a_threshold(trained):
    suggestions = trained[0].suggest([text for text, _ in examples(60, 12)], 3)
    shares = trained[0].probabilities([each.text for each in suggestions])
    assert [each.label for each in suggestions] == [LABELS[i] for i in shares.argmax(axis=1)]
    margins = np.abs(shares - trained[0].decisions.values).min(axis=1)
    assert margins[0] <= margins.max()


def test_the_server_answers_with_the_labels(onnx):
    pytest.importorskip("pydantic_core")
    from dense_lstm_zoo_runtime.serve.models import serve, warm

    several = warm(serve("meals", Predictor(onnx)))
    rows = [json.loads(answer) for answer in several.operations["predict"](TEXTS)]
    assert [row["labels"] for row in rows] == [each.labels for each in Predictor(onnx).predict(TEXTS)]
    assert [row["label"] for row in rows] == [row["labels"][0] if row["labels"] else "" for row in rows]
    *_, explained = several.explain(TEXTS[0], None)
    assert json.loads(explained)["label"] in LABELS


def test_the_light_command_prints_them(onnx, capsys):
    from dense_lstm_zoo_runtime.command import main

    assert main([str(onnx), *TEXTS[:2]]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines] == ["|".join(each.labels) for each in Predictor(onnx).predict(TEXTS[:2])]
    assert main([str(onnx), "--json", TEXTS[1]]) == 0
    assert json.loads(capsys.readouterr().out)["labels"] == Predictor(onnx).predict(TEXTS[1:2])[0].labels


@pytest.mark.parametrize("form", ["csv", *(pytest.param(x, marks=pytest.mark.slow) for x in ("jsonl", "text"))])
def test_beam_writes_them(onnx, tmp_path, form):
    pytest.importorskip("apache_beam")
    from tests.batch_harness import lines_of, predict

    (tmp_path / "raw.csv").write_text("text\n" + "".join(f'"{text}"\n' for text in TEXTS if text), encoding="utf-8")
    (tmp_path / "raw.txt").write_text("".join(f"{text}\n" for text in TEXTS if text), encoding="utf-8")
    source = tmp_path / ("raw.txt" if form == "text" else "raw.csv")
    predict(onnx, source, tmp_path / "out", form=form)
    expected = [each.labels for each in Predictor(onnx).predict([text for text in TEXTS if text])]
    if form == "jsonl":
        assert [row["labels"] for row in lines_of(tmp_path / "out")] == expected
        return
    (shard,) = (tmp_path / "out").glob("part-*")
    if form == "csv":
        frame = pd.read_csv(shard, keep_default_na=False)
        assert frame["labels"].tolist() == list(map("|".join, expected))
        assert [name for name in frame.columns if name.startswith("p_")] == [f"p_{label}" for label in LABELS]
    else:
        cells = [line.split("\t")[0] for line in shard.read_text(encoding="utf-8").splitlines()]
        assert cells == list(map("|".join, expected))


def test_beam_writes_lists_to_parquet(onnx, tmp_path):
    pytest.importorskip("apache_beam")
    pytest.importorskip("pyarrow")
    from tests.batch_harness import predict

    pd.DataFrame({"text": [text for text in TEXTS if text]}).to_parquet(tmp_path / "raw.parquet")
    predict(onnx, tmp_path / "raw.parquet", tmp_path / "out")
    (shard,) = (tmp_path / "out").glob("part-*")
    expected = [each.labels for each in Predictor(onnx).predict([text for text in TEXTS if text])]
    assert list(map(list, pd.read_parquet(shard)["labels"])) == expected


@pytest.mark.slow
def test_files_with_columns_of_labels_train_and_are_repeated(tmp_path, capsys):
    rows = [f'"{text}",{",".join(str(int(name in labels)) for name in LABELS)}' for text, labels in examples(90, 4)]
    (tmp_path / "mine.csv").write_text("\n".join([f"text,{','.join(LABELS)}", *rows]) + "\n", encoding="utf-8")
    options = ["--units", "3", "--embedding-dim", "4", "--vectors", "none", "--recipe", "none", "--kernel", "native"]
    options += ["--epochs", "1", "--quiet", "--no-baseline"]
    files = ["--train-file", tmp_path / "mine.csv", "--label-columns", *LABELS]
    status, _, err = output_of(capsys, "train", "bilstm", *files, *options, "--run-dir", tmp_path / "a")
    assert status == 0, err
    card = (tmp_path / "a" / "README.md").read_text(encoding="utf-8")
    assert "--label-columns food price staff --text-column text" in card
    again = ("train", "--config", tmp_path / "a" / "run.toml", "--run-dir", tmp_path / "b", "--quiet")
    assert output_of(capsys, *again)[0] == 0
    first, second = zoo.load(tmp_path / "a"), zoo.load(tmp_path / "b")
    assert first.config["thresholds"] == second.config["thresholds"]
    assert first.config["training"]["columns"] == {"text_column": "text", "label_columns": list(LABELS)}
    status, out, err = output_of(capsys, "evaluate", tmp_path / "a", "--test-file", tmp_path / "mine.csv")
    assert status == 0, err
    assert out.startswith("test micro F1 0.")
    one = ("--label-column", "food")
    status, _, err = output_of(capsys, "evaluate", tmp_path / "a", "--test-file", tmp_path / "mine.csv", *one)
    assert status == 2
    assert "gives several labels per text, and the texts to score have one label per text" in err
