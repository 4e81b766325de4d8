"""Signatures in the reference."""

import sys
from pathlib import Path

import pytest

from dense_lstm_zoo import layers

sys.path.append(str(Path(__file__).parents[1] / "docs"))
from signatures import class_signature

LAYERS = [getattr(layers, name) for name in layers.__all__ if isinstance(getattr(layers, name), type)]


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.__name__)
def test_a_class_is_shown_with_arguments_of_its_own(layer):
    signature, _ = class_signature(None, "class", layer.__name__, layer, None, None, None)
    assert "*args" not in signature
    assert signature != "()"


def test_defaults_are_shown_and_types_are_not():
    signature, _ = class_signature(None, "class", "BiLSTM", layers.BiLSTM, None, None, None)
    assert signature.startswith("(units, *, return_sequences=True, ")


def test_functions_are_left_to_sphinx():
    assert class_signature(None, "function", "len", len, None, None, None) is None
