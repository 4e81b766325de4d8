"""A bundle with a forged manifest: no claim of its files is trusted."""

import hashlib
import json

import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.storage import bundle_names
from tests.bundle_harness import refused, seal, sealed_copy


@pytest.fixture
def bundle(run, tmp_path):
    """A copy to be changed, and sealed again."""
    return sealed_copy(run[1], tmp_path / "bundle")


def change(folder, **changes):
    config = json.loads((folder / "config.json").read_text())
    for part, values in changes.items():
        config[part] = {**config[part], **values} if isinstance(values, dict) else values
    (folder / "config.json").write_text(json.dumps(config))


def test_a_copy_that_is_sealed_again_loads_beside_a_users_own_notes(run, bundle):
    expected = run[0].predict(["The soup was bland."])
    (bundle / "notes.txt").write_text("of no manifest")
    (bundle / "more").mkdir()
    (bundle / "link").symlink_to("/etc/hostname")
    (bundle / "dev_curve.csv").write_text("not listed, so never read")
    assert zoo.load(bundle).predict(["The soup was bland."]) == expected


@pytest.mark.parametrize(
    "arguments",
    [
        {"units": 10**9},
        {"units": 10**5},
        {"embedding_dim": 10**9},
        {"embedding_dim": 2 * 10**4},
        {"vocab_size": 10**9},
        {"vocab_size": 10**5, "num_frozen_words": 10**5 - 50},
        {"num_classes": 10**9},
        {"char_filters": 10**9, "num_chars": 5},
        {"char_filters": 3, "char_kernel_sizes": [10**9], "num_chars": 5},
        {"char_filters": 2, "char_kernel_sizes": [1] * 900, "num_chars": 5},
        {"units": 5},
    ],
)
def test_weights_that_the_file_does_not_hold_are_refused_before_they_are_made(bundle, monkeypatch, arguments):
    import tensorflow as tf

    variables, variable = [], tf.Variable

    def counting(*args, **kwargs):
        variables.append(variable(*args, **kwargs))
        return variables[-1]

    monkeypatch.setattr(tf, "Variable", counting)
    change(bundle, arguments=arguments)
    refused(bundle, r"config\.json|model\.weights\.h5|vocabulary\.txt")
    assert sum(int(np.prod(v.shape)) for v in variables) < 100_000


@pytest.mark.parametrize(
    ("model", "arguments"),
    [
        ("stacked_bilstm", {"num_layers": 10**9}),
        ("dc_bilstm", {"num_dense_layers": 10**9}),
        ("dsa_bilstm", {"num_layers": 2, "iterations": 10**9}),
        ("rhn_tagger", {"depth": 10**9}),
    ],
)
def test_depths_that_the_file_cannot_hold_are_refused(bundle, model, arguments):
    config = json.loads((bundle / "config.json").read_text())
    accepted = {name: value for name, value in config["arguments"].items() if name in registry.entry(model).arguments}
    (bundle / "config.json").write_text(json.dumps({**config, "model": model, "arguments": {**accepted, **arguments}}))
    refused(bundle, r"config\.json: \w+=1,000,000,000 does not fit model\.weights\.h5")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arguments": []}, "'arguments' must be a dict"),
        ({"arguments": {"units": "four"}}, "units must be an integer"),
        ({"arguments": {"units": {"class_name": "Lambda"}}}, "'units' must be a plain value"),
        ({"arguments": {"recurrent_initializer": {"module": "os", "class_name": "system"}}}, "plain value"),
        ({"arguments": {"embedding_matrix": [[1.0]]}}, "plain value"),
        ({"arguments": {"unitz": 4}}, "Unknown argument"),
        ({"arguments": {"dtype": "float99"}}, "float99"),
        ({"arguments": {"recurrent_initializer": "nothing"}}, "nothing"),
        ({"arguments": {"kernel": None}}, "kernel"),
        ({"arguments": {"l2": None}}, "l2"),
        ({"text": {"chars": 5}}, "'chars' in 'text' is 5"),
        ({"text": {"chars": "aa"}}, "characters"),
        ({"text": {"oov": "delete"}}, "'oov' in 'text' is 'delete'"),
        ({"text": {"num_frozen_words": 7}}, "'num_frozen_words' in 'text' is 7"),
        ({"text": {"more": 1}}, "'more' in 'text' is 1"),
        ({"text": None}, "'text' must be a dict"),
        ({"task": "tagging"}, "bilstm is not a model for tagging"),
        ({"task": "x"}, "'x'|x is missing"),
        ({"task": None}, "'task' must be a str"),
        ({"model": ["bilstm"]}, "'model' must be a str"),
        ({"training": None}, "'training' must be a dict"),
        ({"training": {"dataset": 5}}, "dataset"),
        ({"versions": None}, "versions"),
    ],
)
def test_a_config_of_another_form_is_refused_by_name(bundle, changes, message):
    change(bundle, **changes)
    refused(bundle, rf"config\.json.*({message})")


def test_versions_that_are_missing_do_not_matter(bundle):
    config = json.loads((bundle / "config.json").read_text())
    del config["versions"]
    (bundle / "config.json").write_text(json.dumps(config))
    seal(bundle)
    zoo.load(bundle)
    change(bundle, model="bilstm_2")
    refused(bundle, r"config\.json .*Unknown model 'bilstm_2'.*made with dense-lstm-zoo unknown")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config.json", "[]", "holds a list, not a dict"),
        ("config.json", "{" * 100_000, "damaged"),
        ("config.json", "[" * 100_000, "damaged"),
        ("config.json", '{"a": ' + "1" * 5000 + "}", "damaged"),
        ("labels.json", '{"a": 1}', "holds a dict, not a list"),
        ("labels.json", '["a", 5]', "a label must be a string; one is 5"),
        ("labels.json", '["a", "a"]', "'a' occurs twice"),
        ("labels.json", '["a", "b", "c"]', "holds 3 labels; the model has 2"),
        ("metrics.json", "[]", "holds a list"),
        ("metrics.json", '{"test_accuracy": "high"}', "'test_accuracy' must be a number; it is 'high'"),
        ("metrics.json", '{"test_accuracy": 1' + "0" * 400 + "}", "'test_accuracy' must be at most 1e\\+308"),
        ("metrics.json", '{"test_baseline_accuracy": 0.5}', "is damaged: ahead is missing"),
        ("evaluation.json", "5", "holds a int"),
        ("metrics.json", '{"temperature": 1e-320}', "'temperature' must be from 1e-06 to 1e\\+06"),
        ("metrics.json", '{"a": 1, "a": 2}', "the key 'a' occurs twice"),
        ("labels.json", '["a", "\\ud800"]', "lone surrogate"),
        ("history.csv", "", "damaged"),
        ("history.csv", "a,b\n1,2,3\n1\n1,2,3,4\n", "damaged"),
        ("history.csv", b"\xff\xfe\x00", "damaged"),
        ("vocabulary.txt", b"\xff\xfe", "damaged"),
        ("vocabulary.txt", "one\ntwo\n", "makes 4 word ids; the model has"),
        ("model.weights.h5", b"", "damaged"),
        ("model.weights.h5", b"\x89HDF\r\n\x1a\n" + bytes(500), "damaged"),
    ],
)
def test_a_file_of_another_form_is_refused_by_name(bundle, name, content, message):
    (bundle / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    refused(bundle, rf"{name.replace('.', '[.]')}.*{message}")


def test_a_word_that_is_there_twice_is_refused(bundle):
    words = (bundle / "vocabulary.txt").read_text().split("\n")
    (bundle / "vocabulary.txt").write_text("\n".join([words[1], *words[1:]]))
    refused(bundle, r"vocabulary\.txt: .* occurs twice")


@pytest.mark.parametrize("name", bundle_names.REQUIRED)
def test_what_a_bundle_needs_is_missed_though_the_manifest_does_not_list_it(bundle, name):
    content = (bundle / name).read_bytes()
    (bundle / name).unlink()
    refused(bundle, f"is incomplete: {name} is missing")
    (bundle / name).write_bytes(content)  # there, but of no manifest
    with pytest.raises(zoo.BundleError, match=f"{name} is missing in its manifest"):
        zoo.load(bundle)


@pytest.mark.parametrize("name", ["model.weights.h5", "config.json", "manifest.json"])
def test_links_in_the_place_of_files_are_refused(run, bundle, name):
    (bundle / name).unlink()
    (bundle / name).symlink_to(run[1] / name)
    if name != "manifest.json":
        seal(bundle)
    with pytest.raises(zoo.BundleError, match=rf"{name}.*link"):
        zoo.load(bundle)


@pytest.mark.parametrize("path", ["../bundle/config.json", "/etc/hostname", "a" * 300, "a\0b", "..", ""])
def test_a_manifest_that_lists_files_elsewhere_is_refused(bundle, path):
    manifest = (bundle / "manifest.json").read_text().rpartition("\nsha256")[0]
    body = manifest.replace('"config.json"', json.dumps(path) + ': "0", "config.json"')
    (bundle / "manifest.json").write_text(f"{body}\nsha256 of the above: {hashlib.sha256(body.encode()).hexdigest()}\n")
    with pytest.raises(zoo.BundleError):
        zoo.load(bundle)
