"""Predict and ZooModelHandler in Beam pipelines: the answers of the bundle, beside what the rows held already."""

import importlib
import importlib.util
import types

import apache_beam as beam
import pytest
import tensorflow as tf
from apache_beam.ml.inference.base import RunInference
from apache_beam.runners.portability.fn_api_runner import FnApiRunner

from dense_lstm_zoo import batch
from dense_lstm_zoo.batch import Predict, ZooModelHandler, engines
from tests.batch_harness import TEXTS
from tests.bundle_harness import bundle, span_tagger

KEPT = []


def keep(rows):
    KEPT.append(rows)


def through(transform, rows):
    """Return a transform's output, and the pipeline's metrics by name."""
    pipeline = beam.Pipeline(runner=FnApiRunner())
    _ = pipeline | beam.Create(rows) | transform | beam.combiners.ToList() | beam.Map(keep)
    result = pipeline.run()
    result.wait_until_finish()
    metrics = result.metrics().query()
    return KEPT.pop(), {counter.key.metric.name: counter.committed for kind in metrics.values() for counter in kind}


def answered(rows):
    """Rows with numbers rounded, in the order of their ids: workers may change it."""

    def rounded(value):
        if isinstance(value, float):
            return round(value, 4)
        if isinstance(value, list):
            return [rounded(item) for item in value]
        return {key: rounded(item) for key, item in value.items()} if isinstance(value, dict) else value

    return [rounded(row) for row in sorted(rows, key=lambda row: row["id"])]


def rows_of(key="text", texts=TEXTS):
    return [{"id": number, key: text, "stars": 5.0} for number, text in enumerate(texts)]


def labelled(trained, rows, texts):
    answers = zip(rows, trained.predict(texts), strict=True)
    names = ("label", "probability", "probabilities")
    return answered([{**row, **{name: getattr(answer, name) for name in names}} for row, answer in answers])


def test_a_classifier_adds_what_its_bundle_predicts_and_keeps_the_other_keys(batch_exports):
    export, trained = batch_exports["bilstm"]
    predictions, metrics = through(Predict(export, batch_size=4), rows_of())
    assert answered(predictions) == labelled(trained, rows_of(), TEXTS)
    assert metrics["num_inferences"] == len(TEXTS)
    assert metrics["load_model_latency_milli_secs"].count == 1


def test_a_tagger_takes_texts_and_lists_of_tokens(batch_exports):
    export, trained = batch_exports["bilstm_tagger"]
    texts = [*TEXTS[:3], ["good", "zzz"], []]
    predictions, _ = through(Predict(export, text_key="words", prefix="new_"), rows_of("words", texts))
    expected = [
        {**row, "new_tokens": answer.tokens, "new_tags": answer.tags, "new_probabilities": answer.probabilities}
        for row, answer in zip(rows_of("words", texts), trained.predict(texts), strict=True)
    ]
    assert answered(predictions) == answered(expected)


def test_a_language_model_adds_its_scores(tmp_path):
    trained = bundle("stacked_lstm_lm")
    predictions, _ = through(Predict(trained.export(tmp_path / "lm", format="onnx")), rows_of())
    for row, score in zip(answered(predictions), trained.score(TEXTS), strict=True):
        assert row["log_probability"] == pytest.approx(score.log_probability, abs=1e-3)
        assert (row["tokens"], row["unknown_words"]) == (score.tokens, score.unknown_words)


@pytest.mark.slow
def test_a_saved_model_answers_as_its_bundle_does(batch_exports, tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "TENSORFLOW_BATCH", 2)
    classifier = batch_exports["bilstm"][1]
    predictions, _ = through(Predict(classifier.export(tmp_path / "classifier" / "1")), rows_of())
    assert answered(predictions) == labelled(classifier, rows_of(), TEXTS)
    tagger = batch_exports["bilstm_tagger"][1]
    load = engines.find(tagger.export(tmp_path / "tagger" / "1")).load()
    assert [(a.tokens, a.tags) for a in load(TEXTS)] == [(b.tokens, b.tags) for b in tagger.predict(TEXTS)]
    tagger = span_tagger()
    predictions, _ = through(Predict(tagger.export(tmp_path / "spans" / "1")), rows_of())
    texts = [[span["text"] for span in row["spans"]] for row in answered(predictions)]
    assert texts == [[span.text for span in answer.spans] for answer in tagger.predict(TEXTS)]


@pytest.mark.parametrize(
    ("outputs", "advice"),
    [
        (
            {"tokens": [[b"x"]], "tags": [[b"T"]], "probabilities": [[0.5]], "row_lengths": [1]},
            r" An ONNX export \(--format onnx\) takes lists of tokens, too\.$",
        ),
        ({"label": [b"no"], "labels": [[b"no"]], "probabilities": [[1.0]]}, "$"),
    ],
)
def test_lists_of_tokens_are_refused_by_a_saved_model(tmp_path, monkeypatch, outputs, advice):
    def serve(text):
        return {name: tf.constant(values) for name, values in outputs.items()}

    serve.structured_outputs = outputs
    model = types.SimpleNamespace(signatures={"serving_default": serve})
    monkeypatch.setattr(tf.saved_model, "load", lambda folder: model)
    handler = ZooModelHandler(engines.Model(str(tmp_path), "tensorflow", "tagging", ()), threads=None)
    message = rf"is a SavedModel, which takes strings; received \['good', 'zzz'\] \(list\)\.{advice}"
    with pytest.raises(TypeError, match=message):
        handler.run_inference(["good", ["good", "zzz"]], handler.load_model())


def test_the_handler_gives_predictions_to_run_inference(batch_exports):
    export, trained = batch_exports["bilstm"]
    handler = ZooModelHandler(export)
    assert list(handler.model.labels) == trained.labels
    predictions, _ = through(RunInference(handler), TEXTS)
    assert {(a.text, a.label) for a in predictions} == {(b.text, b.label) for b in trained.predict(TEXTS)}
    with pytest.raises(ValueError, match="take no inference_args"):
        handler.validate_inference_args({"temperature": 2})


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"texts": "good"}, "Did you mean 'texts'"),
        ({"text": None}, "'text' must be a string; found None"),
        ({"text": "good", "label": "old"}, "already has the key 'label'"),
    ],
)
def test_a_row_that_cannot_be_answered_is_named(batch_exports, row, message):
    with pytest.raises(ValueError, match=message):
        through(Predict(batch_exports["bilstm"][0]), [row])


def test_a_model_is_refused_before_a_pipeline_is_built(tmp_path, batch_exports):
    with pytest.raises(ValueError, match="not an ONNX export"):
        Predict(tmp_path)
    with pytest.raises(ValueError, match="batch_size"):
        Predict(batch_exports["bilstm"][0], batch_size=0)


def test_the_export_of_an_earlier_training_is_refused(batch_exports, tmp_path):
    batch_exports["bilstm"][1].save(tmp_path / "run")
    batch_exports["bilstm_tagger"][1].export(tmp_path / "run" / "onnx", format="onnx")
    with pytest.raises(ValueError, match=r"was not made from the bundle in .* export it again"):
        engines.find(tmp_path / "run")


def test_without_beam_the_error_names_the_extra(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install \./dense_lstm_zoo_runtime '\.\[beam\]'"):
        _ = batch.Predict
