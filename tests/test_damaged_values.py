"""Any value in a stranger's JSON files is accepted or refused in one line that names the file: a seeded search."""

import json
import random
import shutil

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo_runtime import ExportError, Predictor
from tests import bundle_harness
from tests.test_runtime_exports import seal

MODELS = ("bilstm", "bilstm_tagger", "stacked_lstm_lm")
# JSON texts: wrong types, odd numbers, what JSON lacks, half characters, control characters, and deep nesting.
VALUES = (
    *("null", "true", "-1", "0", "1.5", "1e308", "1" + "0" * 30, "9" * 5000, "NaN", "Infinity", "-Infinity"),
    *('""', '"x"', '"\\ud800"', '"a\\n\\u001b[31m"', "[]", "[null]", "[[]]", "{}", '{"a": 1}', "[" * 5000 + "]" * 5000),
)


def places(value, path=()):
    """The paths to all values, of lists to the first two."""
    yield path
    items = value.items() if isinstance(value, dict) else list(enumerate(value))[:2] if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def with_value(value, path, text):
    """The JSON of a value with a text in one place. None leaves the place out."""
    if not path:
        return text
    if isinstance(value, dict):
        parts = [
            (json.dumps(key), with_value(item, path[1:], text) if key == path[0] else json.dumps(item))
            for key, item in value.items()
        ]
        return "{" + ", ".join(f"{key}: {part}" for key, part in parts if part is not None) + "}"
    parts = [with_value(item, path[1:], text) if i == path[0] else json.dumps(item) for i, item in enumerate(value)]
    return "[" + ", ".join(part for part in parts if part is not None) + "]"


def changes(folder, number, names=("config.json", "labels.json", "metrics.json")):
    """Some of all files with a changed value, drawn with a seed: name and text."""
    every = []
    for name in names:
        if (folder / name).is_file():
            value = json.loads((folder / name).read_text())
            every += [
                (name, value, path, text) for path in places(value) for text in (*VALUES, *([None] if path else []))
            ]
    for name, value, path, text in random.Random(1).sample(every, number):
        yield name, with_value(value, path, text), (path, text and text[:20])


def refused(load, folder, kind, name):
    """Return True for a refused folder, whose error must be one line that names the file."""
    message = ""
    try:
        load(folder)
    except kind as error:
        message = str(error)
    assert not message or str(folder) in message
    assert "\n" not in message
    return bool(message)


@pytest.mark.parametrize("model", MODELS)
def test_a_changed_value_in_an_export_is_accepted_or_refused_by_name(model, tmp_path):
    original, copy = bundle_harness.bundle(model).export(tmp_path / "whole", format="onnx"), tmp_path / "copy"
    shutil.copytree(original, copy)
    outcomes = set()
    for name, text, change in changes(original, 60):
        (copy / name).write_text(text)
        seal(copy)
        try:
            outcomes.add(refused(Predictor, copy, ExportError, name))
        except Exception as error:
            raise AssertionError((name, *change)) from error
        shutil.copyfile(original / name, copy / name)
    assert outcomes == {True, False}  # some values say nothing of importance


def check_bundles(model, folder, number):
    original, copy = folder / "whole", folder / "copy"
    new_bundle = bundle_harness.bundle(model)
    new_bundle.metrics = {
        "parameters": 1,
        "encoder_parameters": 1,
        "seconds": 1.0,
        "test_accuracy": 0.5,
        "test_texts": 3,
    }
    new_bundle.save(original)
    shutil.copytree(original, copy)
    for name, text, change in changes(original, number):
        (copy / name).write_text(text)
        bundle_harness.seal(copy)
        try:
            if not refused(zoo.load, copy, zoo.BundleError, name):
                str(zoo.describe(copy))
        except Exception as error:
            raise AssertionError((name, *change)) from error
        shutil.copyfile(original / name, copy / name)


@pytest.mark.parametrize("model", MODELS)
def test_a_changed_value_in_a_bundle_is_accepted_or_refused_by_name(model, tmp_path):
    check_bundles(model, tmp_path, 8)


@pytest.mark.slow  # a minute
@pytest.mark.parametrize("model", MODELS)
def test_many_changed_values_in_a_bundle_are_accepted_or_refused_by_name(model, tmp_path):
    check_bundles(model, tmp_path, 100)


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ({"seconds": ""}, "'seconds' must be a number"),
        ({"encoder_parameters": [1]}, "'encoder_parameters' must be a number"),
        ({"test_tokens": {}}, "'test_tokens' must be a number"),
        ({"chosen": ["a"]}, "'chosen' must be a text or a number"),
        ({"parameters": 5}, "it has 'parameters', but not 'encoder_parameters'"),
    ],
)
def test_metrics_of_another_kind_are_refused(tmp_path, metrics, message):
    from dense_lstm_zoo.bundles.checks import read_metrics

    (tmp_path / "metrics.json").write_text(json.dumps(metrics))
    with pytest.raises(zoo.BundleError, match=message):
        read_metrics(tmp_path / "metrics.json")
