"""The SavedModel against the bundle, in a fresh process that imports no part of this package."""

import functools
import json
import random
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

import dense_lstm_zoo as zoo
from dense_lstm_zoo.data.text import to_bytes
from dense_lstm_zoo.export import graph_ops
from tests.model_harness import LABELS, WORDS, bundle

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
import json, sys
import numpy as np, tensorflow as tf, tensorflow_text
texts = json.load(open(sys.argv[1]))
results = {}
for folder in sys.argv[2:]:
    loaded = tf.saved_model.load(folder)
    serve, by_ids, explain = (loaded.signatures[name] for name in ("serving_default", "token_ids", "explain"))
    found, explained = serve(text=tf.constant(texts)), explain(text=tf.constant(texts))
    one_by_one = [serve(text=tf.constant([t]))["probabilities"].numpy()[0].tolist() for t in texts]
    empty = serve(text=tf.constant([], tf.string))
    ids, no_ids = {"token_ids": tf.constant([[3, 4, 0], [0, 0, 0]])}, {"token_ids": tf.zeros((0, 4), tf.int32)}
    if "char_ids" in by_ids.structured_input_signature[1]:
        ids["char_ids"], no_ids["char_ids"] = tf.ones((2, 3, 24), tf.int32), tf.zeros((0, 4, 24), tf.int32)
    ids, no_ids = by_ids(**ids), by_ids(**no_ids)
    results[folder] = {
        "label": [x.decode() for x in found["label"].numpy()],
        "labels": [[x.decode() for x in row] for row in found["labels"].numpy()],
        "probabilities": found["probabilities"].numpy().tolist(),
        "dtype": found["probabilities"].dtype.name,
        "one_by_one": one_by_one,
        "empty": {name: list(value.shape) for name, value in empty.items()},
        "no_ids": {name: list(value.shape) for name, value in no_ids.items()},
        "by_ids": ids["probabilities"].numpy().tolist(),
        "explained": {name: value.numpy().tolist() for name, value in explained.items() if name != "tokens"},
        "tokens": [x.decode() for x in explained["tokens"].numpy()],
        "nothing_explained": {name: list(x.shape) for name, x in explain(text=tf.constant([], tf.string)).items()},
    }
core = {"dense_lstm_zoo", "keras"} & set(sys.modules)
print(json.dumps({"results": results, "imported": sorted(core - {"keras"})}))
"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Every classifier exported, and what a fresh process got from each."""
    root = tmp_path_factory.mktemp("exports")
    shallow = {"num_layers": 2, "num_dense_layers": 1}  # depth is what exporting takes long for
    bundles = {}
    for i, name in enumerate(zoo.list_models(task="classification")):
        fewer = {key: value for key, value in shallow.items() if key in zoo.describe(name).arguments}
        bundles[name] = bundle(name, "drop" if i % 2 else "unk", **fewer)
    bundles["half"] = bundle("dc_bilstm", "drop", dtype="mixed_bfloat16", pooling="attention")
    characters = {"char_filters": 4, "char_dim": 3, "char_kernel_sizes": (2, 3)}
    bundles["characters"] = bundle("stacked_di_bilstm", num_layers=2, **characters)
    folders = {name: b.export(root / name / "1") for name, b in bundles.items()}
    (root / "texts.json").write_text(json.dumps(TEXTS))
    command = [sys.executable, "-c", SERVE, root / "texts.json", *folders.values()]
    run = subprocess.run(command, capture_output=True, text=True, cwd=root)
    assert run.returncode == 0, run.stderr
    answer = json.loads(run.stdout)
    assert answer["imported"] == []
    return {name: (b, answer["results"][str(folders[name])], folders[name]) for name, b in bundles.items()}


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


def test_explanations_are_the_bundles(exported):
    for name in ("di_bilstm", "dsa_bilstm", "cnn_mc", "characters", "half"):
        trained, served, _ = exported[name]
        expected = [trained.explain(text) for text in TEXTS]
        assert served["tokens"] == [token for found in expected for token in found.tokens]
        assert served["explained"]["row_lengths"] == [len(found.tokens) for found in expected]
        for part in ("saliency", "shares"):
            values = np.concatenate([getattr(found, part) for found in expected])
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
def test_any_text_gets_from_the_saved_model_what_it_gets_from_the_bundle(exported, texts):
    trained, _, folder = exported["lstm"]
    found = loaded(folder)(text=tf.constant(to_bytes(texts)))["probabilities"].numpy()
    np.testing.assert_allclose(found, trained.probabilities(texts), atol=1e-5)


@functools.cache
def loaded(folder):
    return tf.saved_model.load(str(folder)).signatures["serving_default"]


def test_a_batch_of_none_gives_none(exported):
    for _, served, _ in exported.values():
        assert served["empty"] == served["no_ids"] == {"label": [0], "labels": [0, 3], "probabilities": [0, 3]}


def test_the_ids_signature_is_the_model(exported):
    for name, (trained, served, _) in exported.items():
        ids = np.array([[3, 4, 0], [0, 0, 0]])
        both = {"token_ids": ids, "char_ids": np.ones((2, 3, 24), np.int32)}
        logits = np.asarray(trained.model(both if name == "characters" else ids), np.float64)
        expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(served["by_ids"], expected, atol=1e-2 if name == "half" else 1e-5)


def test_every_op_is_core_or_listed_beside_the_model(exported):
    listed, used = {}, {}
    for name, (_, _, folder) in exported.items():
        listed[name] = (folder / "assets.extra" / "non_core_ops.txt").read_text().split()
        used[name] = sorted(graph_ops(folder))
        assert listed[name] == ["CaseFoldUTF8", "NormalizeUTF8"]
        assert not {op for op in used[name] if "Cudnn" in op or op == "PyFunc"}
        assert b"_XlaMustCompile" not in (folder / "saved_model.pb").read_bytes()
    script = """
import json, sys, tensorflow as tf
from tensorflow.python.framework import op_def_registry
ops = set(json.load(sys.stdin))
print(json.dumps(sorted(op for op in ops if op_def_registry.get(op) is None)))
"""
    everything = sorted({op for ops in used.values() for op in ops})
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, input=json.dumps(everything), capture_output=True, text=True, check=True)
    assert json.loads(run.stdout) == ["CaseFoldUTF8", "NormalizeUTF8"]


def test_an_export_that_is_there_is_kept_unless_asked_and_traces_each_signature_once(exported, tmp_path, monkeypatch):
    trained, _, _ = exported["lstm"]
    traced, read = [], type(trained.text_to_ids).read
    monkeypatch.setattr(type(trained.text_to_ids), "read", lambda self, text: traced.append(text) or read(self, text))
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "precious").write_text("x")
    with pytest.raises(FileExistsError, match="is there already"):
        trained.export(tmp_path / "1")
    assert (tmp_path / "1" / "precious").read_text() == "x"
    trained.export(tmp_path / "1", overwrite=True)
    assert not (tmp_path / "1" / "precious").exists()
    assert [file.name for file in tmp_path.iterdir()] == ["1"]
    assert len(traced) == 2  # "serving_default" and "explain"
