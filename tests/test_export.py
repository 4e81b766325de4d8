"""The SavedModel against the bundle, in a fresh process that does not import this package."""

import contextlib
import functools
import io
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorflow.core.protobuf import saved_model_pb2

import dense_lstm_zoo as zoo
from dense_lstm_zoo.data.text import to_bytes
from dense_lstm_zoo.exports.saved_model import graph_ops, portable_copy
from tests.bundle_harness import LABELS, WORDS, bundle, written_sizes

TEXTS = [
    "The film wasn't GOOD, but...",
    "",
    "   ",
    "qwerty zxcv",
    "CAFE\u0301 very very bad!",
    "😀",
    " ".join(random.Random(0).choices(WORDS, k=300)),  # of one word alone, all windows would be equally large
    "it",
    "\x00bad",
]

SERVE = """
import json, pathlib, sys
import numpy as np, tensorflow as tf, tensorflow_text
texts = json.loads(pathlib.Path(sys.argv[1]).read_text())
results = {}
for folder in sys.argv[2:]:
    loaded = tf.saved_model.load(folder)
    serve, by_ids, explain = (loaded.signatures[name] for name in ("serving_default", "token_ids", "explain"))
    embed = loaded.signatures["embed"]
    answers, explained = serve(text=tf.constant(texts)), explain(text=tf.constant(texts))
    one_by_one = [serve(text=tf.constant([t]))["probabilities"].numpy()[0].tolist() for t in texts]
    empty = serve(text=tf.constant([], tf.string))
    ids, no_ids = {"token_ids": tf.constant([[3, 4, 0], [0, 0, 0]])}, {"token_ids": tf.zeros((0, 4), tf.int32)}
    if "char_ids" in by_ids.structured_input_signature[1]:
        ids["char_ids"], no_ids["char_ids"] = tf.ones((2, 3, 24), tf.int32), tf.zeros((0, 4, 24), tf.int32)
    no_words = by_ids(**{name: value[:, :0] for name, value in ids.items()})
    ids, no_ids = by_ids(**ids), by_ids(**no_ids)
    results[folder] = {
        "label": [x.decode() for x in answers["label"].numpy()],
        "labels": [[x.decode() for x in row] for row in answers["labels"].numpy()],
        "probabilities": answers["probabilities"].numpy().tolist(),
        "dtype": answers["probabilities"].dtype.name,
        "one_by_one": one_by_one,
        "empty": {name: list(value.shape) for name, value in empty.items()},
        "no_ids": {name: list(value.shape) for name, value in no_ids.items()},
        "vectors": embed(text=tf.constant(texts))["vectors"].numpy().tolist(),
        "no_vectors": list(embed(text=tf.constant([], tf.string))["vectors"].shape),
        "by_ids": ids["probabilities"].numpy().tolist(),
        "no_words": no_words["probabilities"].numpy().tolist(),
        "explained": {name: value.numpy().tolist() for name, value in explained.items() if name != "tokens"},
        "tokens": [x.decode() for x in explained["tokens"].numpy()],
        "nothing_explained": {name: list(x.shape) for name, x in explain(text=tf.constant([], tf.string)).items()},
    }
for folder in {sys.argv[2], sys.argv[-1]}:  # as TensorFlow Serving loads: a graph of its own, tensors by their names
    with tf.compat.v1.Session(graph=tf.Graph()) as session:
        served = tf.compat.v1.saved_model.load(session, ["serve"], folder).signature_def["serving_default"]
        probabilities = served.outputs["probabilities"].name
        in_session = session.run(probabilities, {served.inputs["text"].name: texts})
        results[folder]["in_session"] = in_session.tolist()
core = {"dense_lstm_zoo", "keras"} & set(sys.modules)
print(json.dumps({"results": results, "imported": sorted(core - {"keras"})}))
"""


@pytest.fixture(scope="module", params=["one", pytest.param("all", marks=pytest.mark.slow)])
def folders(request, tmp_path_factory):
    """Classifiers and the folders of their exports: one with layers, characters and words, or all of them."""
    root = tmp_path_factory.mktemp("exports")
    characters = {"char_filters": 4, "char_dim": 3, "char_kernel_sizes": (2, 3)}
    bundles = {"characters": bundle("stacked_di_bilstm", num_layers=2, **characters)}
    if request.param == "all":
        shallow = {"num_layers": 2, "num_dense_layers": 1}  # depth is what exporting takes long for
        for i, name in enumerate(zoo.list_models(task="classification")):
            fewer = {key: value for key, value in shallow.items() if key in zoo.describe(name).arguments}
            bundles[name] = bundle(name, "drop" if i % 2 else "unk", **fewer)
        bundles["half"] = bundle("dc_bilstm", "drop", dtype="mixed_bfloat16", pooling="attention")
    return {name: (b, b.export(root / name / "1")) for name, b in bundles.items()}


@pytest.fixture(scope="module")
def exported(folders, tmp_path_factory):
    """Classifiers, the answers of their exports, and the folders. A fresh process reads all, this one a single one."""
    paths = [str(folder) for _, folder in folders.values()]
    texts = tmp_path_factory.mktemp("texts") / "texts.json"
    texts.write_text(json.dumps(TEXTS))
    if len(paths) == 1:
        with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as out:
            patch.setattr(sys, "argv", ["", str(texts), *paths])
            exec(SERVE, {})
        answer = json.loads(out.getvalue())
    else:
        run = subprocess.run(
            [sys.executable, "-c", SERVE, texts, *paths], capture_output=True, text=True, cwd=texts.parent
        )
        assert run.returncode == 0, run.stderr
        answer = json.loads(run.stdout)
        assert answer["imported"] == []
    return {name: (trained, answer["results"][str(folder)], folder) for name, (trained, folder) in folders.items()}


@pytest.mark.slow
def test_a_fresh_process_gets_what_the_bundle_predicts(exported):
    for name, (trained, served, _) in exported.items():
        expected = trained.predict(TEXTS)
        tolerance = 1e-2 if name == "half" else 1e-5
        probabilities = [[p.probabilities[label] for label in LABELS] for p in expected]
        np.testing.assert_allclose(served["probabilities"], probabilities, atol=tolerance, err_msg=name)
        np.testing.assert_allclose(served["one_by_one"], probabilities, atol=tolerance, err_msg=name)
        if name != "half":
            assert served["label"] == [p.label for p in expected]
        assert served["labels"] == [LABELS] * len(TEXTS)
        assert served["dtype"] == "float32"


def test_a_session_gets_the_same(exported):
    for name in exported.keys() & {"half", "characters"}:
        _, served, _ = exported[name]
        tolerance = 1e-2 if name == "half" else 1e-6
        np.testing.assert_allclose(served["in_session"], served["probabilities"], atol=tolerance)


@pytest.mark.slow
def test_vectors_are_the_bundles(exported):
    for name, (trained, served, _) in exported.items():
        expected = trained.embed(TEXTS)
        tolerance = 1e-2 if name == "half" else 1e-5
        np.testing.assert_allclose(served["vectors"], expected, atol=tolerance, err_msg=name)
        assert served["no_vectors"] == [0, expected.shape[1]]


@pytest.mark.slow
def test_explanations_are_the_bundles(exported):
    for name in exported.keys() & {"lstm", "di_bilstm", "dsa_bilstm", "cnn_mc", "characters", "half"}:
        trained, served, _ = exported[name]
        expected = [trained.explain(text) for text in TEXTS]
        assert served["tokens"] == [token for explanation in expected for token in explanation.tokens]
        assert served["explained"]["row_lengths"] == [len(explanation.tokens) for explanation in expected]
        for part in ("saliency", "shares"):
            values = np.concatenate([getattr(explanation, part) for explanation in expected])
            np.testing.assert_allclose(served["explained"][part], values, atol=1e-2 if name == "half" else 1e-5)
        columns = len(expected[0].layers)
        assert served["nothing_explained"] == {
            **{"tokens": [0], "row_lengths": [0], "saliency": [0], "shares": [0, columns]},
        }


words = st.lists(st.sampled_from([*WORDS, "GOOD!", "wasn't", "CAFÉ", "\u00a0", "zz", "'", "..."]), max_size=12).map(
    " ".join
)


@settings(max_examples=30, deadline=None)
@given(texts=st.lists(st.one_of(words, st.text(max_size=30), st.binary(max_size=12)), min_size=1, max_size=20))
def test_any_text_gets_from_the_saved_model_what_it_gets_from_the_bundle(folders, texts):
    trained, folder = folders["characters"]
    probabilities = load(folder)(text=tf.constant(to_bytes(texts)))["probabilities"].numpy()
    np.testing.assert_allclose(probabilities, trained.probabilities(texts), atol=1e-5)


@functools.cache
def load(folder):
    return tf.saved_model.load(str(folder)).signatures["serving_default"]


def test_a_batch_of_none_gives_none(exported):
    for _, served, _ in exported.values():
        assert served["empty"] == served["no_ids"] == {"label": [0], "labels": [0, 3], "probabilities": [0, 3]}


def test_ids_without_a_step_are_texts_without_words(exported):
    for _, served, _ in exported.values():
        first, second = served["no_words"]
        assert first == second == pytest.approx(served["by_ids"][1], abs=1e-6)


def test_the_ids_signature_is_the_model(exported):
    for name, (trained, served, _) in exported.items():
        ids = np.array([[3, 4, 0], [0, 0, 0]])
        both = {"token_ids": ids, "char_ids": np.ones((2, 3, 24), np.int32)}
        logits = np.asarray(trained.model(both if name == "characters" else ids), np.float64)
        expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(served["by_ids"], expected, atol=1e-2 if name == "half" else 1e-5)


@pytest.mark.slow
def test_every_op_is_core_or_listed_beside_the_model(exported):
    ops_of_file, ops_of_graph = {}, {}
    for name, (_, _, folder) in exported.items():
        ops_of_file[name] = (folder / "assets.extra" / "non_core_ops.txt").read_text().split()
        ops_of_graph[name] = sorted(graph_ops(folder))
        assert ops_of_file[name] == ["CaseFoldUTF8", "NormalizeUTF8"]
        assert not {op for op in ops_of_graph[name] if "Cudnn" in op or op == "PyFunc"}
        assert b"_XlaMustCompile" not in (folder / "saved_model.pb").read_bytes()
        assert b"begins with padding" not in (folder / "saved_model.pb").read_bytes()  # ids are not checked here
    script = """
import json, sys, tensorflow as tf
from tensorflow.python.framework import op_def_registry
ops = set(json.load(sys.stdin))
print(json.dumps(sorted(op for op in ops if op_def_registry.get(op) is None)))
"""
    everything = sorted({op for ops in ops_of_graph.values() for op in ops})
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, input=json.dumps(everything), capture_output=True, text=True, check=True)
    assert json.loads(run.stdout) == ["CaseFoldUTF8", "NormalizeUTF8"]


def test_an_export_that_is_there_is_kept_unless_asked_and_traces_each_signature_once(tmp_path, monkeypatch):
    trained = bundle("lstm")
    traced, read_texts = [], type(trained.text_to_ids).read

    def noted(self, text):
        if not tf.executing_eagerly():  # the texts of the example and of the warm-up are read eagerly
            traced.append(text)
        return read_texts(self, text)

    monkeypatch.setattr(type(trained.text_to_ids), "read", noted)
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "precious").write_text("x")
    with pytest.raises(FileExistsError, match="already exists"):
        trained.export(tmp_path / "1")
    assert (tmp_path / "1" / "precious").read_text() == "x"
    with pytest.raises(FileExistsError, match="1 is not an export, and holds files: it is not overwritten"):
        trained.export(tmp_path / "1", overwrite=True)
    assert (tmp_path / "1" / "precious").read_text() == "x"
    (tmp_path / "1" / "saved_model.pb").touch()
    (tmp_path / "1" / "SIGNATURES.md").touch()
    with pytest.raises(FileExistsError, match="also holds 'precious', which an export does not have"):
        trained.export(tmp_path / "1", overwrite=True)
    (tmp_path / "1" / "precious").unlink()
    (tmp_path / "1" / "assets.extra").mkdir()
    (tmp_path / "1" / "assets.extra" / "mine").touch()
    with pytest.raises(FileExistsError, match=r"also holds 'assets\.extra/mine', which an export does not have"):
        trained.export(tmp_path / "1", overwrite=True)
    (tmp_path / "1" / "assets.extra" / "mine").unlink()
    trained.export(tmp_path / "1", overwrite=True)
    assert [file.name for file in tmp_path.iterdir()] == ["1"]
    assert len(traced) == 3  # "serving_default", "explain" and "embed"


def test_signatures_have_these_names_types_and_shapes(folders):
    string, number, integer, long = (tf.as_dtype(t).as_datatype_enum for t in ("string", "float32", "int32", "int64"))
    answers = {"label": (string, [-1]), "probabilities": (number, [-1, 3]), "labels": (string, [-1, 3])}
    explained = {"tokens": (string, [-1]), "row_lengths": (long, [-1]), "saliency": (number, [-1])}
    token_ids, char_ids = {"token_ids": (integer, [-1, -1])}, {"char_ids": (integer, [-1, -1, 24])}
    for name, ids, shares in (("lstm", token_ids, 0), ("characters", token_ids | char_ids, 1)):
        if name not in folders:
            continue
        trained, folder = folders[name]
        proto = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
        assert [list(meta.meta_info_def.tags) for meta in proto.meta_graphs] == [["serve"]]
        signatures = {
            key: [
                {k: (t.dtype, [d.size for d in t.tensor_shape.dim]) for k, t in tensors.items()}
                for tensors in (signature.inputs, signature.outputs)
            ]
            for key, signature in proto.meta_graphs[0].signature_def.items()
            if key != "__saved_model_init_op"
        }
        text = {"text": (string, [-1])}
        assert signatures.pop("explain") == [text, explained | {"shares": (number, [-1, shares])}]
        vectors = {"vectors": (number, [-1, trained.embedding_width])}
        assert signatures.pop("embed") == [text, vectors]
        assert signatures == {"serving_default": [text, answers], "token_ids": [ids, answers]}
        assert sorted(file.name for file in folder.iterdir()) == EXPORTED_FILES


EXPORTED_FILES = [
    "README.md",
    "SIGNATURES.md",
    "assets",
    "assets.extra",
    "fingerprint.pb",
    "saved_model.pb",
    "variables",
]


def test_a_copy_for_an_export_recomputes_nothing_so_its_gradient_can_be_saved():
    with_remat, plain = (bundle("dc_bilstm", num_dense_layers=2, remat=remat) for remat in (True, False))

    def recomputations(model):
        """Count the gradients of a model's graph that are functions of Python, which no SavedModel holds."""
        ids = tf.TensorSpec((None, None), tf.int32)
        graph = tf.function(lambda ids: model(ids, training=True)).get_concrete_function(ids).graph
        kinds = (op.node_def.attr["_gradient_op_type"].s for op in graph.get_operations())
        return sum(kind.startswith(b"CustomGradient") for kind in kinds)

    copy = portable_copy(with_remat)
    assert recomputations(with_remat.model) > recomputations(plain.model)
    assert recomputations(copy) == recomputations(portable_copy(plain))
    ids = np.array([[2, 3, 0]], np.int32)
    np.testing.assert_allclose(copy(ids, training=False), with_remat.model(ids, training=False), atol=1e-6)


@pytest.mark.slow
def test_a_model_that_recomputes_its_layers_in_training_is_exported(tmp_path):
    with_remat, plain = (bundle("dc_bilstm", remat=remat) for remat in (True, False))
    plain.model.set_weights(with_remat.model.get_weights())
    paths = [model.export(tmp_path / name) for model, name in ((with_remat, "1"), (plain, "2"))]
    serve = [tf.saved_model.load(str(path)).signatures["serving_default"] for path in paths]
    ours, theirs = (run(text=tf.constant(["the film was good"])) for run in serve)
    for name, value in theirs.items():
        np.testing.assert_array_equal(ours[name], value)


def test_every_weight_is_written_once_and_nothing_else(folders):
    for name, (trained, folder) in folders.items():
        weights = sorted(w.size for w in trained.model.get_weights())
        assert written_sizes(folder) == weights, name


@pytest.mark.slow
def test_an_export_is_hardly_larger_than_its_weights(tmp_path):
    trained = bundle("dc_bilstm", vocab_size=20_000, num_frozen_words=15_000, embedding_dim=100)
    folder = trained.export(tmp_path / "1")
    weights = sum(w.nbytes for w in trained.model.get_weights())
    num_bytes = sum(file.stat().st_size for file in folder.rglob("*"))
    assert weights > 8e6
    assert num_bytes < 1.1 * weights


def test_an_export_tells_nothing_of_the_machine_that_wrote_it(folders):
    for _, folder in folders.values():
        for file in (file for file in folder.rglob("*") if file.is_file()):
            content = file.read_bytes()
            for text in (folder.parents[1].name, tempfile.gettempdir(), "dense_lstm_zoo/", "site-packages"):
                assert text.encode() not in content, (file, text)


# BlockLSTM says so itself first: a test whose log is switched off would find nothing.
ODD = """
import sys
import tensorflow as tf, tensorflow_text
zeros = tf.zeros
tf.raw_ops.BlockLSTM(
    seq_len_max=2, x=zeros((2, 7, 4)), cs_prev=zeros((7, 3)), h_prev=zeros((7, 3)), w=zeros((7, 12)),
    wci=zeros(3), wcf=zeros(3), wco=zeros(3), b=zeros(12),
)
for folder in sys.argv[1:]:
    signatures = tf.saved_model.load(folder).signatures
    for size in (1, 3, 5):
        text = tf.constant(["the film was very good"] * size)
        signatures["serving_default"](text=text)
        signatures["explain"](text=text)
from dense_lstm_zoo.layers import BiLSTM
for kernel, size in (("native", 3), ("auto", 33)):
    layer, x = BiLSTM(3, return_state=True, kernel=kernel), tf.ones((size, 4, 2))
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.add_n([tf.reduce_sum(part) for part in layer(x, training=False)])
    assert tape.gradient(total, x) is not None
"""


@pytest.mark.slow
def test_odd_batches_of_odd_units_are_served_without_a_line_in_the_log(exported):
    folders = [exported[name][2] for name in ("dc_bilstm", "di_bilstm", "half") if name in exported]
    loud = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
    root = Path(__file__).parents[1]
    run = subprocess.run([sys.executable, "-c", ODD, *folders], capture_output=True, text=True, cwd=root, env=loud)
    assert run.returncode == 0, run.stderr
    lines = [line for line in run.stderr.splitlines() if "inefficient" in line]
    assert len(lines) == 1
    assert "batch_size=7, cell_size=3" in lines[0]
