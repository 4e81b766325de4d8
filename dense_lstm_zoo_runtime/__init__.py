"""Predict with ONNX exports of dense_lstm_zoo, on NumPy, ONNX Runtime and RE2 alone.

Example:
    ``Predictor("exports/trec-onnx").predict(["Who was Galileo?"])``
"""

from __future__ import annotations

# isort: off
from dense_lstm_zoo_runtime import shadows as shadows  # it looks for files that hide what follows

# isort: on
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dense_lstm_zoo_runtime.answers import Continuation, Explanation, Prediction, Score, TaggedSentence
    from dense_lstm_zoo_runtime.errors import ExportError
    from dense_lstm_zoo_runtime.predictor import Predictor
    from dense_lstm_zoo_runtime.span_forms import Span

__version__ = "0.2.0"  # of the zoo, too, which takes it from here
__all__ = ["Continuation", "Explanation", "ExportError", "Prediction", "Predictor", "Score", "Span", "TaggedSentence"]

# ONNX Runtime is imported with the first name that needs it: dense_lstm_zoo takes the tokeniser's rules from here.
_MODULES = {"ExportError": "errors", "Predictor": "predictor", "Span": "span_forms"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES.get(name, 'answers')}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
