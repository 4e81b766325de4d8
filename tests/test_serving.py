"""Parts of an export for TF Serving: requests that warm it up, pages, rows that a server may batch, many threads."""

import ast
import concurrent.futures
import contextlib
import functools
import io
import json
import re
import sys

import grpc
import numpy as np
import pytest
import tensorflow as tf
from markdown_it import MarkdownIt
from tensorflow_serving.apis import prediction_log_pb2

import dense_lstm_zoo as zoo
from dense_lstm_zoo.exports import page, warmup
from dense_lstm_zoo.exports.endpoint import Endpoint, texts_alone
from tests.bundle_harness import bundle
from tests.serving_harness import Loaded, Models, serving
from tests.slow_cases import slow_but

ODD = ["a|b `c` ``d``", "$x$ <b>\n# new *line*", "\u202eyes"]
# One per task, and a classifier with two inputs.
CHARACTERS = {"char_filters": 4, "char_dim": 3, "char_kernel_sizes": (2, 3)}
MADE = {"bilstm": CHARACTERS, "dense_lstm_lm": {}, "gated_skip_tagger": {"crf": True}}
TEXTS = ["The film was good, but very long!", "", "it", "qwerty \U0001f600", "bad " * 40, "It was n't good."]


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    """Return the bundle of a model, its export and the export in a session, each made once."""

    @functools.cache
    def export(name):
        trained = bundle(name, **MADE[name])
        if name == "bilstm":
            trained.labels = ODD
        folder = trained.export(tmp_path_factory.mktemp("served") / name / "1")
        return trained, folder, Loaded(folder)

    return export


# Each export takes seconds. In make test, tests/test_tf_serving.py has a tagger's.
@pytest.fixture(params=slow_but({"bilstm", "dense_lstm_lm"}, MADE))
def served(request, exports):
    """The export of a model of each task in a session, and its page."""
    return exports(request.param)[2], page_of(exports, request.param)


@pytest.fixture
def classifier(exports):
    """The classifier, its export and the export in a session."""
    return exports("bilstm")


def page_of(exports, name):
    return (exports(name)[1] / "SIGNATURES.md").read_text(encoding="utf-8")


def tables(text):
    """The cells of each table of a page, as a reader sees them."""
    all_tables = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "table_open":
            all_tables.append([])
        elif token.type == "tr_open":
            all_tables[-1].append([])
        elif token.type == "inline" and all_tables and token.level > 3:
            all_tables[-1][-1].append("".join(child.content for child in token.children))
    return all_tables


def batching(text):
    """Return a page's word on each signature: may a server batch it?"""
    return {row[0]: row[3] for row in tables(text)[0][1:]}


def fences(text, language):
    return [t.content for t in MarkdownIt("commonmark").parse(text) if t.type == "fence" and t.info == language]


@pytest.mark.slow
def test_every_warm_up_request_is_answered_and_every_signature_that_may_be_batched_has_some(exports):
    for name in MADE:
        _, folder, session = exports(name)
        sizes = {}
        for record in tf.data.TFRecordDataset(str(folder / "assets.extra" / "tf_serving_warmup_requests")):
            log = prediction_log_pb2.PredictionLog.FromString(record.numpy())
            request = log.predict_log.request
            inputs = {key: tf.make_ndarray(value) for key, value in request.inputs.items()}
            outputs = session.run(request.model_spec.signature_name, inputs)
            (size,) = {len(value) for value in [*inputs.values(), *outputs.values()]}
            sizes.setdefault(request.model_spec.signature_name, []).append(size)
        rows_of_signatures = batching((folder / "SIGNATURES.md").read_text())
        assert sizes == {key: [1, 1, 32] for key, may in rows_of_signatures.items() if may != "no"}, name


def test_without_the_package_there_are_no_requests_and_the_page_says_so_in_a_line(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow_serving", None)
    monkeypatch.delitem(sys.modules, "tensorflow_serving.apis", raising=False)
    text = tf.TensorSpec((None,), tf.string, name="text")
    assert warmup.write(tmp_path, {"serving_default": Endpoint(len, [text], texts_alone, "")}) == 0
    assert not list(tmp_path.iterdir())
    (line,) = [line for line in page.markdown([], 0).splitlines() if "warm-up" in line]
    assert line == (
        "The export has no warm-up requests for TF Serving; to have them, "
        "`pip install ./dense_lstm_zoo_runtime '.[serving]' (from a clone)` and export again."
    )


@pytest.mark.slow
def test_a_page_lists_the_tensors_that_the_saved_model_has(exports):
    for name in MADE:
        _, _, session = exports(name)
        first, *other_tables = tables(page_of(exports, name))
        assert {row[0] for row in first[1:]} == set(session.signatures)
        for (signature, *_), rows in zip(first[1:], other_tables, strict=True):
            definition = session.signatures[signature]
            expected = {("input", key): value for key, value in definition.inputs.items()}
            expected |= {("output", key): value for key, value in definition.outputs.items()}
            assert {(side, key) for side, key, _, _ in rows[1:]} == set(expected)
            for side, key, dtype, shape in rows[1:]:
                tensor = expected[side, key]
                assert tf.as_dtype(tensor.dtype).name == dtype
                sizes = [size.strip() for size in shape.strip("()").split(",") if size.strip()]
                dims = [int(size) if size.isdigit() else -1 for size in sizes]
                assert dims == [dim.size for dim in tensor.tensor_shape.dim], (signature, key)
                assert sizes[0] in ("batch", "tokens")
        assert (
            list(batching(page_of(exports, name)).values())
            == {
                "bilstm": ["yes", "equal lengths", "no", "yes"],
                "dense_lstm_lm": ["yes", "yes", "equal lengths"],
                "gated_skip_tagger": ["yes", "no", "no"],
            }[name]
        )


def close(actual, expected):
    """Compare a value with the page's, which is rounded and perhaps cut."""
    if isinstance(expected, dict):
        return actual.keys() == expected.keys() and all(close(actual[key], expected[key]) for key in expected)
    if isinstance(expected, list):
        is_complete = expected[-1:] != ["..."]
        expected = expected if is_complete else expected[:-1]
        return (len(actual) == len(expected) or not is_complete) and all(map(close, actual, expected))
    return (
        actual == expected
        if isinstance(expected, str | bytes)
        else actual == pytest.approx(expected, rel=1e-3, abs=1e-6)
    )


@pytest.mark.slow
def test_the_requests_of_a_page_get_the_answers_of_the_page(exports):
    models = Models({name: {1: exports(name)[2]} for name in MADE})
    with serving(models) as (by_grpc, by_rest):
        for name in MADE:
            text = page_of(exports, name)
            bodies, codes, printed = fences(text, "json"), fences(text, "python"), fences(text, "text")
            assert len(bodies) == 2 * len(codes) == 2 * len(printed) == 2 * len(batching(text))
            for body, answer in zip(bodies[::2], bodies[1::2], strict=True):
                assert close(post(by_rest, name, body), json.loads(answer)), (name, body)
            for code, answer in zip(codes, printed, strict=True):
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    exec(code.replace("localhost:8500", by_grpc).replace("my_model", name), {})
                lines = [dict(line.split(" ", 1) for line in x.splitlines()) for x in (out.getvalue(), answer)]
                printed_values, expected = ({k: ast.literal_eval(v) for k, v in each.items()} for each in lines)
                assert close(printed_values, expected), (name, code)


def post(server, name, body):
    import http.client

    connection = http.client.HTTPConnection(server)
    connection.request("POST", f"/v1/models/{name}:predict", body.encode())
    answer = connection.getresponse().read()
    connection.close()
    return json.loads(answer)


def test_odd_labels_break_neither_the_page_nor_the_card(classifier):
    trained, folder, _ = classifier
    text = (folder / "SIGNATURES.md").read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^(`{3,}).*?^\1$", "", text, flags=re.M | re.S), re.M)
    assert headings == ["Signatures", "Warm-up", *(f"`{name}`" for name in batching(text))]
    assert "\u202e" not in text
    first = json.loads(fences(text, "json")[1])["predictions"][0]
    assert first["labels"] == ODD
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert card.startswith("# bilstm trained on none\n")
    assert 'tf.saved_model.load("this folder")' in card
    assert "zoo.load(" not in card
    assert "\n# new" not in card
    assert trained.labels == ODD


def parts(session, signature, requests):
    """The outputs of requests run together as a server does, cut along their rows."""
    together = {key: np.concatenate([request[key] for request in requests]) for key in requests[0]}
    outputs = session.run(signature, together)
    ends = np.cumsum([len(next(iter(request.values()))) for request in requests])
    assert all(len(value) == ends[-1] for value in outputs.values())
    pieces = {key: np.split(value, ends[:-1]) for key, value in outputs.items()}
    return [{key: pieces[key][i] for key in pieces} for i in range(len(requests))]


def same(alone, together):
    """Compare outputs, but for the padding that stands behind each row's length."""
    assert alone.keys() == together.keys()
    for key, value in alone.items():
        other = together[key]
        if "row_lengths" in alone and value.ndim == 2:
            value, other = (
                [x for row, n in zip(rows, alone["row_lengths"], strict=True) for x in row[:n]]
                for rows in (value, other)
            )
        if np.asarray(value).dtype.kind == "f":
            np.testing.assert_allclose(other, value, atol=1e-5)
        else:
            np.testing.assert_array_equal(other, value)


def test_requests_run_together_and_cut_along_their_rows_are_answered_as_alone(served):
    session, text = served
    for signature, may in batching(text).items():
        if may == "no":
            continue
        shapes = {key: [d.size for d in t.tensor_shape.dim] for key, t in session.signatures[signature].inputs.items()}
        if "text" in shapes:
            rows = [[TEXTS[0]], TEXTS[1:4], [TEXTS[4], TEXTS[5]]]
            requests = [{"text": np.array(texts, object)} for texts in rows]
        else:  # requests of equal length
            draw = np.random.default_rng(0)
            requests = [
                {key: values(draw, key, [rows, 4, *shape[2:]], shape) for key, shape in shapes.items()}
                for rows in (1, 3, 2)
            ]
        for request, part in zip(requests, parts(session, signature, requests), strict=True):
            same(session.run(signature, request), part)


def values(draw, key, sizes, shape):
    if key.startswith("state"):
        return draw.normal(size=(sizes[0], shape[1])).astype(np.float32)
    return draw.integers(2, 9, sizes).astype(np.int32)


@pytest.mark.parametrize(
    ("name", "signature"),
    [("bilstm", "explain"), pytest.param("gated_skip_tagger", "flat", marks=pytest.mark.slow)],
)
def test_what_a_server_must_not_batch_has_other_rows_than_texts(name, signature, exports):
    assert batching(page_of(exports, name))[signature] == "no"
    outputs = exports(name)[2].run(signature, {"text": np.array(TEXTS, object)})
    assert len(outputs["row_lengths"]) == len(TEXTS)
    assert len(outputs["tokens"]) == outputs["row_lengths"].sum() != len(TEXTS)


def expected_of(trained, texts):
    """Return a bundle's answers, by the names of its export's outputs."""
    if trained.task.name == "classification":
        answers = trained.predict(texts)
        return {"probabilities": [[p.probabilities[label] for label in trained.labels] for p in answers]}
    if trained.task.name == "language_model":
        answers = trained.score(texts)
        return {"log_probability": [s.log_probability for s in answers], "tokens": [s.tokens for s in answers]}
    answers = trained.predict(texts)
    longest = max(len(sentence.tokens) for sentence in answers)
    return {"probabilities": [[*s.probabilities, *[0] * (longest - len(s.tokens))] for s in answers]}


def ask_from_many_threads(trained, session):
    """Run a session from many threads at once, with other texts in each, and compare with the bundle."""
    batches = [TEXTS[i:] + TEXTS[: i // 2] for i in range(len(TEXTS) - 1)] * 4
    expected = [expected_of(trained, texts) for texts in batches[: len(TEXTS) - 1]] * 4
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        futures = [pool.submit(session.run, "serving_default", {"text": np.array(texts, object)}) for texts in batches]
        for future, answer in zip(futures, expected, strict=True):
            outputs = future.result()
            for key, value in answer.items():
                np.testing.assert_allclose(outputs[key], value, atol=1e-4, rtol=1e-4)


@pytest.mark.slow
def test_a_session_answers_many_threads_as_the_bundle_does(exports):
    for name in MADE:
        trained, _, session = exports(name)
        ask_from_many_threads(trained, session)


@pytest.mark.slow
@pytest.mark.parametrize("name", zoo.list_models())
def test_a_session_of_every_model_answers_many_threads_as_its_bundle_does(name, tmp_path):
    trained = bundle(name)
    ask_from_many_threads(trained, Loaded(trained.export(tmp_path / "1")))


def test_the_small_server_refuses_as_the_real_one_does(exports):
    models = Models({"bilstm": {1: exports("bilstm")[2]}})
    with serving(models) as (by_grpc, by_rest):
        assert "not found" in post(by_rest, "nope", '{"signature_name": "serving_default", "inputs": {}}')["error"]
        with grpc.insecure_channel(by_grpc) as channel:
            from tensorflow_serving.apis import get_model_metadata_pb2, prediction_service_pb2_grpc

            request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
            request.model_spec.name = "bilstm"
            answer = prediction_service_pb2_grpc.PredictionServiceStub(channel).GetModelMetadata(request)
            signatures = get_model_metadata_pb2.SignatureDefMap()
            answer.metadata["signature_def"].Unpack(signatures)
            assert set(signatures.signature_def) == {"serving_default", "token_ids", "explain", "embed"}
