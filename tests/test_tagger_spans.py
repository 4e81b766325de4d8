"""Spans of bundles, exports, the server, Beam and the command line: the same ones, with exact probabilities."""

import functools
import itertools
import json
import math

import numpy as np
import pytest
from tensorflow.core.protobuf import saved_model_pb2

import dense_lstm_zoo as zoo
from dense_lstm_zoo.batch import engines
from dense_lstm_zoo.tagging.corpus import TaggedSplit
from dense_lstm_zoo_runtime import Predictor
from dense_lstm_zoo_runtime.answers import fields
from dense_lstm_zoo_runtime.errors import ExportError
from dense_lstm_zoo_runtime.serve.models import serve
from dense_lstm_zoo_runtime.span_forms import Span
from tests.bundle_harness import SPAN_TAGS, bundle, span_tagger, with_random_weights, written_sizes
from tests.cli_harness import output_of

TEXTS = [
    "The film  was\tn't good 😀, café",
    "",
    "  ",
    "it was very very long",
    "ba\u0301d \u200b!",
    ["the", "", "film"],
]


@pytest.fixture(scope="module")
def tagger_of(tmp_path_factory):
    """Return a tagger of spans, its folder and its export, each made once. No test changes them."""

    @functools.cache
    def make(crf):
        tagger = span_tagger(crf=crf, seed=3 if crf else 10)
        folder = tagger.save(tmp_path_factory.mktemp("spans") / "run")
        return tagger, folder, tagger.export(folder.parent / "onnx", format="onnx")

    return make


@pytest.fixture(params=[True, False], ids=["crf", "softmax"])
def exported(request, tagger_of):
    """A tagger of each kind."""
    return tagger_of(request.param)


@pytest.fixture
def with_crf(tagger_of):
    """A tagger for what does not depend on how its spans are made."""
    return tagger_of(True)


def enumerated(tagger, tokens):
    """Return every sequence of tags of a sentence with its probability, from the scores of the network alone."""
    ids = {name: row[None] for name, row in tagger.encode([tokens])[0].items()}
    scores = np.asarray(tagger.network(ids))[0].astype(np.float64)
    crf = getattr(tagger.model, "crf", None)
    weights = {}
    for path in itertools.product(range(len(SPAN_TAGS)), repeat=len(tokens)):
        score = sum(scores[t, tag] for t, tag in enumerate(path))
        if crf is not None:
            transitions, start, end = (w.numpy() for w in (crf.transitions, crf.start, crf.end))
            score += start[path[0]] + end[path[-1]] + sum(transitions[a, b] for a, b in itertools.pairwise(path))
        weights[path] = math.exp(score)
    total = math.fsum(weights.values())
    return {path: weight / total for path, weight in weights.items()}


def spans_of(path):
    """Return the label, first token and end of each span of BIO tags, by hand."""
    spans, tags = [], [SPAN_TAGS[i] for i in path]
    for i, tag in enumerate(tags):
        goes_on = tag[0] == "I" and i and tags[i - 1][1:] == tag[1:]
        if tag != "O" and not goes_on:
            spans.append([tag[2:], i, i + 1])
        elif goes_on:
            spans[-1][2] = i + 1
    return [tuple(span) for span in spans]


def test_spans_have_their_place_in_the_raw_text_and_their_exact_probability(exported):
    tagger, _, _ = exported
    answers = tagger.predict(TEXTS)
    count = 0
    for text, answer in zip(TEXTS, answers, strict=True):
        assert answer.text == (text if isinstance(text, str) else " ".join(text))
        assert [(s.label, s.first_token, s.end_token) for s in answer.spans] == spans_of(
            map(SPAN_TAGS.index, answer.tags)
        )
        for span in answer.spans:
            assert answer.text[span.start : span.end] == span.text
            assert span.start == answer.places[span.first_token][0]
            assert span.end == answer.places[span.end_token - 1][1]
            count += 1
    assert count > 5
    sentences = [["the", "film", "was", "bad", "!"], ["café"], ["very", "long"]]
    for tokens, answer in zip(sentences, tagger.predict(sentences), strict=True):
        paths = enumerated(tagger, tokens)
        for span in answer.spans:
            row = span.label, span.first_token, span.end_token
            if hasattr(tagger.model, "crf"):
                expected = sum(share for path, share in paths.items() if row in spans_of(path))
            else:
                expected = math.prod(answer.probabilities[span.first_token : span.end_token])
            assert span.confidence == pytest.approx(expected, rel=1e-4)


def test_the_probabilities_of_all_tags_are_their_marginals(exported):
    tagger, _, _ = exported
    tokens = ["the", "film", "was", "bad"]
    empty, row, raw = tagger.probabilities([[], tokens, "the film"])
    assert (empty.shape, row.shape, raw.shape) == ((0, 5), (4, 5), (2, 5))
    expected = np.zeros((4, 5))
    for path, share in enumerated(tagger, tokens).items():
        expected[range(4), path] += share
    np.testing.assert_allclose(row, expected, atol=1e-5)
    (answer,) = tagger.predict([tokens])
    own = [row[i, SPAN_TAGS.index(tag)] for i, tag in enumerate(answer.tags)]
    np.testing.assert_allclose(answer.probabilities, own, atol=1e-5)
    assert row.base is None  # not a view of its batch
    with pytest.raises(TypeError, match="must be strings or lists of strings"):
        tagger.probabilities([3])


def test_an_export_gives_the_probabilities_of_all_tags_as_its_bundle_does(exported, monkeypatch):
    tagger, _, export = exported
    predictor = Predictor(export)
    sentences = [*TEXTS, "very long " * 300, []]
    for ours, theirs in zip(predictor.probabilities(iter(sentences)), tagger.probabilities(sentences), strict=True):
        assert (ours.dtype, ours.shape) == (np.float32, theirs.shape)
        np.testing.assert_allclose(ours, theirs, atol=2e-6)
    assert predictor.probabilities([]) == []
    for wrong in ("one text", ["good", None]):
        messages = []
        for model in (predictor, tagger):
            with pytest.raises(TypeError) as raised:
                model.probabilities(wrong)
            messages.append(str(raised.value))
        assert messages[0] == messages[1]
    if hasattr(tagger.model, "crf"):
        monkeypatch.setattr("dense_lstm_zoo_runtime.tagging.CRF_WEIGHTS", ("not there",))  # as in an older export
        with pytest.raises(ExportError, match=r"onnx does not hold what .* computed from.* Export the model again"):
            Predictor(export).probabilities(["the film was bad"])


@pytest.mark.parametrize("crf", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_tags_in_no_scheme_have_the_probabilities_of_all_tags_too(crf, tmp_path):
    tagger = with_random_weights(bundle("bilstm_tagger", crf=crf))
    predictor = Predictor(tagger.export(tmp_path / "onnx", format="onnx"))
    ((ours,), (theirs,)) = (model.probabilities(["the film was bad"]) for model in (predictor, tagger))
    np.testing.assert_allclose(ours, theirs, atol=2e-6)


def assert_same(answers, expected):
    for ours, theirs in zip(answers, expected, strict=True):
        assert (ours.tokens, ours.tags, ours.text, ours.places) == (
            theirs.tokens,
            theirs.tags,
            theirs.text,
            theirs.places,
        )
        for span, other in zip(ours.spans, theirs.spans, strict=True):
            assert span.confidence == pytest.approx(other.confidence, abs=1e-4)
            assert {**vars(span), "confidence": 0} == {**vars(other), "confidence": 0}


def test_an_export_a_loaded_bundle_and_the_server_give_the_same_spans(exported):
    tagger, folder, export = exported
    expected = tagger.predict(TEXTS)
    assert_same(zoo.load(folder).predict(TEXTS), expected)
    predictor = Predictor(export)
    assert_same(predictor.predict(TEXTS), expected)
    assert_same(predictor.predict([text.encode() for text in TEXTS[:5]]), expected[:5])
    rows = [json.loads(row) for row in serve("spans", predictor).operations["predict"](TEXTS)]
    assert list(rows[0]) == ["tokens", "tags", "probabilities", "spans"]
    assert rows == [fields(answer) for answer in predictor.predict(TEXTS)]


def test_a_tagger_without_spans_says_so_everywhere(tmp_path, capsys):
    tagger = bundle("bilstm_tagger")
    folder = tagger.save(tmp_path / "run")
    export = tagger.export(tmp_path / "onnx", format="onnx")
    for model in (tagger, Predictor(export)):
        (answer,) = model.predict(["the film"])
        with pytest.raises(ValueError, match="The tags do not mark spans: 'T0' is not like B-LOC"):
            _ = answer.spans
        assert "spans" not in fields(answer)
    status, out, err = output_of(capsys, "predict", folder, "the film", "--format", "spacy")
    assert (status, out) == (2, "")
    assert "--format spacy writes spans. The tags do not mark spans: 'T0' is not like B-LOC, I-LOC or O." in err
    status, out, _ = output_of(capsys, "predict", export, "the film", "--format", "jsonl")
    assert list(json.loads(out)) == ["text", "tokens", "tags", "probabilities"]


def test_the_command_line_writes_spans_as_json_for_spacy_and_for_brat(with_crf, tmp_path, capsys):
    tagger, folder, export = with_crf
    lines = ["The film  was\tgood 😀", "", "café, it was bad"]
    for source, mark in ((folder, ""), (export, "\ufeff")):
        (tmp_path / "notes.txt").write_bytes((mark + "\r\n".join(lines)).encode())
        answers = tagger.predict(lines) if source == folder else Predictor(export).predict(lines)
        options = ["predict", source, "--file", tmp_path / "notes.txt", "--overwrite"]
        assert output_of(capsys, *options, "--format", "brat", "--output", tmp_path / "notes.ann")[0] == 0
        text, rows = mark + "\r\n".join(lines), (tmp_path / "notes.ann").read_text().splitlines()
        spans = [span for answer in answers for span in answer.spans]
        assert len(rows) == len(spans) > 1
        for number, (row, span) in enumerate(zip(rows, spans, strict=True), start=1):
            name, place, words = row.split("\t", 2)
            label, start, end = place.split(" ")
            assert (name, label, words) == (f"T{number}", span.label, span.text)
            assert text[int(start) : int(end)] == span.text
        if source == folder:  # the other formats are written by the same code, whatever answers
            continue
        _, out, _ = output_of(capsys, *options, "--format", "spacy")
        assert [json.loads(line) for line in out.splitlines()] == [answer.to_spacy() for answer in answers]
        _, out, _ = output_of(capsys, *options, "--format", "jsonl", "--input-format", "text")
        rows = [json.loads(line)["spans"] for line in out.splitlines()]
        assert [[span["text"] for span in row] for row in rows] == [
            [s.text for s in answer.spans] for answer in answers
        ]


def test_brat_is_for_lines_of_text_and_labels_without_white_space(with_crf, tmp_path, capsys):
    _, folder, _ = with_crf
    (tmp_path / "a.jsonl").write_text('{"text": "the film"}\n')
    status, _, err = output_of(capsys, "predict", folder, "--file", tmp_path / "a.jsonl", "--format", "brat")
    assert status == 2
    assert "--format brat gives places in a file of one text per line; the input is jsonl. Use --format spacy." in err
    odd = span_tagger()
    odd.labels = ["B-a b", "I-a b", "B-c", "I-c", "O"]
    odd.save(tmp_path / "odd")
    status, _, err = output_of(capsys, "predict", tmp_path / "odd", "the film", "--format", "brat")
    assert status == 2
    assert "--format brat cannot hold the label 'a b', which has white space." in err


def test_spans_of_bundles_that_tag_in_other_schemes_are_scored_or_refused():
    tagger = span_tagger()
    split = TaggedSplit([["the", "film", "was"]] * 3, [["B-LOC", "I-LOC", "O"]] * 3)
    assert "f1" in tagger.evaluate(split)
    tagger.labels = ["B-LOC", "E-LOC", "L-LOC", "I-LOC", "O"]
    with pytest.warns(
        UserWarning, match="Spans are not scored. The tags mix schemes: no scheme has B, E, I, L together"
    ):
        assert "f1" not in tagger.evaluate(split)
    with pytest.raises(ValueError, match="mix schemes"):
        _ = tagger.predict(["the film"])[0].spans
    other = span_tagger()
    with pytest.warns(UserWarning, match="Spans are not compared. The tags mix schemes"):
        comparison = zoo.compare(other, tagger, split, draws=100)
    assert "f1" not in {row.name for row in comparison.scores}


def test_exports_of_older_versions_have_the_product_of_the_tags_probabilities(tmp_path, monkeypatch):
    tagger = span_tagger()
    monkeypatch.setattr("dense_lstm_zoo_runtime.tagging.CRF_WEIGHTS", ("not there",))
    (answer,) = Predictor(tagger.export(tmp_path / "onnx", format="onnx")).predict(["the film was bad"])
    for span in answer.spans:
        product = math.prod(answer.probabilities[span.first_token : span.end_token])
        assert span.confidence == pytest.approx(product)


def test_beam_writes_spans_to_json_and_parquet(with_crf, tmp_path):
    pytest.importorskip("apache_beam")
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    from tests.batch_harness import lines_of, predict

    _, _, export = with_crf
    texts = ["The film  was good 😀", "", "café, it was bad"]
    expected = [fields(answer)["spans"] for answer in Predictor(export).predict(texts)]
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    predict(export, tmp_path / "texts.jsonl", tmp_path / "json")
    assert [row["spans"] for row in lines_of(tmp_path / "json")] == expected
    parquet.write_table(pyarrow.table({"text": texts}), tmp_path / "texts.parquet")
    predict(export, tmp_path / "texts.parquet", tmp_path / "parquet")
    (part,) = (tmp_path / "parquet").glob("part-*.parquet")
    assert parquet.read_table(part).to_pydict()["spans"] == expected
    (tmp_path / "taken.jsonl").write_text('{"text": "a", "spans": 1}\n')
    predict(export, tmp_path / "taken.jsonl", tmp_path / "taken")
    assert list(lines_of(tmp_path / "taken")[0])[-1] == "predicted_spans"


def signatures_of(folder):
    """Return the names of the inputs and outputs of each signature that a server finds."""
    proto = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    signatures = proto.meta_graphs[0].signature_def.items()
    return {name: [{*x.inputs}, {*x.outputs}] for name, x in signatures if not name.startswith("__")}


@pytest.mark.slow  # it exports a SavedModel and loads it
def test_a_saved_model_gives_the_same_spans_and_its_signatures_are_as_before(exported, tmp_path, monkeypatch):
    tagger, _, _ = exported
    folder = tagger.export(tmp_path / "1")
    outputs = {"tokens", "tags", "probabilities", "row_lengths"}
    assert signatures_of(folder) == {
        "serving_default": [{"text"}, outputs],
        "flat": [{"text"}, outputs],
        "tokens": [{"tokens", "row_lengths"}, outputs],
    }
    assert written_sizes(folder) == sorted(w.size for w in tagger.model.get_weights())
    monkeypatch.setattr(engines, "TENSORFLOW_BATCH", 2)
    model = engines.find(folder)
    assert list(model.labels) == SPAN_TAGS
    texts = [*TEXTS[:5], "\ud800 very bad"]
    assert_same(model.load()(texts), tagger.predict(texts))


def saved_model(folder, **weights):
    """Write a SavedModel that tags each text as a span of one token, with these weights of a CRF in its answer."""
    import tensorflow as tf

    text = [tf.TensorSpec((None,), tf.string, name="text")]

    @tf.function(input_signature=text)
    def serve(text):
        rows = tf.stack([tf.shape(text)[0], 1])
        shares = tf.fill(rows, 0.5)
        lengths = tf.ones_like(text, tf.int64)
        return {"tokens": text[:, None], "tags": tf.fill(rows, "B"), "probabilities": shares, "row_lengths": lengths}

    @tf.function(input_signature=text)
    def answer(text):
        scores = tf.tile(tf.constant([[[math.log(3.0), 0.0]]]), tf.stack([tf.shape(text)[0], 1, 1]))
        constants = {name: tf.constant(value) for name, value in weights.items()}
        return {**serve(text), "labels": tf.constant([["B", "O"]]), "scores": scores, **constants}

    module = tf.Module()
    module.serve, module.answer = serve, answer
    tf.saved_model.save(module, str(folder), {"serving_default": serve})
    return folder


FLAT = {"transitions": [[0.0] * 2] * 2, "start": [0.0] * 2, "end": [0.0] * 2}


def test_spans_of_a_saved_model_are_made_from_all_that_its_answer_holds(tmp_path, monkeypatch):
    for folder, weights, confidence in ((tmp_path / "crf", FLAT, 0.75), (tmp_path / "softmax", {}, 0.5)):
        model = engines.find(saved_model(folder, **weights))
        assert model.labels == ("B", "O")
        (answer, _) = model.load()(["Rome", "Oslo"])
        assert answer.spans == [Span("", "Rome", 0, 4, pytest.approx(confidence), 0, 1)]
    monkeypatch.setattr(engines, "ANSWER", "not there")  # as in an older export
    old = engines.find(folder)
    assert old.labels == ()
    (answer,) = old.load()(["Rome"])
    assert answer.tags == ["B"]
    with pytest.raises(ValueError, match=r"of an older version, does not say which tags it has\. Export it again"):
        _ = answer.spans


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"start": [float("nan")] * 2}, "start must be finite"), ({"end": [0.0]}, "end must be finite numbers")],
)
def test_a_saved_model_with_the_weights_of_no_crf_is_refused(wrong, message, tmp_path):
    with pytest.raises(ExportError, match=f"is damaged: the CRF's {message}"):
        engines.find(saved_model(tmp_path / "1", **{**FLAT, **wrong}))
