"""Folders that are not exports, or damaged ones, are refused before any loading, in one line that says what to do."""

import hashlib
import json
import pickle
import shutil
from copy import deepcopy

import numpy as np
import onnx
import pytest

from dense_lstm_zoo_runtime import ExportError, Predictor, graph
from tests.bundle_harness import WORDS, bundle
from tests.preset_harness import OTHERS_LAST, TABLE, with_vectors, write_table


@pytest.fixture(scope="module")
def shared_export(tmp_path_factory):
    """Exports of three tasks, and of one with shared words beside its table. No test changes them."""
    folder = tmp_path_factory.mktemp("made")
    wide = {"stacked_lstm_lm": {"units": 40}}  # wide enough for a file of weights
    for name in ("bilstm", "bilstm_tagger", "stacked_lstm_lm"):
        bundle(name, **wide.get(name, {})).export(folder / name, format="onnx")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("DENSE_LSTM_ZOO_PRESETS", str(folder / "presets"))
        new_bundle = with_vectors(write_table(folder / "presets"))
        new_bundle.export(folder / "shared", format="onnx", shared_words=True)
        new_bundle.save(folder / "presets" / "models" / "my_films")
        new_bundle.export(folder / "presets" / "models" / "my_films" / "onnx", format="onnx")
        new_bundle.save(folder / "presets" / "models" / "bare")
    return folder


@pytest.fixture
def copy(shared_export, tmp_path, monkeypatch):
    """Copies of them all, which a test may change."""
    shutil.copytree(shared_export, tmp_path / "made")
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(tmp_path / "made" / "presets"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "made"


def refused(source, *parts, error=ExportError):
    with pytest.raises(error) as raised:
        Predictor(source)
    message = str(raised.value)
    assert "\n" not in message
    for part in parts:
        assert part in message, message


def seal(folder):
    """Write the manifest anew, as one who knows the format would."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["sha256"] = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in manifest["sha256"]}
    path.write_text(json.dumps(manifest))


def change(folder, **values):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **values}))
    seal(folder)


FILES = [("bilstm", name) for name in ("model.onnx", "vocabulary.txt", "config.json")]
FILES += [("stacked_lstm_lm", "score.onnx"), ("stacked_lstm_lm", "weights.bin")]
FILES += [("shared", "shared_words.rows"), ("shared", "own_words_0.npy")]


@pytest.mark.parametrize(("name", "file"), [pair for pair in FILES if pair[1] != "config.json"])
def test_a_missing_file_is_named(name, file, copy):
    (copy / name / file).unlink()
    refused(copy / name, f"{name} is incomplete: {file} is missing", "Export the model again")


@pytest.mark.parametrize(("name", "file"), FILES)
def test_a_changed_file_is_named(name, file, copy):
    with (copy / name / file).open("r+b") as stream:
        first = stream.read(1) or b"\0"  # a tiny language model has no large weights
        stream.seek(0)
        stream.write(bytes([first[0] ^ 1]))
    refused(copy / name, file, "has been changed or damaged")


@pytest.mark.parametrize("file", ["model.onnx", "manifest.json", "extra"])
def test_a_link_is_refused(file, copy, tmp_path):
    path = copy / "bilstm" / file
    target = tmp_path / "elsewhere"
    if path.exists():
        path.rename(target)
    path.symlink_to(target)
    refused(copy / "bilstm", file, "link")


def test_a_file_outside_the_folder_is_not_read(copy):
    path = copy / "bilstm" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["sha256"]["../bilstm_tagger/model.onnx"] = "0"
    path.write_text(json.dumps(manifest))
    refused(copy / "bilstm", "lies elsewhere")


@pytest.mark.parametrize("name", ["../secret.bin", "here/../../secret.bin", "{folder}/secret.bin"])
def test_weights_outside_the_folder_are_not_read(name, copy):
    graph = copy / "stacked_lstm_lm" / "model.onnx"
    (copy / "stacked_lstm_lm" / "here").mkdir()
    shutil.copy(graph.with_name("weights.bin"), copy / "secret.bin")
    model = onnx.load(graph, load_external_data=False)
    locations = [
        entry for weight in model.graph.initializer for entry in weight.external_data if entry.key == "location"
    ]
    assert locations
    for each in locations:
        each.value = name.format(folder=copy)
    graph.write_bytes(model.SerializeToString())
    seal(copy / "stacked_lstm_lm")
    refused(copy / "stacked_lstm_lm", "model.onnx is damaged")


def test_another_version_is_named_with_what_to_do(copy):
    change(copy / "bilstm", format=3)
    refused(copy / "bilstm", "has format 3; this runtime reads formats 1 and 2", "pip install ./dense_lstm_zoo_runtime")
    path = copy / "bilstm_tagger" / "manifest.json"
    path.write_text(path.read_text().replace('"format": 1', '"format": 7'))
    refused(copy / "bilstm_tagger", "has format 7")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"task": "translation"}, "'task' must be one of"),
        ({"labels": ["a", "a", "b"]}, "'labels' holds a value twice"),
        ({"labels": [1, 2, 3]}, "'labels' must be a list of strings"),
        ({"labels": ["a", "b"]}, "3 classes, config.json 2 labels"),
        ({"inputs": ["token_ids", "char_ids"]}, "does not match config.json"),
        ({"text": {"oov": "keep"}}, "'oov' in 'text' is 'keep'"),
        ({"text": {"max_tokens": 0}}, "'max_tokens' in 'text' is 0"),
        ({"text": {"max_tokens": -1}}, "'max_tokens' in 'text' is -1"),
        ({"text": {"max_tokens": True}}, "'max_tokens' in 'text' is True"),
        ({"format": True}, "has format True"),
        ({"labels": ["a", "b", "\ud800"]}, "lone surrogate"),
        ({"tokenizer": {"normalization": "NFKC", "rules": [["a", r"\2"]]}}, "names a group"),
        ({"tokenizer": {"normalization": "NFKC", "rules": [["a", "b" * 99]]}}, "too long"),
        ({"tokenizer": {"normalization": "NFKC", "rules": [["a", "b"]] * 999}}, "999 rules"),
        ({"tokenizer": {"normalization": "NFC", "rules": []}}, "is not NFKC"),
        ({"tokenizer": {"normalization": "NFKC", "rules": [["(?=a)", "b"]]}}, "RE2 refuses"),
        ({"tokenizer": {"normalization": "NFKC", "rules": [["a"]]}}, "a pattern and a replacement"),
        ({"tokenizer": None}, "config.json is damaged"),
        ({"columns": ["text"]}, "'columns' must say where texts are in a file; it is ['text']"),
        ({"columns": {"token_column": 1.5}}, "'columns' must say where texts are in a file"),
        ({"shared_words": {}}, "config.json is damaged: arrays is missing"),
        ({"shared_words": {"arrays": None}}, "config.json is damaged"),
        ({"shared_words": 3}, "config.json is damaged"),
    ],
)
def test_a_claim_that_cannot_be_is_refused(values, message, copy):
    change(copy / "bilstm", **values)
    refused(copy / "bilstm", message)


def test_a_taggers_graph_with_more_tags_than_labels_is_damaged(copy):
    change(copy / "bilstm_tagger", labels=["only"])
    refused(copy / "bilstm_tagger", "bilstm_tagger is damaged: its graph has", "1 labels")


def test_more_tags_than_a_taggers_graph_has_are_refused(copy):
    labels = json.loads((copy / "bilstm_tagger" / "config.json").read_text())["labels"]
    change(copy / "bilstm_tagger", labels=[*labels, "more"])
    refused(copy / "bilstm_tagger", "bilstm_tagger is damaged: its graph has")


@pytest.mark.parametrize(("word", "message"), [("the", "'the' occurs twice"), ("more", "model.onnx is damaged")])
def test_words_that_occur_twice_or_have_no_vector_are_refused(word, message, copy):
    with (copy / "bilstm" / "vocabulary.txt").open("a") as file:
        file.write(f"{word}\n")
    seal(copy / "bilstm")
    refused(copy / "bilstm", message)


def test_a_link_in_a_subfolder_is_refused(copy):
    (copy / "bilstm" / "more").mkdir()
    (copy / "bilstm" / "more" / "link").symlink_to("/etc/hostname")
    refused(copy / "bilstm", "more/link is a link")


def test_a_key_that_occurs_twice_is_refused(copy):
    path = copy / "bilstm" / "config.json"
    path.write_text(path.read_text().replace("{", '{"task": "tagging",', 1))
    seal(copy / "bilstm")
    refused(copy / "bilstm", "the key 'task' occurs twice")


def test_rules_that_multiply_a_text_are_refused_when_they_do(copy):
    change(copy / "bilstm", tokenizer={"normalization": "NFKC", "rules": [["a", "a" * 12]] * 12})
    predictor = Predictor(copy / "bilstm")
    assert predictor.predict(["good"])
    with pytest.raises(ValueError, match="makes a text more than 16 times as long"):
        predictor.predict(["a"])


def test_a_graph_that_never_ends_is_stopped(copy, monkeypatch):
    from onnx import TensorProto, helper

    path = copy / "bilstm" / "model.onnx"
    model = onnx.load(path)
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["go_on"])],
        "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("go", 9, [])],
        [helper.make_tensor_value_info("go_on", 9, []), helper.make_tensor_value_info("same", 9, [])],
    )
    body.node.append(helper.make_node("Identity", ["go"], ["same"]))
    size = helper.make_node("Size", ["token_ids"], ["endless_size"])
    true = helper.make_node("Cast", ["endless_size"], ["endless_go"], to=TensorProto.BOOL)
    flags = helper.make_node("Loop", ["", "endless_go"], ["endless"], body=body)
    model.graph.node.extend([size, true, flags])
    last = helper.make_node("Cast", ["endless"], ["endless_numbers"], to=TensorProto.FLOAT)
    model.graph.node.append(last)
    model.graph.output.append(helper.make_tensor_value_info("endless_numbers", TensorProto.FLOAT, ["n"]))
    path.write_bytes(model.SerializeToString())
    seal(copy / "bilstm")
    monkeypatch.setattr(graph, "_PATIENCE", 0)
    refused(copy / "bilstm", "had not ended after 1 seconds, with 1 tokens")


def test_a_copy_of_a_predictor_reads_its_folder_again(copy):
    predictor = Predictor(copy / "bilstm", threads=1)
    expected = predictor.predict(["good film"])
    pickled = pickle.dumps(predictor)
    assert pickle.loads(pickled).predict(["good film"]) == expected
    assert deepcopy(predictor).predict(["good film"]) == expected
    change(copy / "bilstm", bundle="another")
    with pytest.raises(ExportError, match="has changed since this predictor was copied or pickled"):
        pickle.loads(pickled)


@pytest.mark.parametrize("temperature", [1e-320, 1e300, -1.0, float("nan"), float("inf")])
def test_a_temperature_that_no_logits_can_be_divided_by_is_refused(temperature, shared_export):
    with pytest.raises(ValueError, match="temperature must be"):
        Predictor(shared_export / "stacked_lstm_lm").generate("the", temperature=temperature)


def test_what_is_not_a_graph_is_refused(copy):
    (copy / "bilstm" / "model.onnx").write_bytes(b"not a graph")
    seal(copy / "bilstm")
    refused(copy / "bilstm", "model.onnx is damaged")


def test_a_graph_of_another_vocabulary_is_refused(copy):
    path = copy / "stacked_lstm_lm" / "vocabulary.txt"
    path.write_text(path.read_text() + "more\n")
    seal(copy / "stacked_lstm_lm")
    refused(copy / "stacked_lstm_lm", "its graph knows")


def test_what_is_not_an_export_is_told_apart(copy, tmp_path):
    instruction = 'bundle.export(path, format="onnx")'
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "saved_model.pb").touch()
    refused(tmp_path / "saved", "is a SavedModel, not an ONNX export", instruction)
    refused(copy / "presets" / "models" / "bare", "is a bundle without an ONNX export", instruction)
    refused(tmp_path, "is not an ONNX export", instruction)
    (tmp_path / "file").touch()
    refused(tmp_path / "file", "is a file; an ONNX export is a folder")
    refused("no/such/folder", "no/such/folder does not exist", error=FileNotFoundError)
    refused(3, "received 3", error=TypeError)


def test_a_bundles_folder_and_a_presets_name_lead_to_the_export_in_them(copy):
    expected = Predictor(copy / "presets" / "models" / "my_films" / "onnx").predict(["good film"])
    assert Predictor(copy / "presets" / "models" / "my_films").predict(["good film"]) == expected
    assert Predictor("my_films").predict(["good film"]) == expected


def test_an_unknown_preset_has_near_matches(copy, monkeypatch):
    refused("my_film", "Did you mean 'my_films'?", "my_film is not a folder either", error=ValueError)
    refused("bare", "is a bundle without an ONNX export")
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", "/dev/null")
    refused("my_films", "pip install ./presets", error=FileNotFoundError)


def test_a_table_that_is_not_there_or_another_one_is_named(copy, monkeypatch):
    assert Predictor(copy / "shared").predict([""])
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", "/dev/null")
    refused(copy / "shared", f"needs the word table '{TABLE}'", "pip install ./presets")
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(copy / "presets"))
    write_table(copy / "presets", seed=2)
    refused(copy / "shared", "another version")
    write_table(copy / "presets", seed=3)
    (copy / "presets" / "vectors" / TABLE / "scales.npy").unlink()
    refused(copy / "shared", "cannot be read", "scales.npy is missing")


def rows(values, folder):
    (folder / "shared_words.rows").write_bytes(np.asarray(values, "<i4").tobytes())
    seal(folder)


def test_rows_that_are_not_the_tables_are_refused(copy):
    folder = copy / "shared"
    own = np.load(folder / "own_words_0.npy")
    before = np.frombuffer((folder / "shared_words.rows").read_bytes(), "<i4")
    at = int(np.flatnonzero(before >= 0)[0])
    for row in (10**6, 0):
        rows([*before[:at], row, *before[at + 1 :]], folder)
        refused(folder, "shared_words.rows is damaged", "another word's")
    rows(before[:-1], folder)
    refused(folder, "bytes, not")
    rows(before, folder)
    np.save(folder / "own_words_0.npy", np.zeros((1, 7), np.float32))
    seal(folder)
    refused(folder, "own_words_0.npy is damaged", "of shape (1, 7)")
    np.save(folder / "own_words_0.npy", own.astype(np.float64))
    seal(folder)
    refused(folder, "own_words_0.npy is damaged", "not float16 or float32")
    np.save(folder / "own_words_0.npy", np.array([{}]), allow_pickle=True)
    seal(folder)
    refused(folder, "own_words_0.npy is damaged")


@pytest.fixture
def short(tmp_path, monkeypatch):
    """A bundle and its export whose last words are all other words of the table, in its order."""
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(tmp_path / "presets"))
    new_bundle = with_vectors(write_table(tmp_path / "presets", words=OTHERS_LAST))
    return new_bundle, new_bundle.export(tmp_path / "short", format="onnx", shared_words=True)


def test_words_that_are_all_others_of_the_table_are_left_to_it(short):
    bundle_of_export, folder = short
    assert (folder / "vocabulary.txt").read_text().split() == list(WORDS[:5])
    assert len((folder / "shared_words.rows").read_bytes()) == 4 * 7
    texts = [" ".join(WORDS), WORDS[-1], "nothing known", ""]
    expected = [list(answer.probabilities.values()) for answer in bundle_of_export.predict(texts)]
    actual = [list(answer.probabilities.values()) for answer in Predictor(folder).predict(texts)]
    assert np.allclose(actual, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("claimed_others", "message"),
    [
        (-1, "must be a number of them; received -1"),
        (True, "must be a number of them; received True"),
        (10**12, "1,000,000,000,000 words of tiny_7d follow; it lacks 9 of them"),
        (0, "the vocabulary has 7 ids"),
    ],
)
def test_a_claim_about_other_words_that_cannot_be_is_refused(short, claimed_others, message):
    _, folder = short
    claims = json.loads((folder / "config.json").read_text())["shared_words"]
    change(folder, shared_words={**claims, "others": claimed_others})
    refused(folder, message)


def test_words_that_a_table_cannot_complete_are_refused(short):
    _, folder = short
    for words, message in ((WORDS[:6], "lacks 8 of them"), (WORDS[1:5], "lacks 10 of them"), (WORDS[:4], "15 ids")):
        (folder / "vocabulary.txt").write_text("".join(f"{word}\n" for word in words))
        seal(folder)
        refused(folder, message)
    (folder / "vocabulary.txt").write_text("".join(f"{word}\n" for word in WORDS[:5]))
    rows(np.zeros(16), folder)
    refused(folder, "shared_words.rows is damaged", "64 bytes, not 28")


def test_threads_must_be_a_number_of_them(shared_export):
    with pytest.raises(ValueError, match="threads must be an integer of at least 1; received 0"):
        Predictor(shared_export / "bilstm", threads=0)
    with pytest.raises(ValueError, match="threads must be an integer from 1 to 256; received 1000000000"):
        Predictor(shared_export / "bilstm", threads=10**9)
