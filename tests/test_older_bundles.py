"""Bundles from version 0.1.0, with that version's predictions."""

import json
from pathlib import Path

import numpy as np
import pytest

import dense_lstm_zoo as zoo

FOLDER = Path(__file__).parent / "bundles" / "version_0_1"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())


def _same(found, expected):
    """Compare dictionaries of numbers, strings and lists; numbers to 1e-5."""
    if isinstance(expected, dict):
        assert found.keys() >= expected.keys()
        for name, value in expected.items():
            _same(found[name], value)
    elif isinstance(expected, float) or (isinstance(expected, list) and isinstance(expected[0], float)):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    else:
        assert list(found) == expected if isinstance(expected, list) else found == expected


@pytest.mark.parametrize("name", EXPECTED)
def test_a_bundle_of_version_0_1_loads_and_predicts_as_it_did(name):
    expected = EXPECTED[name]
    bundle = zoo.load(FOLDER / name)
    if "scores" in expected:
        found, items = bundle.score(expected["texts"]), expected["scores"]
    else:
        found, items = bundle.predict(expected.get("texts") or expected["sentences"]), expected["predictions"]
    assert len(found) == len(items)
    for prediction, item in zip(found, items, strict=True):
        _same(vars(prediction), item)


def test_a_bundle_of_version_0_1_can_be_saved_again_and_loaded(tmp_path):
    bundle = zoo.load(FOLDER / "dc_bilstm")
    again = zoo.load(bundle.save(tmp_path / "again"))
    for before, after in zip(bundle.model.get_weights(), again.model.get_weights(), strict=True):
        np.testing.assert_array_equal(before, after)
